"""A head with four CPUs and two GPUs that are only counted, and a way to ask its door."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import nbaccel
from nbaccel import serve
from tests.census import Place
from tests.heads import inside
from tests.rig import wait_until

pytest.importorskip("uvicorn")


class Answer:
    """What a client of HTTP has got."""

    def __init__(self, response: http.client.HTTPResponse, body: bytes) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def connection() -> http.client.HTTPConnection:
    """A connection to the door."""
    url = urlsplit(serve.status().url)
    return http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)


def ask(path: str = "/", method: str = "GET", body: Any = None, **headers: str) -> Answer:
    """One request of HTTP."""
    client = connection()
    try:
        named = {
            name if name.startswith("serve_") else name.replace("_", "-"): value for name, value in headers.items()
        }
        client.request(method, path, body, named)
        response = client.getresponse()
        return Answer(response, response.read())
    finally:
        client.close()


@pytest.fixture(scope="package")
def cluster() -> Iterator[Place]:
    """One head for the folder; nothing of it is left."""
    with inside(Place()) as place:
        nbaccel.init(num_cpus=4, num_gpus=2)
        yield place


@pytest.fixture
def door(cluster: Place) -> Iterator[Callable[..., Answer]]:
    """Asks the door. Applications of a test end with it, and give their devices back."""
    yield ask
    for name in serve.status().applications:
        serve.delete(name)
    wait_until(lambda: nbaccel.available_resources().get("GPU") == 2, "the devices to be free")
