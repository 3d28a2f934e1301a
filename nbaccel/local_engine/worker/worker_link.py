"""A worker's link to the head: the worker's main thread reads messages itself while it has no task to run.

```
  main thread   reads ── Run ──► runs the task ── Done ──► reads …       one wake-up from message to user code
  reader        stands by ······ takes over when the task lasts, or waits for an answer ··· until main is idle again
```
Passing each message from a reader to the main thread would cost one more wake-up for every task. Only the thread that
holds the turn reads. The reader gives the turn back only when the main thread is busy, or has it.

Who of a worker's two threads reads its link next: what each of them is at, as states with their moves.
```
  main thread   IDLE ── begin ──► WORKS ── idle ──► IDLE
  reader        SLEEPS ── begin (woken) ──► STANDS_BY ◄── main is idle ── CALLED
                  ▲                           │  │  ▲                       ▲
                  └── LOOKS times idle ───────┘  │  └── stop ── READS       │
                                                 ├── read, when called or when work lasts ──► READS
                                                 └── wait (the main thread awaits an answer) ──┘
```
An idle main thread reads by itself. The reader takes over while it works: at once when it is called, else when the work
has lasted for one look. Each state is written by one thread at a time but `reader`, which both write: a call that the
reader overlooks costs one look, since it finds the main thread at the same work then. `MOVES` is the whole table.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any

from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.client.link import Link, above_standard_streams, block_signals
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.worker.direct_calls import LEAVE, NOTHING, DirectCallReceiver
from nbaccel.scheduling.terms import Terms

LOOKS = 4  # the reader sleeps after finding the main thread idle so often: to wake it costs less than more looks


class Main(Enum):
    """What the main thread is at."""

    IDLE = "idle"  # it reads, or waits for a message from the reader
    WORKS = "works"


class Reader(Enum):
    """What the reader is at."""

    SLEEPS = "sleeps"  # until it is woken, however long
    STANDS_BY = "stands by"  # it checks the main thread from time to time
    CALLED = "called"  # it was woken and has not taken its turn yet
    READS = "reads"


State = Main | Reader
MOVES: dict[tuple[State, str], State] = {
    (Main.IDLE, "idle"): Main.IDLE,
    (Main.IDLE, "begin"): Main.WORKS,
    (Main.WORKS, "begin"): Main.WORKS,
    (Main.WORKS, "idle"): Main.IDLE,
    (Reader.SLEEPS, "begin"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "begin"): Reader.STANDS_BY,
    (Reader.CALLED, "begin"): Reader.CALLED,
    (Reader.READS, "begin"): Reader.READS,
    (Reader.SLEEPS, "wait"): Reader.CALLED,
    (Reader.STANDS_BY, "wait"): Reader.CALLED,
    (Reader.CALLED, "wait"): Reader.CALLED,
    (Reader.READS, "wait"): Reader.READS,
    (Reader.STANDS_BY, "look"): Reader.STANDS_BY,
    (Reader.CALLED, "look"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "read"): Reader.READS,
    (Reader.CALLED, "read"): Reader.READS,
    (Reader.READS, "stop"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "sleep"): Reader.SLEEPS,
    (Reader.SLEEPS, "stay"): Reader.STANDS_BY,
}

# Enum members cost a Python-level lookup each time they are named on Python 3.11, and these are named for each task.
_IDLE, _WORKS = Main.IDLE, Main.WORKS
_SLEEPS, _STANDS_BY, _CALLED, _READS = Reader.SLEEPS, Reader.STANDS_BY, Reader.CALLED, Reader.READS


class SocketOwner:
    """The two states, and what each thread does next."""

    __slots__ = ("begun", "looks", "main", "reader")

    def __init__(self) -> None:
        self.main = _IDLE
        self.reader = _SLEEPS
        self.begun = 0  # how many tasks the main thread has begun
        self.looks = 0  # how often the reader found the main thread idle

    # ---- the main thread

    def idles(self) -> None:
        """It has nothing to run."""
        self.main = _IDLE

    def begins(self) -> bool:
        """It has something to run; whether it has to wake the reader."""
        self.main = _WORKS
        self.begun += 1
        if self.reader is not _SLEEPS:
            return False
        self.reader = _STANDS_BY
        return True

    def waits(self) -> bool:
        """It has said something, and may wait for an answer; whether it has to call the reader."""
        if self.main is _IDLE or self.reader is _CALLED or self.reader is _READS:
            return False
        self.reader = _CALLED
        return True

    # ---- the reader

    def is_wanted(self, begun: int, called: bool) -> bool:
        """The reader looks: has it to read, when so much had been `begun` at its last look?"""
        if self.main is _IDLE:
            self.looks += 1
            self.reader = _STANDS_BY
            return False
        if not called and self.begun != begun:
            return False
        self.looks = 0
        return True

    def reads(self) -> None:
        self.reader = _READS

    def stops(self) -> None:
        self.reader = _STANDS_BY

    def goes_on(self, begun: int, *, has_brought: bool) -> bool:
        """The reader has read once: does it read again? An idle main thread that wanted the turn waits for it."""
        return not has_brought and (self.begun == begun or self.main is _IDLE)

    def falls_asleep(self) -> bool:
        """Whether the reader may sleep now. The main thread may have begun something, and thought it awake."""
        self.looks = 0
        self.reader = _SLEEPS
        if self.main is _IDLE:
            return True
        self.reader = _STANDS_BY
        return False


LASTS_S = 0.002  # a task that has run for so long is not a short one
LOOK_MS = 100  # how long the main thread waits at most for a reader that rings


class WorkerLink(Link):
    """A Link whose main thread calls `next_item` for its work, which receivers put into `inbox`."""

    def __init__(
        self,
        sock: socket.socket,
        inbox: SimpleQueue[Any],
        *,
        on_lost: Callable[[str], None],
        lasts_s: float = LASTS_S,
    ) -> None:
        super().__init__(sock, on_lost=on_lost)
        self.receivers[wire.Trim] = lambda message: memory.trim()
        self.receivers[wire.Connected] = self.connect
        self._inbox = inbox
        self._lasts_s = lasts_s
        self._frames = framing.FrameReader(wire.decode_to_client)
        self._turn = threading.Lock()
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._turns = SocketOwner()
        self.direct: DirectCallReceiver | None = None  # once a driver may call this process directly
        self._bell = -1  # rung by the reader, for a main thread that waits for both connections

    # ---- the main thread

    def next_item(self) -> Any:
        """Return the next item that the receivers put into the inbox, or that came directly from a caller.

        NOTHING is an item too: who may call this process directly has changed.
        """
        return self._next() if self.direct is None else self._next_of_both(self.direct)

    def _next(self) -> Any:
        inbox = self._inbox
        if inbox.empty():
            self._turns.idles()
            if self._turn.acquire(blocking=False):
                try:
                    while inbox.empty():
                        self._read()
                finally:
                    self._turn.release()
        item = inbox.get()  # waits only while the reader reads; it goes on while this thread is idle
        if self._turns.begins():
            self._calls.put(None)
        return item

    def _next_of_both(self, direct: DirectCallReceiver) -> Any:
        while (item := direct.next_of(self._inbox)) is None:
            self._turns.idles()
            if self._turn.acquire(blocking=False):
                try:
                    self._read_both(direct)
                finally:
                    self._turn.release()
            else:  # the reader reads from the head
                self._wait(direct, self._bell, LOOK_MS)
            if direct.trouble:
                self._lose(direct.trouble)
        if self._turns.begins():
            self._calls.put(None)
        return None if item is LEAVE else item

    def _read_both(self, direct: DirectCallReceiver) -> None:
        if self._wait(direct, self._sock.fileno(), None):
            self._read()

    def _wait(self, direct: DirectCallReceiver, other: int, timeout_ms: int | None) -> bool:
        """Wait for the caller or another descriptor; read what the caller sent. Returns whether the other is ready."""
        poll = select.poll()
        poll.register(other, select.POLLIN)
        if not direct.has_ended:
            poll.register(direct.sock, select.POLLIN)
        ready = [fd for fd, _kind in poll.poll(timeout_ms)]
        if other == self._bell and other in ready:
            os.eventfd_read(other)
        if direct.sock.fileno() in ready:
            direct.read()
        return other in ready

    def connect(self, message: wire.Connected) -> None:
        """A caller's connection has come."""
        sock = self.take_socket(message.socket)
        if sock is None:
            raise OSError("this process has no free descriptor for it: it keeps too many files open")
        self._bell = above_standard_streams(os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
        self.direct = DirectCallReceiver(sock, message.actor_id, self)
        self._inbox.put(NOTHING)  # the main thread waits for both from now on

    # ---- direct calls

    def begin(self, call: wire.DirectSubmit) -> tuple[wire.RunTask, Terms]:
        """Begin what came directly. Returns what is to be run, and its terms."""
        assert self.direct is not None
        return self.direct.begin(call)

    def reply(self, done: wire.Done) -> bool:
        """Send the result of a direct call; False if the task came through the head."""
        return self.direct is not None and self.direct.reply(done)

    def hold_reply(self, done: wire.Done) -> bool:
        """The same with the next `flush_replies`."""
        return self.direct is not None and self.direct.hold(done)

    def flush_replies(self) -> None:
        """Send what is queued for the head, and then the replies that were held."""
        if self.direct is None:
            self.flush()
        else:
            self.direct.flush()

    def send(self, message: Any) -> None:
        if self.direct is not None and self.direct.unreported:
            self.direct.report()
        super().send(message)
        self._call_reader()

    def send_at_once(self, message: Any) -> None:
        if self.direct is not None and self.direct.unreported:
            self.direct.report()
        super().send_at_once(message)
        self._call_reader()

    def send_later(self, message: Any) -> None:
        if type(message) is wire.Progress and self.direct is not None:
            self.direct.report()
        super().send_later(message)

    def forget(self) -> None:
        super().forget()
        if self.direct is not None:
            self.direct.sock.close()

    def _call_reader(self) -> None:
        """Wake the reader, because an answer may come while the main thread works."""
        if self._turns.waits():
            self._calls.put(None)

    # ---- the reader

    def _read_loop(self) -> None:
        block_signals()
        while True:
            self._calls.get()
            while self._stand_by():
                pass

    def _stand_by(self) -> bool:
        """Read while the main thread is busy for long. False: it has been idle for long, so the reader sleeps."""
        turns = self._turns
        while turns.looks < LOOKS:
            begun, called = turns.begun, True
            try:
                self._calls.get(timeout=self._lasts_s)
            except Empty:
                called = False
            if turns.is_wanted(begun, called):
                self._read_beside(turns.begun)
        return not turns.falls_asleep()

    def _read_beside(self, begun: int) -> None:
        """Read until the main thread has another task to run, or reads itself."""
        turns = self._turns
        turns.reads()  # a reading thread need not be woken
        while self._turn.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._turn.release()
            if self._bell >= 0 and not self._inbox.empty():
                os.eventfd_write(self._bell, 1)
            if not turns.goes_on(begun, has_brought=not self._inbox.empty()):
                break
        turns.stops()

    # ---- both, in turns

    def _read(self) -> None:
        """Read the next messages and pass them to their receivers."""
        why = "the head closed the connection"
        try:
            data = self._receive()
            if data:
                receivers = self.receivers
                for message in self._frames.feed(data):
                    receivers[type(message)](message)
                return
        except OSError as error:
            why = f"reading from the head failed: {error}"
        except framing.Unreadable as error:
            why = f"the head sent what this version of nbaccel cannot read: {error}"
        except Exception as error:  # the link is lost, so that no waiting call hangs
            why = f"an answer of the head could not be taken: {type(error).__name__}: {error}"
        self._lose(why)
        threading.Event().wait()  # the callback for a lost link ends the process
