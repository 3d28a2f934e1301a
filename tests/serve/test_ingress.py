"""An ASGI app as an ingress: FastAPI's routes on methods, builders, lifespans, WebSockets."""

from __future__ import annotations

import dataclasses
import http.client
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from nbaccel import serve
from tests.rig import wait_until
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


@dataclasses.dataclass
class Item:
    name: str
    price: float = 1.5


async def plain_app(scope: Any, receive: Any, send: Any) -> None:
    """An app of nobody's framework, with a lifespan that counts."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                scope["state"]["started"] = 1
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body = b"".join([f"{scope['state'].get('started')} {scope['method']} {scope['path']}".encode()])
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-type", b"text/x")]})
    await send({"type": "http.response.body", "body": body})


def test_any_asgi_app_answers_and_its_lifespan_runs_in_the_replica(door: Door) -> None:
    @serve.deployment
    @serve.ingress(plain_app)
    class Api:
        def add(self, x: int) -> int:
            return x + 1

    handle = serve.run(Api.bind(), route_prefix="/api")
    answer = door("/api/x", "PUT")
    assert (answer.status, answer.text, answer.headers["content-type"]) == (201, "1 PUT /api/x", "text/x")
    assert handle.add.remote(1).result() == 2


def test_an_answer_that_breaks_http_is_a_500_or_a_cut_connection_and_the_next_one_works(door: Door) -> None:
    heads: dict[str, tuple[int, list[tuple[bytes, bytes]]]] = {
        "/status": (999, []),
        "/newline": (200, [(b"x-a", b"b\r\nx-c: d")]),
        "/name": (200, [(b"x a", b"b")]),
        "/short": (200, [(b"content-length", b"10")]),
        "/long": (200, [(b"content-length", b"1")]),
        "/twice": (200, [(b"content-length", b"2"), (b"content-length", b"3")]),
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            status, headers = heads.get(scope["path"], (200, []))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"ok"})

    @serve.deployment
    @serve.ingress(app)
    class Api:
        pass

    serve.run(Api.bind())
    for path in heads:
        try:
            assert door(path).status == 500, path
        except (http.client.HTTPException, ConnectionError):
            assert path in ("/short", "/long")
        assert door("/").text == "ok"


def test_a_root_path_before_the_door_is_not_a_part_of_the_route(door: Door) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": f"{scope['root_path']} {scope['path']}".encode()})

    @serve.deployment
    @serve.ingress(app)
    class Api:
        pass

    serve.run(Api.bind(), route_prefix="/v1")
    serve.start(http_options={"root_path": "/proxy"})
    try:
        assert door("/v1/x").text == "/proxy/v1 /proxy/v1/x"
        assert door("/-/healthz").text == "success"
    finally:
        serve.start(http_options={})


def test_a_function_that_makes_the_app_runs_in_the_replica(door: Door) -> None:
    async def build() -> Any:
        return plain_app

    @serve.deployment
    @serve.ingress(build)
    class Api:
        pass

    serve.run(Api.bind())
    assert door("/y").text == "1 GET /y"


def test_an_ingress_decorates_a_class_without_call() -> None:
    with pytest.raises(ValueError, match="has __call__"):

        @serve.ingress(plain_app)
        class Both:
            def __call__(self) -> None: ...

    with pytest.raises(ValueError, match="decorates a class"):
        serve.ingress(plain_app)(lambda: None)  # type: ignore[type-var]


@pytest.mark.extra("fastapi")
def test_methods_are_routes_of_a_fastapi_app(door: Door) -> None:
    import fastapi

    app = fastapi.FastAPI()

    @app.get("/free")
    def free() -> str:
        return "no self"

    @serve.deployment
    @serve.ingress(app)
    class Api:
        def __init__(self, word: str) -> None:
            self.word = word

        @app.get("/hello/{name}")
        def hello(self, name: str, times: int = 1) -> dict[str, Any]:
            return {"text": f"{self.word} {name}" * times}

        @app.post("/items", status_code=201)
        async def items(self, item: Item) -> Item:
            return item

        @app.get("/teapot")
        async def teapot(self) -> None:
            raise fastapi.HTTPException(418, "short and stout")

    handle = serve.run(Api.bind("hello"), route_prefix="/v1")
    assert door("/v1/hello/bob?times=2").json == {"text": "hello bobhello bob"}
    assert door("/v1/hello/bob?times=x").status == 422
    answer = door("/v1/items", "POST", '{"name": "a"}', content_type="application/json")
    assert (answer.status, answer.json) == (201, {"name": "a", "price": 1.5})
    assert (door("/v1/teapot").status, door("/v1/teapot").json) == (418, {"detail": "short and stout"})
    assert door("/v1/free").json == "no self"
    schema = door("/v1/openapi.json").json
    assert [each["name"] for each in schema["paths"]["/hello/{name}"]["get"]["parameters"]] == ["name", "times"]
    assert "/v1/openapi.json" in door("/v1/docs").text
    assert handle.hello.remote("x").result() == {"text": "hello x"}


@pytest.mark.extra("fastapi")
def test_a_router_and_an_app_with_locks_work_and_dependencies_stay(door: Door) -> None:
    import fastapi

    router = fastapi.APIRouter()
    app = fastapi.FastAPI()
    app.state.lock = threading.Lock()
    app.state.again = threading.RLock()

    def user(name: str = "nobody") -> str:
        return name

    @serve.deployment
    @serve.ingress(router)
    class Routed:
        @router.get("/who")
        def who(self, name: str = fastapi.Depends(user)) -> str:
            return name

    @serve.deployment
    @serve.ingress(app)
    class Locked:
        @app.get("/locked")
        def locked(self, request: Request) -> bool:
            with request.app.state.lock, request.app.state.again:
                return True

    serve.run(Routed.bind(), name="routed", route_prefix="/r")
    serve.run(Locked.bind(), name="locked", route_prefix="/l")
    assert door("/r/who?name=x").json == "x"
    assert door("/l/locked").json is True


@pytest.mark.extra("websockets")
def test_web_sockets_reach_an_ingress_and_end_on_both_sides(door: Door) -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            return
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            if message.get("text") == "end":
                await send({"type": "websocket.close", "code": 4001})
                return
            await send({**message, "type": "websocket.send"})

    @serve.deployment
    @serve.ingress(echo)
    class Api:
        pass

    serve.run(Api.bind())
    url = serve.status().url.replace("http", "ws")
    with connect(f"{url}/ws") as client:
        for message in ("text", b"bytes", "x" * 700_000):
            client.send(message)
            assert client.recv() == message
        client.send("end")
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4001


@pytest.mark.extra("websockets")
def test_a_web_socket_that_waits_for_room_is_given_up_with_its_client_and_refused_at_the_end(
    door: Door, capfd: pytest.CaptureFixture[str]
) -> None:
    """Found by damaged requests: it stayed in the queue, and its end was an error of the door."""
    import socket

    pytest.importorskip("websockets")

    async def talk(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    @serve.deployment(max_ongoing_requests=1)
    @serve.ingress(talk)
    class Api:
        pass

    serve.run(Api.bind())
    url = urlsplit(serve.status().url)

    def asking() -> socket.socket:
        made = socket.create_connection((url.hostname, url.port), 60)
        made.sendall(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        return made

    def queued() -> int:
        return serve.status().applications["default"].queued

    with asking() as first:
        assert first.recv(1000).startswith(b"HTTP/1.1 101")
        with asking():
            wait_until(lambda: queued() == 1, "the second to wait")
        wait_until(lambda: queued() == 0, "it to be given up")
        with asking() as third:
            wait_until(lambda: queued() == 1, "the third to wait")
            serve.delete("default")
            assert third.recv(1000).startswith(b"HTTP/1.1 403")
    assert "Traceback" not in "".join(capfd.readouterr())
