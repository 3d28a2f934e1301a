"""Serving on every engine: the same answers, errors, versions and ends."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any

import pytest

from nbaccel import serve
from tests.rig import wait_until

pytest.importorskip("uvicorn")


@serve.deployment(ray_actor_options={"num_gpus": 0.5})
class Model:
    def __init__(self, word: str, other: Any = None) -> None:
        if word == "broken":
            raise ValueError("no weights")
        self.word = word
        self.other = other

    async def __call__(self, request: Any) -> dict[str, Any]:
        return {"word": self.word, "other": await self.other.upper.remote("x") if self.other else None}

    def upper(self, text: str) -> str:
        return text.upper()

    async def count(self, number: int) -> AsyncIterator[int]:
        for each in range(number):
            yield each

    def fail(self) -> None:
        raise KeyError("missing")

    def pid(self) -> int:
        return os.getpid()


@pytest.fixture
def served(nb: ModuleType) -> Iterator[ModuleType]:
    yield nb
    serve.shutdown()
    wait_until(lambda: nb.available_resources().get("GPU") == 2, "the devices")


def get(path: str = "/") -> bytes:
    return urllib.request.urlopen(f"{serve.status().url}{path}", timeout=60).read()  # type: ignore[no-any-return]


def test_an_application_answers_by_http_and_by_its_handle_and_a_failing_version_leaves_it(served: ModuleType) -> None:
    handle = serve.run(Model.bind("a", Model.options(name="Inner").bind("b")))
    assert get() == b'{"word":"a","other":"X"}'
    assert handle.upper.remote("y").result() == "Y"
    assert list(handle.options(stream=True).count.remote(3)) == [0, 1, 2]
    with pytest.raises(KeyError, match="missing") as caught:
        handle.fail.remote().result()
    assert "in fail" in str(caught.value)
    serve.run(Model.bind("c"))
    assert get() == b'{"word":"c","other":null}'
    with pytest.raises(ValueError, match="no weights"):
        serve.run(Model.bind("broken"))
    assert get() == b'{"word":"c","other":null}'


def test_a_replica_that_is_killed_has_a_successor(served: ModuleType) -> None:
    handle = serve.run(Model.bind("a"))
    before = handle.pid.remote().result()
    os.kill(before, signal.SIGKILL)
    assert get() == b'{"word":"a","other":null}'
    assert handle.pid.remote().result() != before
