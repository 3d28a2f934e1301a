"""A caller's end of the connection to one actor, and what keeps the calls of that actor in order.

Calls reach an actor through the head, or directly on this connection. A call is sent directly only when all that went
through the head have come back; a call through the head names the number of direct ones before it, and waits for them
at the actor. So nobody waits for a reply before the next call may leave.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import WHOLE_BYTES
from nbaccel.local_engine.wire import framing

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
BATCH = 500  # calls in one frame
END = b""  # of a connection
_MOST = (READ_BYTES,)


class ActorConnection:
    """How the calls of this process reach one actor. The socket never blocks: what it does not take waits here."""

    sock: socket.socket  # from `open` on

    def __init__(self, actor_id: bytes) -> None:
        self.actor_id = actor_id
        self.lock = threading.Lock()  # held from the choice of the way until the call is queued
        self.is_requested = False  # of the head
        self.is_open = False  # changes twice, under `lock`
        self.is_stopped = False  # what is sent to the head next must not be overtaken
        self.sent = 0  # calls that were sent directly
        self._at_head: dict[object, None] = {}  # calls that went through the head and have not come back, in order
        self.templates: set[int] = set()  # of calls that went through the head
        # The socket.
        self.outbox: deque[Any] = deque()
        self.templates_sent: set[int] = set()  # that the actor knows
        self.is_full = False  # the thread waits until the socket takes more
        self.came: deque[bytes] = deque()  # what was read and is not taken yet, in its order; END is the last one
        self.is_clear = True  # nothing in `came` but whole frames whose replies were seen
        self.left_until = 0.0  # a thread that waits reads until then (monotonic seconds)
        self._pending = bytearray()
        self._frames = framing.FrameReader(wire.decode_to_caller)
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()

    def open(self, sock: socket.socket) -> None:
        """The connection is there."""
        sock.setblocking(False)
        self.sock = sock
        self.is_open = True

    # ---- the order of calls

    def is_free(self, template: int) -> bool:
        """Whether a call may be direct: the head knows its terms, and nothing is under way through the head."""
        return self.is_open and not self._at_head and template in self.templates and not self.is_stopped

    def went_through_head(self, call: object, template: int) -> None:
        """A call goes through the head. `lock` is held."""
        self.templates.add(template)
        self._at_head[call] = None

    def came_back(self, call: object, *, has_run: bool) -> None:
        """Its result is there. If it has run, so have those before it: the actor runs them in their order.

        One that failed may never have reached the actor, and have overtaken others on its way back.
        """
        with self.lock:
            if has_run and call in self._at_head:
                while next(iter(self._at_head)) != call:
                    del self._at_head[next(iter(self._at_head))]
            self._at_head.pop(call, None)

    # ---- writing

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

    # ---- reading

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

    def latest(self) -> tuple[bytes, list[wire.DirectReply]]:
        """What came last, and its replies if it is a whole frame. It stays for the thread that takes it."""
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

    def take(self) -> Iterator[list[wire.DirectReply] | None]:
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

    # ---- the end

    def stop_reading(self) -> None:
        """Nothing more will come: what has arrived can still be read, and then the end."""
        try:
            self.sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # it has ended already


class OpenCall(msgspec.Struct, eq=False, gc=False):
    """A direct call that has not come back."""

    task_id: bytes
    id: bytes  # of its result
    template: int
    connection: ActorConnection
    sent_at: float  # Unix seconds
    sent: bool = False  # its message is on the way; False if an interrupt came before
    reported: bool = False  # to the head
    over: bool = False  # it has come back, the head answers for it, or it is forgotten
    promised: bool = False  # others may ask the head for its result
    failure: wire.ObjectValue | None = None  # from the head, kept while the actor's own reply may still be read

    def report(self, times: list[float] | None = None, value: wire.Value | None = None) -> wire.DirectCall:
        """What the head learns of it."""
        actor_id = self.connection.actor_id
        return wire.DirectCall(self.task_id, self.template, actor_id, self.sent_at, times or [], value)
