"""A caller's end of the connection to one actor, and what keeps the calls of that actor in order.

Calls go to an actor on two ways: through the head, and straight. A call goes straight only when all that went through
the head have come back; a call through the head names the number of straight ones before it, and waits for them
at the actor. So nobody waits for an answer before the next call may leave.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import WHOLE_BYTES
from nbaccel.local_engine.wire import framing

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
BATCH = 500  # calls in one frame


class StraightLine:
    """The socket to one actor. It never blocks: what it does not take at once waits here."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.outbox: deque[Any] = deque()
        self.templates: set[int] = set()  # that the actor knows
        self.is_full = False  # the thread waits until the socket takes more
        self._pending = bytearray()
        self._frames = framing.FrameReader(wire.decode_to_caller)
        self._write_lock = threading.Lock()

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

    def read(self) -> list[Any] | None:
        """The messages that have come; None at the end of the connection."""
        try:
            data = self.sock.recv(READ_BYTES)
            return self._frames.feed(data) if data else None
        except BlockingIOError:
            return []
        except (OSError, framing.Unreadable):
            return None

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
