"""A link: frames over one Unix socket between two processes of a session, and the calls that are open on it.

```
  caller ── CALL 7 ──► replica                 one process opens calls, the other answers them
         ◄─ DONE 7 ──                          or CHUNK 7 … END 7, or ERROR 7
         ── CANCEL 7 ─►
```
All of it runs in one asyncio loop; the frames of one turn of the loop leave in one write. Short chunks that follow
the last write within a millisecond leave together, with whatever else leaves first. A body that is sent in chunks waits
for its reader: at most `WINDOW` bytes are under way, and a chunk counts as at least `LEAST` bytes.

A frame, whose `meta` is msgpack and whose `body` only the last reader looks into:
```
  body length (4) · meta length (4) · id (4) · kind (1) · meta · body
```
Whoever opens a call gives it an id; every frame of that call, in both directions, has the same id. Frames with the id 0
are about the link itself.

A later line between workers in the core can take the place of the socket: this module alone knows of it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from asyncio import AbstractEventLoop, Future, Transport
from collections import deque
from collections.abc import AsyncIterator, Callable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

HEADER = Struct("<IIIB")
LONGEST_META = 1 << 20
LONGEST_BODY = 1 << 18  # a longer one is sent in chunks
PART = b"+"  # the meta of a chunk that has not all of an item


class FrameKind(IntEnum):
    """What a frame is."""

    CALL = 1  # a request; its body follows in chunks if meta announces it
    DONE = 2  # the whole answer
    CHUNK = 3  # a part of a body; the first one of a streamed answer has the answer's head as its meta
    END = 4  # no chunk follows
    ERROR = 5  # user code raised; meta has words, the body the pickled exception
    CANCEL = 6  # the caller no longer wants the answer
    FULL = 7  # refused: the replica is at its limit
    GOING = 8  # refused, and everything from now on: the replica is about to end
    CREDIT = 9  # the reader has consumed so much of a stream; with the id 0: the replica has room again
    LOST = 10  # never sent: the link has ended


class Frame(NamedTuple):
    kind: FrameKind
    id: int
    meta: bytes
    body: bytes


class BadFrame(ValueError):
    """Bytes that are no frame: the link cannot go on."""


def pack(kind: FrameKind, id: int, meta: bytes = b"", body: bytes = b"") -> bytes:
    return HEADER.pack(len(body), len(meta), id, kind) + meta + body


_KINDS = {int(kind): kind for kind in FrameKind if kind is not FrameKind.LOST}


class FrameParser:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now. Raises BadFrame."""
        if self._rest:
            data = self._rest + data
        frames: list[Frame] = []
        at, end, head = 0, len(data), HEADER.size
        while end - at >= head:
            body_length, meta_length, id, number = HEADER.unpack_from(data, at)
            kind = _KINDS.get(number)
            if kind is None or meta_length > LONGEST_META or body_length > LONGEST_BODY:
                raise BadFrame(f"kind {number}, {meta_length} bytes of meta, {body_length} of body")
            start = at + head
            middle = start + meta_length
            stop = middle + body_length
            if stop > end:
                break
            frames.append(Frame(kind, id, data[start:middle], data[middle:stop]))
            at = stop
        self._rest = data[at:] if at else data
        return frames


WINDOW = 1 << 20
LEAST = 1 << 14
CHUNKS_WAIT_S = 0.001
_NOTHING = b""
_ABOUT_LINK = frozenset({FrameKind.FULL, FrameKind.GOING})  # of a call, and of the replica as well
_LONE = frozenset({FrameKind.CALL, FrameKind.DONE, FrameKind.ERROR})
_LAST = frozenset({FrameKind.DONE, FrameKind.ERROR, FrameKind.FULL, FrameKind.GOING, FrameKind.LOST})


class LinkLost(ConnectionError):
    """The process at the other end has gone, or is leaving the session."""


class Exchange:
    """One call on a link, as either end sees it."""

    ended = False  # the last frame has come or gone: the other end reads nothing of this call any more
    on_first: Callable[[Frame], None] | None = None  # takes the first frame, in the place of `next`
    on_cancel: Callable[[], object] | None = None  # called in the process that answers; None in the one that asks
    _waiter: Future[None] | None = None
    _room = WINDOW
    _room_waiter: Future[None] | None = None
    _owed = 0  # what was read since the last credit

    def __init__(self, link: FrameLink, id: int) -> None:
        self.link = link
        self.id = id
        self._inbox: deque[Frame] = deque()

    # ---- reading

    def received(self, frame: Frame) -> None:
        """A frame of this call has arrived."""
        kind = frame.kind
        if kind is FrameKind.CREDIT:
            self._room += int.from_bytes(frame.meta, "little")
            _wake(self._room_waiter)
            return
        if kind in _LAST or (kind is FrameKind.END and self.on_cancel is None):
            self.end()
        if self.on_first is not None:
            first, self.on_first = self.on_first, None
            first(frame)
        else:
            self._inbox.append(frame)
            _wake(self._waiter)

    async def next(self) -> Frame:
        """The next frame. A lost link is a frame of the kind LOST."""
        if self._owed >= WINDOW // 4:
            self.link.send(FrameKind.CREDIT, self.id, self._owed.to_bytes(8, "little"))
            self._owed = 0
        if not self._inbox:
            self._waiter = self.link.loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._taken()

    def _taken(self) -> Frame:
        frame = self._inbox.popleft()
        if frame.kind is FrameKind.CHUNK:
            self._owed += max(len(frame.body), LEAST)
        return frame

    def also(self, body: bytes) -> bytes:
        """A chunk's body, and those of the chunks that have come after it."""
        parts = [body]
        while self._inbox and self._inbox[0].kind is FrameKind.CHUNK:
            parts.append(self._taken().body)
        return b"".join(parts)

    async def rest_of_body(self, first: bytes) -> bytes:
        """A body that is sent in chunks, as a whole. Raises LinkLost."""
        parts = [first]
        async for part in self.chunks():
            parts.append(part)
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The chunks until the END. Raises LinkLost."""
        while (frame := await self.next()).kind is not FrameKind.END:
            if frame.kind is not FrameKind.CHUNK:
                raise LinkLost(frame.meta.decode(errors="replace") or "the stream was cut")
            yield frame.body

    # ---- writing

    async def send_chunk(self, body: bytes, meta: bytes = _NOTHING) -> None:
        """Send a part of a body when its reader has room; nothing if the call has ended. Raises LinkLost."""
        if len(body) > LONGEST_BODY:
            view = memoryview(body)
            for start in range(0, len(body), LONGEST_BODY):
                await self.send_chunk(bytes(view[start : start + LONGEST_BODY]), meta)
                meta = _NOTHING
            return
        while self._room <= 0 and not self.ended:
            self._room_waiter = self.link.loop.create_future()
            try:
                await self._room_waiter
            finally:
                self._room_waiter = None
        if self.link.lost_because:
            raise LinkLost(self.link.lost_because)
        if not self.ended:
            self._room -= max(len(body), LEAST)
            self.link.send(FrameKind.CHUNK, self.id, meta, body)

    def finish(self, kind: FrameKind, meta: bytes = _NOTHING, body: bytes = _NOTHING) -> None:
        """Send the last frame of this call."""
        if not self.ended:
            self.link.send(kind, self.id, meta, body)
            self.end()

    async def finish_with(self, meta: bytes, body: bytes) -> None:
        """Send a whole answer, in chunks if it is long."""
        if len(body) <= LONGEST_BODY:
            self.finish(FrameKind.DONE, meta, body)
            return
        await self.send_chunk(body, meta)
        self.finish(FrameKind.END)

    def end(self) -> None:
        """This call is over, whether or not all of it was read."""
        if not self.ended:
            self.ended = True
            self.link.exchanges.pop(self.id, None)
            _wake(self._room_waiter)

    def cancel(self) -> None:
        """The caller wants no answer any more."""
        self.finish(FrameKind.CANCEL)


def _wake(waiter: Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class FrameLink(asyncio.Protocol):
    """One end. `opened` is called with each call that the other end opens; it returns at once."""

    def __init__(
        self,
        opened: Callable[[Exchange, Frame], None] | None = None,
        lost: Callable[[FrameLink], None] | None = None,
        about_link: Callable[[FrameLink, Frame], None] | None = None,
    ) -> None:
        self.loop: AbstractEventLoop = asyncio.get_running_loop()
        self.exchanges: dict[int, Exchange] = {}
        self.lost_because = ""
        self.bad_frames = 0
        self._opened = opened
        self._lost = lost
        self._about_link = about_link
        self._parser = FrameParser()
        self._outbox: list[bytes] = []
        self._written_at = 0.0
        self._chunks_wait: asyncio.TimerHandle | None = None  # writes what is in the outbox
        self._next_id = 1
        self._transport: Transport | None = None

    # ---- calls

    def call(self, meta: bytes, body: bytes = _NOTHING) -> Exchange:
        """Open a call. `body` is the whole of it or its first part, of at most LONGEST_BODY bytes."""
        if self.lost_because:
            raise LinkLost(self.lost_because)
        id = self._next_id
        self._next_id = id % 0xFFFFFFFF + 1
        exchange = self.exchanges[id] = Exchange(self, id)
        self.send(FrameKind.CALL, id, meta, body)
        return exchange

    async def ask(self, meta: bytes, body: bytes = _NOTHING) -> Frame:
        """Open a call with a body of any length, and return the answer as one frame. Raises LinkLost."""
        exchange = self.call(meta, body[:LONGEST_BODY])
        try:
            for start in range(LONGEST_BODY, len(body), LONGEST_BODY):
                await exchange.send_chunk(body[start : start + LONGEST_BODY])
            if len(body) > LONGEST_BODY:
                self.send(FrameKind.END, exchange.id)
            return await whole(exchange, await exchange.next())
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        finally:
            exchange.end()

    def send(self, kind: FrameKind, id: int, meta: bytes = _NOTHING, body: bytes = _NOTHING) -> None:
        if self.lost_because:
            return
        if not self._outbox:
            if kind in _LONE and len(self.exchanges) <= 1 and self._transport is not None:
                self._transport.write(pack(kind, id, meta, body))  # nobody else has anything for this turn
                return
            may_wait = kind is FrameKind.CHUNK and not meta and len(body) < LEAST
            if may_wait and time.monotonic() - self._written_at < CHUNKS_WAIT_S:
                self._chunks_wait = self.loop.call_later(CHUNKS_WAIT_S, self._flush)
            else:
                self.loop.call_soon(self._flush)
        elif self._chunks_wait is not None and kind is not FrameKind.CHUNK:
            self._chunks_wait.cancel()
            self._chunks_wait = None
            self.loop.call_soon(self._flush)  # with what else comes in this turn
        self._outbox.append(pack(kind, id, meta, body))

    def _flush(self) -> None:
        if self._chunks_wait is not None:
            self._chunks_wait.cancel()
            self._chunks_wait = None
        self._written_at = time.monotonic()
        outbox, self._outbox = self._outbox, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(outbox[0] if len(outbox) == 1 else b"".join(outbox))

    def close(self, why: str = "this process is leaving") -> None:
        """End the link after what was sent has left."""
        if self._outbox:
            self._flush()
        if self._transport is not None:
            self._transport.close()
        self._end(why)

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        if self._outbox:
            self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._parser.feed(data):
                self._dispatch(frame)
                if self.lost_because:
                    return
        except BadFrame as error:
            self.bad_frames += 1
            self.close(f"a frame is damaged: {error}")

    def _dispatch(self, frame: Frame) -> None:
        if frame.kind is FrameKind.CALL:
            self._open(frame)
            return
        if self._about_link is not None and (not frame.id or frame.kind in _ABOUT_LINK):
            self._about_link(self, frame)  # now, in the order of the frames: a task that waits for the call runs later
        if (exchange := self.exchanges.get(frame.id)) is not None:
            if frame.kind is FrameKind.CANCEL:
                cancelled = exchange.on_cancel
                if cancelled is None:
                    raise BadFrame("a cancel came from the end that answers")
                exchange.end()
                cancelled()
            else:
                exchange.received(frame)

    def _open(self, frame: Frame) -> None:
        if self._opened is None or not frame.id or frame.id in self.exchanges:
            raise BadFrame("a call came where none is answered")
        exchange = self.exchanges[frame.id] = Exchange(self, frame.id)
        self._opened(exchange, frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"the connection ended: {exc}" if exc else "the process at the other end has gone")

    def _end(self, why: str) -> None:
        if self.lost_because:
            return
        self.lost_because = why
        for exchange in list(self.exchanges.values()):
            exchange.received(Frame(FrameKind.LOST, exchange.id, why.encode(), b""))
            if exchange.on_cancel is not None:
                exchange.on_cancel()
            exchange.end()
        if self._lost is not None:
            self._lost(self)


async def whole(exchange: Exchange, frame: Frame) -> Frame:
    """An answer that may have come in chunks, as one DONE frame. Raises LinkLost."""
    if frame.kind is FrameKind.LOST:
        raise LinkLost(frame.meta.decode(errors="replace"))
    if frame.kind is not FrameKind.CHUNK:
        return frame
    return Frame(FrameKind.DONE, frame.id, frame.meta, await exchange.rest_of_body(frame.body))


def new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()  # type: ignore[no-any-return, unused-ignore]


# ---- addresses: a Unix socket's path has at most 107 bytes, a session's directory may have more

_LONGEST_PATH = 107


async def listen(path: str, make: Callable[[], FrameLink]) -> asyncio.Server:
    """Answer links at this path, which only this user can reach."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    loop = asyncio.get_running_loop()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _Short(path) as short:
            listener.bind(short)
        os.chmod(path, 0o600)
        return await loop.create_unix_server(make, sock=listener)
    except BaseException:
        listener.close()
        raise


async def connect(path: str, make: Callable[[], FrameLink]) -> FrameLink:
    """Connect to the process that listens at this path. Raises OSError."""
    loop = asyncio.get_running_loop()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with _Short(path) as short:
            await loop.sock_connect(connection, short)
        _, link = await loop.create_unix_connection(make, sock=connection)
    except BaseException:
        connection.close()
        raise
    return link


class _Short:
    """A path, or a short one that leads to the same place while the block lasts."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= _LONGEST_PATH:
            return self._path
        folder, name = os.path.split(self._path)
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{name}"

    def __exit__(self, *exc: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
