"""A Jupyter server in this process, with the extension, a base URL of odd characters, a token and XSRF on."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="jupyter_server is not installed")
pytest.importorskip("pytest_jupyter", reason="pytest-jupyter is not installed")

from jupyter_server.auth import Authorizer
from pytest_jupyter.jupyter_server import *  # noqa: F403
from tornado.httpclient import HTTPClientError
from traitlets.config import Config

from tests.extension.fake_head import FakeHead

Fetch = Callable[..., Awaitable[Any]]


class ReadOnly(Authorizer):
    """Everybody may look and change nothing."""

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return action == "read"


class Nothing(Authorizer):
    """Nobody may do anything with nbaccel."""

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return resource != "nbaccel"


@pytest.fixture
def jp_server_config(request: pytest.FixtureRequest) -> Config:
    """The extension is on, and every address must say who may reach it."""
    given = {"jpserver_extensions": {"nbaccel_lab": True}, "allow_unauthenticated_access": False}
    return Config({"ServerApp": {**given, **getattr(request, "param", {})}})


@pytest.fixture(autouse=True)
def _quiet_server() -> Iterator[None]:
    """Warnings of the server's own parts are not ours to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


@pytest.fixture
def runtime_folder(jp_environ: None, jp_runtime_dir: Path) -> Path:
    return jp_runtime_dir


@pytest.fixture
def head(runtime_folder: Path, jp_asyncio_loop: asyncio.AbstractEventLoop, jp_serverapp: Any) -> Iterator[FakeHead]:
    """A head that answers, with its file."""
    fake = FakeHead(runtime_folder)
    jp_asyncio_loop.run_until_complete(fake.listen())
    yield fake
    fake.close()
    jp_asyncio_loop.run_until_complete(asyncio.sleep(0))
    fake.remove()


@pytest.fixture
def watching(jp_serverapp: Any) -> Any:
    return jp_serverapp.web_app.settings["nbaccel_watching"]


@pytest.fixture
def get(jp_fetch: Fetch) -> Fetch:
    """GET an address of the API; returns (status, the object)."""

    async def fetch(name: str, **params: str | list[str]) -> tuple[int, Any]:
        asked = [
            (key, each) for key, given in params.items() for each in ([given] if isinstance(given, str) else given)
        ]
        return await answer_of(jp_fetch("nbaccel", "api", "v1", name, params=asked, request_timeout=120))

    return fetch


@pytest.fixture
def post(jp_fetch: Fetch) -> Fetch:
    """POST to an address of the API; returns (status, the object)."""

    async def fetch(name: str, **body: Any) -> tuple[int, Any]:
        sent = {"method": "POST", "body": json.dumps(body), "request_timeout": 120}
        return await answer_of(jp_fetch("nbaccel", "api", "v1", name, **sent))

    return fetch


async def answer_of(fetching: Awaitable[Any]) -> tuple[int, Any]:
    try:
        answer = await fetching
    except HTTPClientError as error:
        answer = error.response
    try:
        return answer.code, json.loads(answer.body)
    except ValueError:
        return answer.code, answer.body.decode()
