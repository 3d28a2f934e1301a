"""From HTTP to the class and back: what an answer is made of, its status, and the door's own pages."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from nbaccel import serve
from tests.serve.conftest import Answer, connection

Door = Callable[..., Answer]


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Odd:
    """A class that nobody can make JSON of."""


@serve.deployment
class Kinds:
    """Returns what the path asks for."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {
            "none": None,
            "text": "ä",
            "bytes": b"\x00\x01",
            "dict": {"a": [1, None, True]},
            "tuple": (1, 404),
            "array": numpy.arange(3),
            "scalar": {"x": numpy.float32(0.5)},
            "point": Point(1, 2.5),
            "number": 7,
        }

    def __call__(self, request: Any) -> Any:
        name = request.url.path.strip("/")
        if name == "odd":
            return {"x": [Odd()]}
        if name == "fails":
            raise ValueError("no such prompt")
        return self.values[name]


@pytest.mark.parametrize(
    ("name", "kind", "body"),
    [
        ("none", "text/plain; charset=utf-8", b""),
        ("text", "text/plain; charset=utf-8", "ä".encode()),
        ("bytes", "text/plain; charset=utf-8", b"\x00\x01"),
        ("dict", "application/json", b'{"a":[1,null,true]}'),
        ("tuple", "application/json", b"[1,404]"),
        ("array", "application/json", b"[0,1,2]"),
        ("scalar", "application/json", b'{"x":0.5}'),
        ("point", "application/json", b'{"x":1,"y":2.5}'),
        ("number", "application/json", b"7"),
    ],
)
def test_what_a_deployment_returns_becomes_the_answer(door: Door, name: str, kind: str, body: bytes) -> None:
    serve.run(Kinds.bind())
    answer = door(f"/{name}")
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, kind, body)


def test_what_cannot_be_json_is_a_500_that_names_type_and_place(door: Door) -> None:
    serve.run(Kinds.bind())
    answer = door("/odd")
    assert answer.status == 500
    assert "result['x'][0] is a Odd" in answer.json["error"]
    assert answer.json["type"] == "TypeError"


def test_an_exception_is_a_500_with_its_words_and_the_requests_id_but_no_traceback(door: Door) -> None:
    serve.run(Kinds.bind())
    answer = door("/fails", x_request_id="mine")
    assert answer.status == 500
    assert answer.json == {"error": "no such prompt", "type": "ValueError", "request_id": "mine"}
    assert answer.headers["x-request-id"] == "mine"
    error = serve.status().applications["default"].deployments["Kinds"].last_error
    assert "in __call__" in error["traceback"] and "no such prompt" in error["traceback"]


def test_a_request_without_an_id_gets_one(door: Door) -> None:
    serve.run(Kinds.bind())
    assert len(door("/text").headers["x-request-id"]) == 32


def test_all_methods_reach_the_deployment(door: Door) -> None:
    @serve.deployment
    async def echo(request: Any) -> str:
        return f"{request.method} {(await request.body()).decode()}"

    serve.run(echo.bind())
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert door("/", method, "body").text == f"{method} body"
    head = door("/", "HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "5")


def test_a_function_without_parameters_needs_no_request(door: Door) -> None:
    @serve.deployment
    def hello() -> str:
        return "hello"

    serve.run(hello.bind())
    assert door().text == "hello"


def test_a_starlette_response_is_taken_as_it_is(door: Door) -> None:
    from starlette.responses import PlainTextResponse, StreamingResponse

    @serve.deployment
    def made(request: Any) -> Any:
        if request.url.path == "/stream":
            return StreamingResponse(iter([b"a", b"b"]), status_code=202, media_type="text/x")
        return PlainTextResponse("teapot", status_code=418, headers={"x-own": "1"})

    serve.run(made.bind())
    answer = door("/")
    assert (answer.status, answer.text, answer.headers["x-own"]) == (418, "teapot", "1")
    answer = door("/stream")
    assert (answer.status, answer.text, answer.headers["transfer-encoding"]) == (202, "ab", "chunked")


def test_a_generator_is_streamed(door: Door) -> None:
    @serve.deployment
    def count(request: Any) -> Any:
        for number in range(3):
            yield f"{number} "

    serve.run(count.bind())
    answer = door("/")
    assert (answer.text, answer.headers["transfer-encoding"]) == ("0 1 2 ", "chunked")


def test_bodies_larger_than_a_window_arrive_and_return_whole(door: Door) -> None:
    @serve.deployment
    async def echo(request: Any) -> bytes:
        return await request.body()  # type: ignore[no-any-return]

    serve.run(echo.bind())
    for size in (0, 1, (1 << 17) + 1, (1 << 18), (1 << 18) + 1, 5_000_000):
        body = bytes(range(256)) * (size // 256 + 1)
        assert door("/", "POST", body[:size]).body == body[:size]


def test_a_path_without_an_application_is_a_404_and_the_longest_prefix_wins(door: Door) -> None:
    @serve.deployment
    def where(request: Any) -> str:
        return f"{request.scope['root_path']} {request.scope['path']}"

    serve.run(where.bind(), name="short", route_prefix="/api")
    serve.run(where.bind(), name="long", route_prefix="/api/deep")
    assert door("/other").status == 404
    assert door("/apix").status == 404
    assert door("/api").text == "/api /api"
    assert door("/api/x").text == "/api /api/x"
    assert door("/api/deep/x").text == "/api/deep /api/deep/x"
    assert door("/-/routes").json == {"/api": "short", "/api/deep": "long"}
    assert door("/-/healthz").text == "success"


def test_an_application_without_a_prefix_has_no_http(door: Door) -> None:
    @serve.deployment
    def hello() -> str:
        return "hello"

    handle = serve.run(hello.bind(), route_prefix=None)
    assert handle.remote().result() == "hello"
    assert door("/").status == 404


def test_a_slow_answer_is_a_408(door: Door) -> None:
    import asyncio

    @serve.deployment
    async def never(request: Any) -> None:
        await asyncio.Event().wait()

    serve.run(never.bind())
    answer = door("/", x_request_timeout_seconds="0.05")
    assert (answer.status, answer.json["type"]) == (408, "TimeoutError")


def test_a_connection_carries_many_requests_and_pipelined_ones_are_answered_in_order(door: Door) -> None:
    @serve.deployment
    def path(request: Any) -> str:
        return str(request.url.path)

    serve.run(path.bind())
    lines = [f"GET /{number} HTTP/1.1\r\nHost: x\r\n{'Connection: close' * (number == 4)}\r\n" for number in range(5)]
    requests = "".join(f"{line}\r\n" if line.endswith("close\r\n") else line for line in lines).encode()
    client = connection()
    client.connect()
    assert client.sock is not None
    client.sock.sendall(requests)
    received = b""
    while part := client.sock.recv(1 << 16):
        received += part
    client.close()
    assert re.findall(rb"\r\n\r\n(/\d)", received) == [b"/0", b"/1", b"/2", b"/3", b"/4"]
