"""ASGI: a user's app is made for a replica, and answers the calls of the door over frames.

`@serve.ingress(app)` takes a FastAPI app, a router, any ASGI app, or a function that makes one. Methods of the class
that are routes of the app (`@app.get("/")`) get the replica's object as `self`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, TypeVar, get_type_hints

import msgspec

from nbaccel.serve.link import LONGEST_BODY, PART, Exchange, FrameKind
from nbaccel.serve.records import HttpCall, answer_head, encode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Message, Receive, Send], Awaitable[None]]

APP_ATTRIBUTE = "_nbaccel_serve_app"  # of an ingress's instance: makes the app of this instance


def scope_of(call: HttpCall) -> Message:
    """The request as ASGI describes it."""
    scope: Message = {
        "type": "websocket" if call.websocket else "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": call.http_version,
        "method": call.method,
        "scheme": call.scheme,
        "path": call.path,
        "raw_path": call.raw_path,
        "query_string": call.query,
        "root_path": call.root_path,
        "headers": call.headers,
        "client": call.client,
        "server": call.server,
        "state": {},
    }
    if call.websocket:
        del scope["method"]
        scope["subprotocols"] = _subprotocols(call)
    return scope


def _subprotocols(call: HttpCall) -> list[str]:
    given = [value.decode("latin-1") for name, value in call.headers if name == b"sec-websocket-protocol"]
    return [each.strip() for each in ",".join(given).split(",") if each.strip()]


class _Receiver:
    """The body of a request, as ASGI's messages."""

    def __init__(self, exchange: Exchange, call: HttpCall, body: bytes) -> None:
        self._exchange = exchange
        self._body = body
        self._more = call.more
        self._is_first = True

    async def __call__(self) -> Message:
        if self._is_first:
            self._is_first = False
            return {"type": "http.request", "body": self._body, "more_body": self._more}
        if not self._more:
            await asyncio.Event().wait()  # a client that leaves cancels the task
        frame = await self._exchange.next()
        if frame.kind is FrameKind.LOST:
            return {"type": "http.disconnect"}
        self._more = frame.kind is FrameKind.CHUNK
        return {"type": "http.request", "body": frame.body, "more_body": self._more}


class _Sender:
    """Sends an app's messages as frames: a whole answer in one frame where it comes as a whole."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._head = b""
        self._first: bytes | None = None
        self.is_done = False

    async def __call__(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start":
            self._head = answer_head(message["status"], message.get("headers", ()))
        elif kind == "http.response.body":
            await self._body(message.get("body", b""), more=message.get("more_body", False))

    async def _body(self, body: bytes, *, more: bool) -> None:
        head, self._head = self._head, b""
        if not more:
            self.is_done = True
            if head:
                await self._exchange.finish_with(head, bytes(body))
                return
            if body:
                await self._exchange.send_chunk(bytes(body))
            self._exchange.finish(FrameKind.END)
        elif body or head:
            await self._exchange.send_chunk(bytes(body), head)


async def answer(app: Any, exchange: Exchange, call: HttpCall, body: bytes) -> None:
    """Have an app answer a call."""
    if call.websocket:
        await _talk(app, exchange, call)
        return
    send = _Sender(exchange)
    await app(scope_of(call), _Receiver(exchange, call, body), send)
    if not send.is_done:
        raise RuntimeError("The ASGI app returned without a complete response.")


async def _talk(app: Any, exchange: Exchange, call: HttpCall) -> None:
    """A WebSocket: each message is a chunk, and what it is stands in the meta."""
    is_first = True

    async def receive() -> Message:
        nonlocal is_first
        if is_first:
            is_first = False
            return {"type": "websocket.connect"}
        return await next_message(exchange)

    await app(scope_of(call), receive, lambda message: send_message(exchange, message))
    exchange.finish(FrameKind.END)


async def send_message(exchange: Exchange, message: Message) -> None:
    """Send a WebSocket's message: chunks, of which the last one has all but the content in its meta."""
    kind = message["type"].removeprefix("websocket.")
    facts = {name: value for name, value in message.items() if name not in ("type", "bytes", "text")}
    form, content = "", b""
    if message.get("bytes") is not None:
        form, content = "bytes", bytes(message["bytes"])
    elif message.get("text") is not None:
        form, content = "text", message["text"].encode()
    while len(content) > LONGEST_BODY:
        await exchange.send_chunk(content[:LONGEST_BODY], PART)
        content = content[LONGEST_BODY:]
    await exchange.send_chunk(content, encode([kind, form, facts]))


async def next_message(exchange: Exchange) -> Message:
    """The next message of a WebSocket; a disconnect where the other side has ended."""
    parts: list[bytes] = []
    while (frame := await exchange.next()).kind is FrameKind.CHUNK:
        parts.append(frame.body)
        if frame.meta != PART:
            return _message(frame.meta, b"".join(parts))
    return {"type": "websocket.disconnect", "code": 1005 if frame.kind is FrameKind.END else 1006, "reason": ""}


def _message(meta: bytes, content: bytes) -> Message:
    kind, form, facts = msgspec.msgpack.decode(meta)
    if "headers" in facts:
        facts["headers"] = [(bytes(name), bytes(value)) for name, value in facts["headers"]]
    message: Message = {"type": f"websocket.{kind}", **facts}
    if form:
        message[form] = content if form == "bytes" else content.decode()
    return message


def request(exchange: Exchange, call: HttpCall, body: bytes) -> Any:
    """Starlette's Request for a plain deployment."""
    return _request_class()(scope_of(call), _Receiver(exchange, call, body))


@functools.cache
def _request_class() -> Any:
    """Imported when it is needed; an import costs a microsecond each time."""
    from starlette.requests import Request

    return Request


# ---- its life


class App:
    """A user's ASGI app, with its lifespan."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._answers: asyncio.Queue[Message] = asyncio.Queue()
        self._life: asyncio.Task[None] | None = None
        self._state: dict[str, Any] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        scope["state"] = dict(self._state)
        await self._app(scope, receive, send)

    async def begin(self) -> None:
        """Have the app start up. Raises RuntimeError if it reports a failure; an app may know no lifespan."""
        self._life = asyncio.ensure_future(self._live())
        await self._step("startup")

    async def _live(self) -> None:
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self._state}
        await self._app(scope, self._events.get, self._answers.put)

    async def _step(self, what: str) -> None:
        if self._life is None or self._life.done():
            return
        self._events.put_nowait({"type": f"lifespan.{what}"})
        answer = asyncio.ensure_future(self._answers.get())
        await asyncio.wait([answer, self._life], return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            self._life.exception()  # an app that knows no lifespan raises at once
        elif answer.result()["type"].endswith("failed"):
            raise RuntimeError(f"The app's lifespan failed at {what}: {answer.result().get('message', '')}")

    async def end(self) -> None:
        await self._step("shutdown")
        if self._life is not None and not self._life.done():
            self._life.cancel()


async def app_of(made: Any) -> App | None:
    """The app of an ingress's instance, started; None for any other deployment."""
    make = getattr(type(made), APP_ATTRIBUTE, None)
    if make is None:
        return None
    app = make(made)
    if asyncio.iscoroutine(app):
        app = await app
    started = App(app)
    await started.begin()
    return started


# ---- the app of a replica


C = TypeVar("C", bound=type)


def ingress(app: Any) -> Callable[[C], C]:
    """Have an app answer a deployment's HTTP requests; the decorator stands below `@serve.deployment`.

    `app`: an ASGI app (FastAPI, Starlette, …), a FastAPI APIRouter, or a function without arguments, async or not, that
    returns an app in the replica.

    >>> app = FastAPI()
    >>> @serve.deployment
    ... @serve.ingress(app)
    ... class Api:
    ...     @app.get("/hello")
    ...     def hello(self, name: str) -> str:
    ...         return f"Hello {name}"
    """

    def decorate(cls: C) -> C:
        if not isinstance(cls, type):
            raise ValueError(f"@serve.ingress decorates a class, not {cls!r}. It stands below @serve.deployment.")
        if "__call__" in vars(cls):
            raise ValueError(
                f"{cls.__name__} has __call__, and an ingress has none: its app answers. Make it a route of the app."
            )
        _resolve_annotations(app, cls)
        setattr(cls, APP_ATTRIBUTE, AppMaker(app))
        return cls

    return decorate


class AppMaker:
    """Makes the app of a replica. It travels with the class, so that routes and methods stay the same functions."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def __call__(self, made: Any) -> Any:
        """The app for this object; a coroutine that gives it, for an async builder."""
        if _is_builder(self._app):
            app = self._app()
            return _bound_later(app, made) if inspect.isawaitable(app) else _bound(app, made)
        return _bound(self._app, made)


def _is_builder(app: Any) -> bool:
    """Whether it is a function without arguments, rather than an app of three."""
    if not inspect.isroutine(app):
        return False
    needed = [
        each
        for each in inspect.signature(app).parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return not needed


async def _bound_later(app: Any, made: Any) -> Any:
    return _bound(await app, made)


def _bound(app: Any, made: Any) -> Any:
    """The app, in which the methods of the class are bound to this object."""
    methods = {function: name for name, function in _functions(type(made)).items()}
    for route in list(_routes(app)):
        if route.endpoint in methods:
            _bind(route, getattr(made, methods[route.endpoint]))
    if any(cls.__name__ == "APIRouter" for cls in type(app).__mro__):
        from fastapi import FastAPI

        whole = FastAPI()
        whole.include_router(app)
        return whole
    return app


def _functions(cls: type) -> dict[str, Any]:
    """The functions of a class and its bases, by their names."""
    return {
        name: getattr(member, "__func__", member)
        for each in reversed(cls.__mro__)
        for name, member in vars(each).items()
        if inspect.isroutine(member)
    }


def _routes(app: Any) -> Iterator[Any]:
    """The routes of an app, and of routers inside of it, that have an endpoint."""
    for route in getattr(app, "routes", ()):
        if hasattr(route, "endpoint"):
            yield route
        else:
            yield from _routes(getattr(route, "original_router", None) or getattr(route, "app", None))


def _resolve_annotations(app: Any, cls: type) -> None:
    """Put classes in the place of texts (`from __future__ import annotations`), which mean nothing in a replica."""
    functions = set(_functions(cls).values())
    for route in _routes(app):
        if route.endpoint in functions:
            with contextlib.suppress(NameError):  # FastAPI has not found it either
                route.endpoint.__annotations__ = get_type_hints(route.endpoint, include_extras=True)


def _bind(route: Any, method: Any) -> None:
    """Make a route anew with a bound method in the place of the function, and all else as it was."""
    kept = {
        name: getattr(route, name)
        for name in inspect.signature(type(route).__init__).parameters
        if name not in ("self", "endpoint") and hasattr(route, name)
    }
    route.__init__(endpoint=method, **kept)
