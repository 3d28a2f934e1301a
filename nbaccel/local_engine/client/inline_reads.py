"""Who reads an actor's replies: the thread of all connections, or a thread that waits for the only call under way.

```
  waiting thread   left to it ── poll ── receive ── note ──► has its value       nobody else is woken for it
  our thread       at its next look, or when rung ── take what was received ──► open calls, waiters, head
```
The waiting thread takes nothing of what it receives, so that an exception between any two of its steps loses nothing:
what it has read lies in the connection's `came`, and our thread takes it as if it had read it itself. The waiting
thread only looks into whole frames, and notes the value that it waits for. Whatever else has come, it leaves that to
our thread and waits as for any object.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.actor_connection import ActorConnection, OpenCall
from nbaccel.local_engine.client.values import Values
from nbaccel.waits.interruptible import SLICE_S

HERE_S = SLICE_S  # how long a thread waits at a connection; a longer call would gain nothing


class InlineReads:
    """What our thread listens to, without the connections that are left to a thread that waits."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._lock = threading.Lock()  # held while a connection changes hands, and while our thread reads it
        self._left: dict[ActorConnection, None] = {}
        self._settling: list[threading.Event] = []
        self._others_wait = False
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            self._news = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # rung when the head takes a call
        except OSError:
            os.close(self._bell)
            raise
        self._epoll.register(self._bell, select.EPOLLIN)
        self._is_taking = False  # our thread takes what others have received
        self.sleeps = False  # our thread, until it is rung; only that thread writes this
        self.has_ended = False  # our thread

    def ring(self) -> None:
        """Let our thread look."""
        if not self.has_ended:
            os.eventfd_write(self._bell, 1)

    # ---- a thread that waits

    def read(self, id: bytes, call: OpenCall) -> bool:
        """Wait a moment for the reply to the only call under way; False if it is not here then."""
        connection = call.connection
        if not self._leave_to_us(connection):
            return False
        was_clear = connection.is_clear  # before we look for the value: what came before is either unseen, or known
        is_here = self._values.known_here(id) is not None
        if was_clear and not is_here and not call.over and not self._values.is_awaited(id):
            is_here = self._read(id, call)
        connection.left_until = 0.0
        if not is_here or self._others_wait:
            self.ring()
        return is_here

    def _leave_to_us(self, connection: ActorConnection) -> bool:
        if self.sleeps:
            self.ring()  # first: our thread takes back what an interrupt keeps us from giving back
        with self._lock:
            if self.has_ended or not connection.is_open:
                return False
            connection.left_until = time.monotonic() + HERE_S
            if connection not in self._left:
                self._left[connection] = None
                self._listen(connection)
        return True

    def _read(self, id: bytes, call: OpenCall) -> bool:
        connection = call.connection
        poll = select.poll()
        try:
            poll.register(connection.sock, select.POLLIN)
            poll.register(self._news, select.POLLIN)
        except ValueError:
            return False  # it was closed in this moment
        if not poll.poll(HERE_S * 1000):
            return False
        with self._lock:
            if connection not in self._left:
                return False  # we came too late: it was taken back
            connection.receive()
        data, replies = connection.latest()
        if len(replies) != 1 or replies[0].task_id != call.task_id:
            return False
        self._values.note(id, wire.Value(wire.OK, replies[0].data))
        connection.is_seen(data)
        return True

    def others_wait(self) -> None:
        """Somebody is to be called when a value is there: our thread has to take it soon."""
        if self._left:
            self._others_wait = True
            self.ring()

    def settle(self) -> None:
        """Wait until our thread has taken what others have received. Not for our thread."""
        if not (any(connection.came for connection in list(self._left)) or self._is_taking):
            return
        settled = threading.Event()
        self._settling.append(settled)
        self.ring()
        while not settled.wait(SLICE_S) and not self.has_ended:
            pass

    # ---- the link's reader thread

    def call_is_over(self) -> None:
        """A call will get no reply on its connection: nobody is to wait for it there."""
        if self._left and not self.has_ended:
            os.eventfd_write(self._news, 1)

    # ---- our thread

    def add(self, connection: ActorConnection) -> None:
        """Listen to a connection."""
        self._epoll.register(connection.sock, select.EPOLLIN)

    def drop(self, connection: ActorConnection) -> None:
        """Close a connection."""
        with self._lock:
            self._left.pop(connection, None)
            self._epoll.unregister(connection.sock)
            connection.sock.close()

    def poll(self, timeout_s: float) -> list[tuple[int, int]]:
        """Wait until something comes, or to be rung. Returns the descriptors with what they are ready for."""
        events = self._epoll.poll(-1 if self.sleeps else timeout_s)
        self.sleeps = False
        if any(fd == self._bell for fd, _kind in events):
            os.eventfd_read(self._bell)
        return events

    def is_bell(self, fd: int) -> bool:
        return fd == self._bell

    def receive(self, connection: ActorConnection) -> None:
        """Read what has come, unless that is left to a thread that waits."""
        with self._lock:
            if connection not in self._left:
                connection.receive()

    def take_received(self) -> Iterator[ActorConnection]:
        """The connections that were left to a thread that waits. Where none waits any more, they are ours again.

        First that, then what was received is taken: so nothing that was received is left behind.
        """
        settling = self._settling[:]
        del self._settling[: len(settling)]
        if self._left:
            self._is_taking = True
            yield from self._take_back()
            self._is_taking = False
        for settled in settling:
            settled.set()

    def _take_back(self) -> list[ActorConnection]:
        with self._lock:
            left = list(self._left)
            now = time.monotonic()
            for connection in left:
                if connection.left_until < now:
                    del self._left[connection]
                    self._listen(connection)
            self._others_wait = self._others_wait and bool(self._left)
            if not self._left:
                self._forget_news()
        return left

    def _forget_news(self) -> None:
        """Nobody waits here: what was rung is over."""
        try:
            os.eventfd_read(self._news)
        except BlockingIOError:
            pass

    def note_full(self, connection: ActorConnection, is_full: bool) -> None:
        """Whether the actor has to read before we can write more."""
        if connection.is_full != is_full:
            with self._lock:
                connection.is_full = is_full
                self._listen(connection)

    def _listen(self, connection: ActorConnection) -> None:
        reads = 0 if connection in self._left else select.EPOLLIN
        self._epoll.modify(connection.sock, reads | (select.EPOLLOUT if connection.is_full else 0))

    def are_any_left(self) -> bool:
        return bool(self._left)

    def ends(self) -> None:
        """Our thread ends: nobody waits for it any more."""
        with self._lock:
            self.has_ended = True

    def close(self) -> None:
        """Close the descriptors of our thread, which has ended, or is none of this process."""
        self.has_ended = True
        self._epoll.close()
        os.close(self._bell)
        os.close(self._news)
