"""The applications of `nbaccel.serve` under the login of this Jupyter server: `{base_url}nbaccel/serve/NAME/…`.

```
  browser ── login, XSRF ──► ServedHandler ── Unix socket of the door ──► replica
```
The door is found as the panel finds heads: in the record that its driver publishes. Bodies, streams and messages of
WebSockets are passed on in pieces, and each side waits for the other. Cookies, `Authorization` and what proxies add
stay here: the application's code never has the login, and it cannot set cookies for this server.
"""

from __future__ import annotations

import asyncio
import os
import socket as sockets
import stat
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import JupyterHandler
from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream, StreamBufferFullError, StreamClosedError
from tornado.netutil import Resolver
from tornado.web import HTTPError, RequestHandler, authenticated, stream_request_body
from tornado.websocket import WebSocketClientConnection, WebSocketHandler, websocket_connect

from nbaccel_lab.connection import HeadRefused, HeadUnavailable
from nbaccel_lab.handler import REFUSED, RESOURCE
from nbaccel_lab.watching import Watching

KIND = "application"
KNOWN_S = 2.0  # so long a door that was found is not looked for again
CHUNK = 65_536
MOST_BODY = 1 << 40  # the door has the limit
_HOPS = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade"}
)
_ENDS_HERE = _HOPS | {
    "cookie",
    "authorization",
    "referer",
    "expect",
    "forwarded",
    "x-real-ip",
    "x-scheme",
    "x-xsrftoken",
}
_PREFIXES_THAT_END_HERE = ("x-forwarded-", "x-nbaccel-", "x-jupyterhub-", "sec-websocket-")
_NOT_BACK = _HOPS | {"set-cookie"}


class Doors:
    """Where applications are served; the last answers are kept for a moment."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._known: dict[str, tuple[float, list[tuple[str, str]]]] = {}

    async def find(self, name: str) -> tuple[str, str]:
        """The socket of the door of an application, by its name or its id, and the name. Raises HTTPError."""
        until, found = self._known.get(name, (0.0, []))
        if time.monotonic() > until:
            found = await self._look(name)
            self._known = {name: (time.monotonic() + KNOWN_S, found)} | dict(list(self._known.items())[:100])
        if not found:
            raise HTTPError(404, "No runtime of nbaccel serves an application of this name.")
        if len(found) > 1:
            raise HTTPError(409, "Several notebooks serve an application of this name: the cards have the id of each.")
        return found[0]

    def forget(self, name: str) -> None:
        self._known.pop(name, None)

    async def _look(self, name: str) -> list[tuple[str, str]]:
        await self._watching.look()
        snapshots = await asyncio.gather(*(self._published(record) for record in self._watching.records()))
        rows = [row["record"] for published in snapshots for row in published if row.get("kind") == KIND]
        named = [row for row in rows if name in (row.get("name"), row.get("id")) and row.get("url")]
        return [(row["socket"], row["name"]) for row in named if await asyncio.to_thread(_is_own, row.get("socket"))]

    async def _published(self, record: Any) -> list[dict[str, Any]]:
        try:
            published: list[dict[str, Any]] = (await self._watching.snapshot(record)).get("published", [])
        except (HeadUnavailable, HeadRefused):
            return []
        return published


def _is_own(path: Any) -> bool:
    """Whether a path is a socket of this user."""
    try:
        facts = os.lstat(path)
    except (OSError, TypeError, ValueError):
        return False
    return stat.S_ISSOCK(facts.st_mode) and facts.st_uid == os.getuid()


class _AtSocket(Resolver):
    """Every name is this Unix socket."""

    def initialize(self, path: str) -> None:
        self._path = path

    async def resolve(self, host: str, port: int, family: Any = sockets.AF_UNSPEC) -> list[tuple[int, Any]]:
        return [(sockets.AF_UNIX, self._path)]


class _DoorStream(IOStream):
    """A connection to the door. What it has said before it closed is read, also where that has broken a write.

    Tornado keeps small pieces of a body back while more can be read at once, and forgets them where that read fails at
    once. So a read fails a moment later.
    """

    _is_drained = False

    def close(self, exc_info: Any = False) -> None:
        if not self.closed() and not self._is_drained:
            self._is_drained = True
            with suppress(OSError, StreamBufferFullError):
                while self._read_to_buffer():
                    pass
        super().close(exc_info)

    def read_until(self, delimiter: bytes, max_bytes: int | None = None) -> Awaitable[bytes]:
        return self._not_failed_yet(lambda: super(_DoorStream, self).read_until(delimiter, max_bytes))

    def read_bytes(self, num_bytes: int, partial: bool = False) -> Awaitable[bytes]:
        return self._not_failed_yet(lambda: super(_DoorStream, self).read_bytes(num_bytes, partial))

    def _not_failed_yet(self, read: Callable[[], Awaitable[bytes]]) -> Awaitable[bytes]:
        async def failed(error: BaseException) -> bytes:
            raise error

        try:
            found = read()
        except StreamClosedError as error:
            return failed(error)
        broken = found.exception() if isinstance(found, asyncio.Future) and found.done() else None
        return found if broken is None else failed(broken)


class _Answer(HTTPMessageDelegate):
    """Passes an answer of the door on as it comes; the door waits while the browser does not read.

    It is read from the beginning on: a door that refuses a body answers in the midst of it.
    """

    def __init__(self, handler: ServedHandler) -> None:
        self._handler = handler
        self._head: tuple[ResponseStartLine, HTTPHeaders] | None = None
        self.may_go = asyncio.Event()  # the browser has sent its request
        self.begun = False

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> None:
        if start_line.code >= 200:
            self._head = start_line, headers

    async def data_received(self, chunk: bytes) -> None:
        await self.may_go.wait()
        self.begin()
        self._handler.write(chunk)
        await self._handler.flush()

    def begin(self) -> bool:
        """Write the head, if one has come and was not written. Returns whether there is one."""
        if self._head is not None and not self.begun:
            self.begun = True
            self._handler.begin_answer(*self._head)
        return self.begun


@stream_request_body
class ServedHandler(JupyterHandler, WebSocketHandler):
    """One request, or one WebSocket. It counts as activity: a server that others ask is not idle."""

    auth_resource = RESOURCE
    # A WebSocketHandler has none of these, but most requests here are plain ones.
    write, flush, finish = RequestHandler.write, RequestHandler.flush, RequestHandler.finish
    redirect, set_cookie, set_status = RequestHandler.redirect, RequestHandler.set_cookie, RequestHandler.set_status
    set_header = RequestHandler.set_header
    _upstream: HTTP1Connection | None = None
    _stream: IOStream | None = None
    _socket: WebSocketClientConnection | None = None

    # ---- who may come

    async def prepare(self) -> None:  # type: ignore[override, unused-ignore]
        """The body comes after this: the login is looked at before it is read."""
        await ensure_async(super().prepare(_redirect_to_login=not self._is_websocket()))
        if self._finished:
            return
        if self.current_user is None:
            if self.request.method in ("GET", "HEAD") and not self._is_websocket():
                self.redirect(f"{self.get_login_url()}?next={quote(self.request.uri or '')}")
                return
            raise HTTPError(403, "Log in to this Jupyter server, or send its token.")
        if not await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, "execute", RESOURCE)  # type: ignore[arg-type, unused-ignore]
        ):
            raise HTTPError(403, REFUSED["execute"])
        self.request.connection.set_max_body_size(MOST_BODY)  # type: ignore[union-attr, unused-ignore]
        if not self._is_websocket() and self._goes_on():
            await self._begin_request()

    def _is_websocket(self) -> bool:
        return bool(self.request.headers.get("Upgrade", "").lower() == "websocket")

    def _goes_on(self) -> bool:
        """A route without a slash at its end is sent to the one with it: relative addresses are below it."""
        if self.request.path != self._root():
            return True
        query = f"?{self.request.query}" if self.request.query else ""
        self.redirect(f"{self._root()}/{query}", status=307)
        return False

    def _root(self) -> str:
        """The address of this application here, as it was written."""
        before = f"{self.base_url}nbaccel/serve/"
        return f"{before}{self.request.path[len(before) :].partition('/')[0]}"

    def _name(self) -> str:
        return unquote(self._root().rpartition("/")[2])

    # ---- what is sent to the door

    async def _begin_request(self) -> None:
        name = self._name()
        path, app = await self.settings["nbaccel_doors"].find(name)
        self._stream = _DoorStream(sockets.socket(sockets.AF_UNIX))
        try:
            await self._stream.connect(path)  # type: ignore[arg-type, unused-ignore]
        except OSError as error:
            self.settings["nbaccel_doors"].forget(name)
            raise HTTPError(503, f"The door of {name} does not answer: {error.strerror}.") from None
        except StreamClosedError:
            self.settings["nbaccel_doors"].forget(name)
            raise HTTPError(503, f"The door of {name} does not answer.") from None
        self._upstream = HTTP1Connection(
            self._stream, True, HTTP1ConnectionParameters(chunk_size=CHUNK, max_body_size=MOST_BODY)
        )
        headers = self._headers_of(app)
        length = self.request.headers.get("Content-Length")
        if length is not None:
            headers["Content-Length"] = length
        elif "chunked" in self.request.headers.get("Transfer-Encoding", "").lower():
            headers["Transfer-Encoding"] = "chunked"
        start = RequestStartLine(self.request.method or "GET", self._target(), "HTTP/1.1")
        await self._upstream.write_headers(start, headers)
        self._answer = _Answer(self)
        self._reading = asyncio.ensure_future(self._upstream.read_response(self._answer))

    def _target(self) -> str:
        rest = self.request.path[len(self._root()) :] or "/"
        query = "&".join(part for part in self.request.query.split("&") if not self._is_login(part))
        return f"{rest}?{query}" if query else rest

    def _is_login(self, part: str) -> bool:
        """Whether a part of the query is this server's own token."""
        name, _, value = part.partition("=")
        own = getattr(self.identity_provider, "token", "")
        return name == "token" and bool(own) and unquote(value) == own

    def _headers_of(self, app: str) -> HTTPHeaders:
        named = {each.strip().lower() for each in self.request.headers.get("Connection", "").split(",")}
        kept = HTTPHeaders()
        for name, value in self.request.headers.get_all():
            low = name.lower()
            ends = low in _ENDS_HERE or low in named or low.startswith(_PREFIXES_THAT_END_HERE)
            if not ends and low != "content-length":
                kept.add(name, value)
        kept["X-Nbaccel-App"] = quote(app)
        kept["X-Nbaccel-Root"] = self._root()
        kept["X-Nbaccel-Scheme"] = self.request.protocol
        kept["Connection"] = "close"
        return kept

    async def data_received(self, chunk: bytes) -> None:
        """A piece of the body."""
        if self._upstream is not None:
            try:
                await self._upstream.write(chunk)
            except StreamClosedError:
                pass  # it has answered already, such as that the body is too large

    # ---- what comes back

    async def _pass_on(self) -> None:
        if self._finished or self._upstream is None:
            return
        try:
            self._upstream.finish()
        except StreamClosedError:
            pass  # as above
        self._answer.may_go.set()
        try:
            is_whole = await self._reading
        except StreamClosedError:
            is_whole = False
        finally:
            self._close()
        if not self._answer.begin():
            raise HTTPError(502, "The door ended the connection without an answer.")
        if not is_whole and self._is_cut():
            with suppress(StreamClosedError):
                await self.flush()  # the head, where no piece of the body has come
            self.request.connection.stream.close()  # type: ignore[union-attr, unused-ignore]
            return
        if not self._finished:
            await self.finish()

    def _is_cut(self) -> bool:
        return self._upstream is None or not getattr(self._upstream, "_read_finished", True)

    def begin_answer(self, start_line: ResponseStartLine, headers: HTTPHeaders) -> None:
        self.set_status(start_line.code, start_line.reason)
        for name in ("Content-Type", "Server", "Date", "Etag"):
            self.clear_header(name)
        seen = set[str]()
        for name, value in headers.get_all():
            if name.lower() in _NOT_BACK:
                continue
            (self.add_header if name in seen else self.set_header)(name, value)
            seen.add(name)

    @authenticated
    async def get(self, *parts: str) -> None:  # type: ignore[override, unused-ignore]
        if self._is_websocket():
            await self._open_websocket()
        else:
            await self._pass_on()

    @authenticated
    async def post(self, *parts: str) -> None:  # type: ignore[override, unused-ignore]
        await self._pass_on()

    head = put = patch = delete = options = post  # type: ignore[assignment, unused-ignore]

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        if self._socket is not None:
            self._socket.close()

    def on_connection_close(self) -> None:
        """The browser has gone: the door sees it, and cancels."""
        super().on_connection_close()
        self._close()

    # ---- WebSockets

    async def _open_websocket(self) -> None:
        path, app = await self.settings["nbaccel_doors"].find(self._name())
        offered = [each.strip() for each in self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        request = HTTPRequest(f"ws://door{self._target()}", headers=self._headers_of(app))
        del request.headers["Connection"]
        try:
            self._socket = await websocket_connect(
                request,
                subprotocols=[each for each in offered if each] or None,
                resolver=_AtSocket(path),
            )
        except HTTPClientError as error:
            raise HTTPError(error.code, "The application refused the WebSocket.") from None
        except (OSError, StreamClosedError):
            raise HTTPError(503, "The door does not answer.") from None
        await WebSocketHandler.get(self)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return self._socket.selected_subprotocol if self._socket is not None else None

    async def open(self, *parts: str, **given: str) -> None:  # type: ignore[override, unused-ignore]
        assert self._socket is not None
        self._backwards = asyncio.create_task(self._pass_back(self._socket))

    async def _pass_back(self, upstream: WebSocketClientConnection) -> None:
        while (message := await upstream.read_message()) is not None:
            await self.write_message(message, binary=isinstance(message, bytes))
        self.close(_sendable(upstream.close_code), upstream.close_reason)

    async def on_message(self, message: str | bytes) -> None:  # type: ignore[override, unused-ignore]
        if self._socket is not None:
            await self._socket.write_message(message, binary=isinstance(message, bytes))

    def on_close(self) -> None:
        if self._socket is not None:
            self._socket.close(_sendable(self.close_code), self.close_reason)


def _sendable(code: int | None) -> int | None:
    """The code of a close that may be sent: two mean that there was none."""
    return None if code in (1005, 1006) else code
