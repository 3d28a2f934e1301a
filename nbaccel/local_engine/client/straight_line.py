"""A caller's end of the connection to one actor, and what keeps the calls of that actor in order.

Calls go to an actor on two ways: through the head, and straight. A call goes straight only when all that went through
the head have come back; a call through the head names the number of straight ones before it, and waits for them
at the actor. So nobody waits for an answer before the next call may leave.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import WHOLE_BYTES
from nbaccel.local_engine.wire import framing

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
BATCH = 500  # calls in one frame
END = b""  # of a connection
_MOST = (READ_BYTES,)


class StraightLine:
    """The socket to one actor. It never blocks: what it does not take at once waits here."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.outbox: deque[Any] = deque()
        self.templates: set[int] = set()  # that the actor knows
        self.is_full = False  # the thread waits until the socket takes more
        self.came: deque[bytes] = deque()  # what was read and is not taken yet, in its order; END is the last one
        self.is_clear = True  # nothing in `came` but whole frames whose answers were seen
        self.is_closed = False
        self.left_until = 0.0  # a thread that waits reads until then (monotonic seconds)
        self._pending = bytearray()
        self._frames = framing.FrameReader(wire.decode_to_caller)
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()

    def wrote_whole(self, messages: list[Any]) -> bool:
        """Write these messages in one call that takes all or nothing; False if others wait, or it did not take them."""
        with self._write_lock:  # held for a call or two: the socket never blocks
            if self.outbox or self._pending:
                return False
            frame = wire.frame(messages)
            try:
                return len(frame) <= WHOLE_BYTES and self.sock.send(frame, socket.MSG_DONTWAIT) > 0
            except OSError:
                return False  # it is full, or broken: the reader will see

    def write(self) -> bool:
        """Write what waits, as far as the socket takes it. Returns whether something is left."""
        with self._write_lock:
            outbox = self.outbox
            while outbox or self._pending:
                if not self._pending:
                    self._pending = wire.frame([outbox.popleft() for _ in range(min(len(outbox), BATCH))])
                try:
                    del self._pending[: self.sock.send(self._pending)]
                except BlockingIOError:
                    return True
                except OSError:
                    outbox.clear()
                    self._pending.clear()  # the actor has gone: reading shows it
        return False

    def receive(self) -> None:
        """Move what has come from the socket to `came`.

        `extend` and `map` do so without a bytecode between the two, so no signal handler runs there: whatever one
        raises, each byte is in one of the two places, in its order.
        """
        with self._read_lock:
            self.is_clear = False
            try:
                self.came.extend(map(self.sock.recv, _MOST))
            except BlockingIOError:
                pass
            except OSError:
                self.came.append(END)

    def latest(self) -> tuple[bytes, list[Any]]:
        """What came last, and its answers if it is a whole frame. It stays for the thread that takes it."""
        try:
            data = self.came[-1]
            return data, framing.whole_frame(data, wire.decode_to_caller)
        except (IndexError, framing.Unreadable):
            return END, []

    def is_seen(self, data: bytes) -> None:
        """What came last was seen, and all before it was clear."""
        with self._read_lock:
            if self.came and self.came[-1] is data:
                self.is_clear = True

    def take(self) -> Iterator[list[Any] | None]:
        """Take what has come; None is the end of the connection. For one thread alone.

        What is being taken stays in `came` for so long: whoever finds that empty finds its values.
        """
        came = self.came
        while came:
            try:
                yield self._frames.feed(came[0]) if came[0] else None
            except framing.Unreadable:
                yield None
            came.popleft()
        with self._read_lock:
            self.is_clear = not came and self._frames.is_empty

    def close(self) -> None:
        self.is_closed = True
        self.sock.close()

    def stop_reading(self) -> None:
        """Nothing more will come: what has arrived can still be read, and then the end."""
        try:
            self.sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # it has ended already


class ActorWay:
    """How the calls of this process reach one actor."""

    __slots__ = ("_behind", "actor_id", "is_asked_for", "is_stopped", "line", "lock", "sent", "templates")

    def __init__(self, actor_id: bytes) -> None:
        self.actor_id = actor_id
        self.lock = threading.Lock()  # held from the choice of the way until the call is queued
        self.line: StraightLine | None = None
        self.is_asked_for = False
        self.is_stopped = False  # what is said to the head next must not be overtaken
        self.sent = 0  # calls that went straight
        self._behind: dict[object, None] = {}  # calls that went through the head and have not come back, in order
        self.templates: set[int] = set()  # of calls that went through the head

    def is_free(self, template: int) -> bool:
        """Whether a call may go straight: the head knows its terms, and nothing is under way through the head."""
        return self.line is not None and not self._behind and template in self.templates and not self.is_stopped

    def went_through_head(self, call: object, template: int) -> None:
        """A call goes through the head. `lock` is held."""
        self.templates.add(template)
        self._behind[call] = None

    def came_back(self, call: object, *, has_run: bool) -> None:
        """Its result is there. One that has run tells of those before it too: the actor runs them in their order.

        One that failed may never have reached the actor, and have overtaken others on its way back.
        """
        with self.lock:
            if has_run and call in self._behind:
                while next(iter(self._behind)) != call:
                    del self._behind[next(iter(self._behind))]
            self._behind.pop(call, None)
