"""uvicorn's protocol of HTTP with the limits that it lacks: deadlines for heads and bodies, sizes, connections."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Any, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from nbaccel.serve.records import AnswerHead

HEAD_S = 10.0  # from the first byte of a head to its last
BODY_PAUSE_S = 20.0  # without a byte of a body
BODY_SPAN_S = 30.0  # in which a body has at least so many bytes a second
BODY_BYTES_PER_S = 1024
READER_S = 60.0  # in which a client takes nothing of its answer
HEAD_BYTES = 64 << 10
HEADERS = 200
URL_BYTES = 16 << 10
_SPARE_DESCRIPTORS = 32  # for links, files and what the process has anyway


class OverLimit(Exception):
    """A request that goes over a limit; answered with this status, and its connection is closed."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class TooSlow(OverLimit):
    """A body that stopped coming."""

    def __init__(self, words: str) -> None:
        super().__init__(408, words)


@dataclass(frozen=True)
class Limits:
    """The times are fields, so that a test need not wait for them."""

    head_s: float = HEAD_S
    body_pause_s: float = BODY_PAUSE_S
    body_span_s: float = BODY_SPAN_S
    reader_s: float = READER_S
    max_connections: int = 2000


def connections(wanted: int) -> int:
    """As many connections as wanted, as far as this process may have descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, soft - _SPARE_DESCRIPTORS))


LEAVE = "nbaccel.leave"  # in the scope: called when the client goes
LEFT = "nbaccel.left"  # in the scope: the client has gone, perhaps before the task of its request began


class Counters(ServerState):
    """What connections share. The date is made when it is needed: an idle door does nothing."""

    def __init__(self, limit: Limits) -> None:
        self.idle: dict[DoorProtocol, None] = {}  # connections without a request, the oldest first
        self.refused: dict[int, int] = {}
        self.slow = 0  # connections that were closed since they took too long
        self.limit = limit
        self.most = connections(limit.max_connections)
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__()

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        now = int(time())
        if now != self._second:
            self._second = now
            self._headers = [(b"date", formatdate(now, usegmt=True).encode())]
        return self._headers

    @default_headers.setter
    def default_headers(self, value: list[tuple[bytes, bytes]]) -> None:
        """They are always made from the time."""


async def send_whole(send: Any, head: AnswerHead, request_id: bytes, body: bytes) -> None:
    """What two calls of `send` with head and body do, in one write. The head has a Content-Length."""
    cycle: RequestResponseCycle = send.__self__
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    write_whole(cycle, head, request_id, body)


def write_whole(cycle: RequestResponseCycle, head: AnswerHead, request_id: bytes, body: bytes) -> None:
    """Write a whole answer now, however much is unsent."""
    if cycle.disconnected:
        return
    if cycle.waiting_for_100_continue:  # the body was not asked for
        cycle.keep_alive = False
    parts = [STATUS_LINE[head.status]]
    parts += [b"%b: %b\r\n" % each for each in cycle.default_headers]
    parts += [head.block, b"x-request-id: ", request_id, b"\r\n" if cycle.keep_alive else b"\r\nconnection: close\r\n"]
    parts.append(b"\r\n")
    if cycle.scope["method"] != "HEAD":
        parts.append(body)
    cycle.transport.write(b"".join(parts))
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()


class _Quiet:
    """In the place of uvicorn's logger: what strangers send is counted, not logged."""

    level = 100

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


Quick = Callable[["DoorProtocol", RequestResponseCycle], bool]


class DoorProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self, config: Config, state: Counters, loop: asyncio.AbstractEventLoop, quick: Quick | None = None
    ) -> None:
        """`quick` answers a complete request without a task of its own if it returns True."""
        super().__init__(config, state, {}, loop)
        self._quick = quick
        self._is_parsing = False
        self._begun: tuple[RequestResponseCycle, Any] | None = None  # while its packet is parsed
        self.logger = _Quiet()  # type: ignore[assignment]
        self.access_log = False
        self._shared = state
        self._head_bytes = 0
        self._hosts = 0
        self._in_head = False
        self._in_body = False
        self._deadline: asyncio.TimerHandle | None = None
        self._reader_deadline: asyncio.TimerHandle | None = None
        self._body_bytes = 0
        self._body_since = 0.0
        self._last_byte = 0.0
        self._unsent = 0
        self._active: Any = None  # the cycle that is being answered; `cycle` is the newest
        self._refusal: OverLimit | None = None  # raised in a callback of the parser

    # ---- connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        state = self._shared
        if len(state.connections) > state.most:
            oldest = next(iter(state.idle), None)
            if oldest is None:
                self._refuse(OverLimit(503, "The door has as many connections as it may have."))
                return
            oldest.transport.close()
            del state.idle[oldest]
        state.idle[self] = None
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        self._shared.idle.pop(self, None)
        self._unset_keepalive_if_required()
        for timer in (self._deadline, self._reader_deadline):
            if timer is not None:
                timer.cancel()
        waiting = [cycle for cycle, _ in self.pipeline]
        super().connection_lost(exc)
        for cycle in (self._active, self.cycle, *waiting):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                scope = cast("dict[str, Any]", cycle.scope)
                scope[LEFT] = True
                leave = scope.pop(LEAVE, None)
                if leave is not None:
                    leave()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._active = cycle
        if self._is_parsing:
            self._begun = cycle, app
        else:
            self._begin(cycle, app)

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        """What can be read of the request now has been: a whole one may need no task."""
        if self._quick is None or cycle.more_body or not self._quick(self, cycle):
            self.start_task(cycle)

    def start_task(self, cycle: RequestResponseCycle) -> None:
        """Have the ASGI function answer in a task."""
        super()._start_asgi_task(cycle, self.app)

    # ---- what comes

    def data_received(self, data: bytes) -> None:
        if self._in_body:
            self._body_bytes += len(data)
            self._last_byte = self.loop.time()
        began_in_head = self._in_head
        self._is_parsing = True
        super().data_received(data)
        self._is_parsing = False
        if self._begun is not None:
            begun, self._begun = self._begun, None
            if not self.transport.is_closing():  # what follows the request was refused, and the request with it
                self._begin(*begun)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(OverLimit(431, f"The head may have {HEAD_BYTES >> 10} KB."))
            elif not began_in_head or self._deadline is None:
                self._arm(self._shared.limit.head_s, self._head_is_late)
        elif self._in_body:
            if began_in_head or self._deadline is None:
                self._body_bytes, self._body_since = 0, self.loop.time()
                self._last_byte = self._body_since
                self._arm(min(self._shared.limit.body_pause_s, self._shared.limit.body_span_s) / 4, self._look_at_body)
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _arm(self, seconds: float, act: Any) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, act)

    def _head_is_late(self) -> None:
        self._shared.slow += 1
        self._refuse(OverLimit(408, "The head of the request did not come in time."))

    def _look_at_body(self) -> None:
        """A body must not stop, nor trickle. While we do not read it, it may."""
        now, limit = self.loop.time(), self._shared.limit
        if self.flow.read_paused:
            self._body_bytes, self._body_since, self._last_byte = 0, now, now
        span_s = now - self._body_since
        trickles = span_s >= limit.body_span_s and self._body_bytes < span_s * BODY_BYTES_PER_S
        if now - self._last_byte >= limit.body_pause_s or trickles:
            self._shared.slow += 1
            self.transport.close()
            return
        if span_s >= limit.body_span_s:
            self._body_bytes, self._body_since = 0, now
        self._arm(min(limit.body_pause_s, limit.body_span_s) / 4, self._look_at_body)

    # ---- callbacks of the parser: what they raise is answered by `send_400_response`

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self._hosts = 0
        self._shared.idle.pop(self, None)

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > URL_BYTES:
            raise self._refusing(414, f"The URL may have {URL_BYTES >> 10} KB.")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"host":
            self._hosts += 1
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > HEADERS:
            raise self._refusing(431, f"A request may have {HEADERS} headers.")
        if self._hosts != 1 and (self._hosts or self.parser.get_http_version() == "1.1"):
            raise self._refusing(400, "A request has one Host header.")
        self._in_body = True
        try:
            super().on_headers_complete()
        except (httptools.HttpParserError, UnicodeError) as error:  # of the URL
            raise self._refusing(400, "The URL is damaged.") from error

    def _refusing(self, status: int, words: str) -> OverLimit:
        self._refusal = OverLimit(status, words)
        return self._refusal

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._shared.idle[self] = None

    def send_400_response(self, msg: str) -> None:
        """The parser has refused something: with one of our limits, or since it is no HTTP."""
        refused, self._refusal = self._refusal, None
        self._refuse(refused or OverLimit(400, "This is no request of HTTP/1.1."))

    def _refuse(self, refused: OverLimit) -> None:
        self._in_head = self._in_body = False
        self._shared.refused[refused.status] = self._shared.refused.get(refused.status, 0) + 1
        cycle = self.cycle
        is_between = cycle is None or cycle.response_complete or not cycle.response_started
        if is_between and not self.pipeline:  # else it would stand inside of an answer
            if cycle is not None:
                cycle.disconnected = True  # its app is cancelled when the connection has ended
            body = str(refused).encode()
            self.transport.write(
                STATUS_LINE[refused.status]
                + b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
        self.transport.close()

    # ---- what goes

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._reader_deadline = self.loop.call_later(self._shared.limit.reader_s, self._look_at_reader)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

    def _look_at_reader(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self._shared.slow += 1
            self.transport.abort()
            return
        self._unsent = unsent
        self._reader_deadline = self.loop.call_later(self._shared.limit.reader_s, self._look_at_reader)
