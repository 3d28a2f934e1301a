"""A worker's link to the head: the worker's main thread reads messages itself while it has no task to run.

```
  main thread   reads ── Run ──► runs the task ── Done ──► reads …       one wake-up from message to user code
  reader        stands by ······ takes over when the task lasts, or waits for an answer ··· until main is idle again
```
Passing each message from a reader to the main thread would cost one more wake-up for every task. Only the thread that
holds the turn reads. The reader gives the turn back only when the main thread is busy, or has it.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.client.link import Link, above_standard_streams, block_signals
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.worker.reading_turns import LOOKS, ReadingTurns
from nbaccel.local_engine.worker.straight_inbox import LEAVE, NOTHING, StraightInbox
from nbaccel.scheduling.terms import Terms

LASTS_S = 0.002  # a task that has run for so long is not a short one
LOOK_MS = 100  # how long the main thread waits at most for a reader that rings


class StraightRun:
    """A call that came straight and runs."""

    __slots__ = ("_begun_at", "_call", "is_told", "straight")

    def __init__(self, call: wire.StraightSubmit, straight: StraightInbox, begun_at: float) -> None:
        self.is_told = False  # the head knows of it; noted when it ends
        self.straight = straight
        self._call = call
        self._begun_at = begun_at

    def told(self) -> wire.CallTold:
        """What the head is told of it."""
        call = self._call
        return wire.CallTold(wire.StraightCall(call.task_id, call.template, self.straight.actor_id, self._begun_at))


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
        self._frames = framing.FrameReader(self.far_end.decode)
        self._turn = threading.Lock()
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._turns = ReadingTurns()
        self.straight: StraightInbox | None = None
        self._bell = -1  # rung by the reader, for a main thread that waits for both connections
        self._runs: dict[bytes, StraightRun] = {}  # what came straight and runs
        self._untold: dict[bytes, StraightRun] = {}  # those of which the head does not know
        self._call_lock = threading.RLock()

    # ---- the main thread

    def next_item(self) -> Any:
        """Return the next item that the receivers put into the inbox, or that came straight from a caller.

        NOTHING is an item too: who may call this process straight has changed.
        """
        return self._next() if self.straight is None else self._next_of_both(self.straight)

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

    def _next_of_both(self, straight: StraightInbox) -> Any:
        while (item := straight.next_of(self._inbox)) is None:
            self._turns.idles()
            if self._turn.acquire(blocking=False):
                try:
                    self._read_both(straight)
                finally:
                    self._turn.release()
            else:  # the reader reads from the head
                self._wait(straight, self._bell, LOOK_MS)
            if straight.trouble:
                self._lose(straight.trouble)
        if self._turns.begins():
            self._calls.put(None)
        return None if item is LEAVE else item

    def _read_both(self, straight: StraightInbox) -> None:
        if self._wait(straight, self._sock.fileno(), None):
            self._read()

    def _wait(self, straight: StraightInbox, other: int, timeout_ms: int | None) -> bool:
        """Wait for the caller or another descriptor; read what the caller sent. Returns whether the other is ready."""
        poll = select.poll()
        poll.register(other, select.POLLIN)
        if not straight.has_ended:
            poll.register(straight.sock, select.POLLIN)
        ready = [fd for fd, _kind in poll.poll(timeout_ms)]
        if other == self._bell and other in ready:
            os.eventfd_read(other)
        if straight.sock.fileno() in ready:
            straight.read()
        return other in ready

    def connect(self, message: wire.Connected) -> None:
        """A caller's connection has come."""
        sock = self.take_socket(message.socket)
        if sock is None:
            raise OSError("this process has no free descriptor for it: it keeps too many files open")
        self._bell = above_standard_streams(os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
        self.straight = StraightInbox(sock, message.actor_id)
        self._inbox.put(NOTHING)  # the main thread waits for both from now on

    # ---- what a straight call says

    def begin(self, call: wire.StraightSubmit) -> tuple[wire.RunTask, Terms]:
        """Begin what came straight. Returns what is to be run, and its terms."""
        straight = self.straight
        assert straight is not None
        began = StraightRun(call, straight, time.time())
        self._runs[call.task_id] = self._untold[call.task_id] = began  # it is told before anything else is said
        run = wire.RunTask(call.task_id, call.template, call.args, actor_id=straight.actor_id)
        return run, straight.templates[call.template]

    def ends_straight(self, task_id: bytes) -> StraightRun | None:
        """What came straight has ended. Returns it; None if this task came through the head."""
        call = self._runs.pop(task_id, None)
        if call is not None:
            with self._call_lock:
                call.is_told = self._untold.pop(task_id, None) is None
        return call

    def tell_of_calls(self) -> None:
        """Say which straight calls run, of those of which that was not said: any of them may be speaking."""
        with self._call_lock:
            while self._untold:
                self._outbox.append(self._untold.popitem()[1].told())

    def say(self, message: Any) -> None:
        if self._untold:
            self.tell_of_calls()
        super().say(message)
        self._call_reader()

    def say_at_once(self, message: Any) -> None:
        if self._untold:
            self.tell_of_calls()
        super().say_at_once(message)
        self._call_reader()

    def say_later(self, message: Any) -> None:
        if type(message) is wire.Progress:
            self.tell_of_calls()
        super().say_later(message)

    def forget(self) -> None:
        super().forget()
        if self.straight is not None:
            self.straight.sock.close()

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
        why = f"{self.far_end.name} closed the connection"
        try:
            data = self._receive()
            if data:
                receivers = self.receivers
                for message in self._frames.feed(data):
                    receivers[type(message)](message)
                return
        except OSError as error:
            why = f"reading from {self.far_end.name} failed: {error}"
        except framing.Unreadable as error:
            why = f"{self.far_end.name} sent what this version of nbaccel cannot read: {error}"
        except Exception as error:  # the link is lost, so that no waiting call hangs
            why = f"an answer of {self.far_end.name} could not be taken: {type(error).__name__}: {error}"
        self._lose(why)
        threading.Event().wait()  # the callback for a lost link ends the process
