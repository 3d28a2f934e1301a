"""uvicorn's protocol of HTTP with the limits that it lacks: deadlines for heads and bodies, sizes, connections."""

from __future__ import annotations

import asyncio
import resource
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
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


REQUEST = "nbaccel.request"  # in the scope: the HttpRequest


class Counters(ServerState):
    """What connections share. The date is made when it is needed: an idle door does nothing."""

    def __init__(self, limit: Limits) -> None:
        self.idle: dict[HttpProtocol, float] = {}  # connections without a request, since when; the oldest first
        self.refused: dict[int, int] = {}
        self.slow = 0  # connections that were closed since they took too long
        self.limit = limit
        self.most = connections(limit.max_connections)
        self._second = 0
        self._date = b""
        self._sweep: asyncio.TimerHandle | None = None
        super().__init__()

    @property
    def date(self) -> bytes:
        """The header as it is written."""
        now = int(time())
        if now != self._second:
            self._second, self._date = now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode()
        return self._date

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"date", self.date[6:-2])]

    @default_headers.setter
    def default_headers(self, value: list[tuple[bytes, bytes]]) -> None:
        """They are always made from the time."""

    def rest(self, connection: HttpProtocol) -> None:
        """It has no request: it is closed when that has lasted."""
        self.idle[connection] = connection.loop.time()
        if self._sweep is None:
            self._sweep = connection.loop.call_later(connection.timeout_keep_alive, self._close_idle, connection)

    def _close_idle(self, any_of_them: HttpProtocol) -> None:
        """Close those that have rested for so long. One timer serves all connections."""
        self._sweep, now, most_s = None, any_of_them.loop.time(), any_of_them.timeout_keep_alive
        for connection, since in list(self.idle.items()):
            if now - since < most_s:
                self._sweep = connection.loop.call_later(since + most_s - now, self._close_idle, connection)
                return
            del self.idle[connection]
            connection.transport.close()


class HttpRequest(RequestResponseCycle):
    """A request, and its answer. What uvicorn needs for the ASGI function is made when the request gets a task."""

    def __init__(self, protocol: HttpProtocol, method: str, http_version: str) -> None:
        """Raises HttpParserError and UnicodeError for a damaged URL."""
        self.protocol = protocol
        self.method = method
        self.http_version = http_version
        self.headers = protocol.headers
        self.path, self.raw_path, self.query = _parted(protocol.url)
        self.transport = protocol.transport
        self.keep_alive = http_version != "1.0" and protocol.parser.should_keep_alive()
        self.waiting_for_100_continue = protocol.expect_100_continue
        self.body = bytearray()
        self.more_body = True
        self.disconnected = self.response_started = self.response_complete = False
        self.has_task = False
        self.begun: Any = None  # of `quick`, for the ASGI function
        self.leave: Callable[[], object] | None = None  # called when the client goes

    def prepare(self) -> None:
        """For the ASGI function."""
        protocol, body, more_body = self.protocol, self.body, self.more_body
        super().__init__(
            scope=self._scope(),  # type: ignore[arg-type]
            transport=protocol.transport,
            flow=protocol.flow,
            logger=protocol.logger,
            access_logger=protocol.logger,
            access_log=False,
            default_headers=protocol.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.waiting_for_100_continue,
            keep_alive=self.keep_alive,
            on_response=protocol.on_response_complete,
        )
        self.has_task = True
        self.more_body = more_body
        self.received(bytes(body))

    def _scope(self) -> dict[str, Any]:
        protocol, root = self.protocol, self.protocol.root_path
        return {
            "type": "http",
            "asgi": {"version": protocol.asgi_version, "spec_version": "2.3"},
            "http_version": self.http_version,
            "method": self.method,
            "scheme": protocol.scheme,
            "path": root + self.path,
            "raw_path": root.encode("ascii") + self.raw_path,
            "query_string": self.query,
            "root_path": root,
            "headers": self.headers,
            "client": protocol.client,
            "server": protocol.server,
            "state": {},
            REQUEST: self,
        }

    def received(self, body: bytes) -> None:
        """More of the body, or its end."""
        self.body += body
        if self.has_task and (body or not self.more_body):
            self.message_event.set()

    def has_left(self) -> bool:
        return self.disconnected

    def client_left(self) -> None:
        if self.response_complete:
            return
        self.disconnected = True
        if self.has_task:
            self.message_event.set()
        leave, self.leave = self.leave, None
        if leave is not None:
            leave()

    def write_whole(self, head: AnswerHead, request_id: bytes, body: bytes) -> None:
        """Write an answer now, however much is unsent: in one write. The head has a Content-Length."""
        if self.disconnected:
            return
        if self.waiting_for_100_continue:  # the body was not asked for
            self.keep_alive = False
        line, date = STATUS_LINE[head.status], self.protocol.counters.date
        end = b"\r\n\r\n" if self.keep_alive else b"\r\nconnection: close\r\n\r\n"
        shown = b"" if self.method == "HEAD" else body
        self.transport.write(b"".join((line, date, head.block, b"x-request-id: ", request_id, end, shown)))
        self.response_started = self.response_complete = True
        if self.has_task:
            self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.protocol.on_response_complete()


def _parted(url: bytes) -> tuple[str, bytes, bytes]:
    """Path, raw path and query. An ordinary URL, which the parser has looked through, is not parsed again."""
    if url.startswith(b"/") and b"%" not in url and b"#" not in url:
        raw, _, query = url.partition(b"?")
        return raw.decode("ascii"), raw, query
    parsed = httptools.parse_url(url)
    return unquote(parsed.path.decode("ascii")), parsed.path, parsed.query or b""


class _SilentLogger:
    """In the place of uvicorn's logger: what strangers send is counted, not logged."""

    level = 100

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        counters: Counters,
        loop: asyncio.AbstractEventLoop,
        quick: Callable[[HttpRequest], bool] | None = None,
    ) -> None:
        """`quick` answers a complete request without a task of its own if it returns True."""
        super().__init__(config, counters, {}, loop)
        self._quick = quick
        self._begun: HttpRequest | None = None  # while its packet is parsed
        self._waiting: deque[HttpRequest] = deque()  # behind the one that is being answered
        self._active: HttpRequest | None = None  # is being answered; `cycle` is the newest
        self.cycle: HttpRequest | None  # type: ignore[assignment]
        self.logger = _SilentLogger()  # type: ignore[assignment]
        self.counters = counters
        self._upgrades = False
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
        self._refusal: OverLimit | None = None  # raised in a callback of the parser

    # ---- connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        counters = self.counters
        if len(counters.connections) > counters.most:
            oldest = next(iter(counters.idle), None)
            if oldest is None:
                self._refuse(OverLimit(503, "The door has as many connections as it may have."))
                return
            oldest.transport.close()
            del counters.idle[oldest]
        counters.rest(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.counters.idle.pop(self, None)
        self.connections.discard(self)
        for timer in (self._deadline, self._reader_deadline):
            if timer is not None:
                timer.cancel()
        self.flow.resume_writing()
        for request in (self._active, self.cycle, *self._waiting):
            if request is not None:
                request.client_left()
        self.transport.close()
        self.parser = None  # type: ignore[assignment]

    def _begin(self, request: HttpRequest) -> None:
        """What can be read of the request now has been: a whole one may need no task."""
        self._active = request
        if request.more_body or self._quick is None or not self._quick(request):
            self.start_task(request)

    def start_task(self, request: HttpRequest) -> None:
        """Have the ASGI function answer in a task."""
        request.prepare()
        super()._start_asgi_task(request, self.app)

    # ---- what comes

    def data_received(self, data: bytes) -> None:
        if self._in_body:
            self._body_bytes += len(data)
            self._last_byte = self.loop.time()
        began_in_head = self._in_head
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(self._refusal or OverLimit(400, "This is no request of HTTP/1.1."))
        except httptools.HttpParserUpgrade:
            if self._upgrades:
                self.handle_websocket_upgrade()
        if self._begun is not None:
            begun, self._begun = self._begun, None
            if not self.transport.is_closing():  # what follows the request was refused, and the request with it
                self._begin(begun)
        if self._in_head or self._in_body or self._deadline is not None:
            self._watch_what_comes(len(data), began_in_head=began_in_head)

    def _watch_what_comes(self, size: int, *, began_in_head: bool) -> None:
        """A head and a body have deadlines."""
        if self._in_head:
            self._head_bytes += size
            if self._head_bytes > HEAD_BYTES:
                self._refuse(OverLimit(431, f"The head may have {HEAD_BYTES >> 10} KB."))
            elif not began_in_head or self._deadline is None:
                self._arm(self.counters.limit.head_s, self._head_is_late)
        elif self._in_body:
            if began_in_head or self._deadline is None:
                self._body_bytes, self._body_since = 0, self.loop.time()
                self._last_byte = self._body_since
                self._arm(
                    min(self.counters.limit.body_pause_s, self.counters.limit.body_span_s) / 4, self._look_at_body
                )
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _arm(self, seconds: float, act: Any) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, act)

    def _head_is_late(self) -> None:
        self.counters.slow += 1
        self._refuse(OverLimit(408, "The head of the request did not come in time."))

    def _look_at_body(self) -> None:
        """A body must not stop, nor trickle. While we do not read it, it may."""
        now, limit = self.loop.time(), self.counters.limit
        if self.flow.read_paused:
            self._body_bytes, self._body_since, self._last_byte = 0, now, now
        span_s = now - self._body_since
        trickles = span_s >= limit.body_span_s and self._body_bytes < span_s * BODY_BYTES_PER_S
        if now - self._last_byte >= limit.body_pause_s or trickles:
            self.counters.slow += 1
            self.transport.close()
            return
        if span_s >= limit.body_span_s:
            self._body_bytes, self._body_since = 0, now
        self._arm(min(limit.body_pause_s, limit.body_span_s) / 4, self._look_at_body)

    # ---- callbacks of the parser: what they raise, `data_received` answers

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = self._upgrades = False
        self._in_head = True
        self._head_bytes = self._hosts = 0
        self.counters.idle.pop(self, None)

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
        parser = self.parser
        method, version = parser.get_method().decode("ascii"), parser.get_http_version()
        if len(self.headers) > HEADERS:
            raise self._refusing(431, f"A request may have {HEADERS} headers.")
        if self._hosts != 1 and (self._hosts or version == "1.1"):
            raise self._refusing(400, "A request has one Host header.")
        self._in_body = True
        if parser.should_upgrade() and self._should_upgrade():
            self._upgrades = True
            self.scope = {"method": method, "headers": self.headers}  # type: ignore[typeddict-item]
            return
        try:
            request = HttpRequest(self, method, version)
        except (httptools.HttpParserError, UnicodeError) as error:
            raise self._refusing(400, "The URL is damaged.") from error
        before, self.cycle = self.cycle, request
        if before is None or before.response_complete:
            self._active = self._begun = request
        else:
            self.flow.pause_reading()
            self._waiting.append(request)

    def _refusing(self, status: int, words: str) -> OverLimit:
        self._refusal = OverLimit(status, words)
        return self._refusal

    def on_body(self, body: bytes) -> None:
        request = self.cycle
        if self._upgrades or request is None or request.response_complete:
            return
        request.received(body)
        if len(request.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        self._in_body = False
        request = self.cycle
        if not self._upgrades and request is not None:
            request.more_body = False
            request.received(b"")

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self._waiting:
            self._begin(self._waiting.popleft())
        else:
            self.counters.rest(self)

    def _refuse(self, refused: OverLimit) -> None:
        self._in_head = self._in_body = False
        self.counters.refused[refused.status] = self.counters.refused.get(refused.status, 0) + 1
        cycle = self.cycle
        is_between = cycle is None or cycle.response_complete or not cycle.response_started
        if is_between and not self._waiting:  # else it would stand inside of an answer
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
        self._reader_deadline = self.loop.call_later(self.counters.limit.reader_s, self._look_at_reader)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

    def _look_at_reader(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self.counters.slow += 1
            self.transport.abort()
            return
        self._unsent = unsent
        self._reader_deadline = self.loop.call_later(self.counters.limit.reader_s, self._look_at_reader)
