"""A worker's link to the head: the worker's main thread reads messages itself while it has no task to run.

```
  main thread   reads ── Run ──► runs the task ── Done ──► reads …       one wake-up from message to user code
  reader        stands by ······ takes over when the task lasts, or waits for an answer ··· until main is idle again
```
Passing each message from a reader to the main thread would cost one more wake-up for every task. Only the thread that
holds the turn reads. The reader gives the turn back only when the main thread is busy, or has it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from nbaccel.local_engine.client.link import READ_BYTES, Link, block_signals
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.worker.reading_turns import ReadingTurns

LASTS_S = 0.002  # a task that has run for so long is not a short one


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
        self._inbox = inbox
        self._lasts_s = lasts_s
        self._frames = framing.FrameReader(self.far_end.decode)
        self._turn = threading.Lock()
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._turns = ReadingTurns()

    # ---- the main thread

    def next_item(self) -> Any:
        """Return the next item that the receivers put into the inbox."""
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

    def say(self, message: Any) -> None:
        super().say(message)
        self._call_reader()

    def say_at_once(self, message: Any) -> None:
        super().say_at_once(message)
        self._call_reader()

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
        while not turns.is_tired():
            begun = turns.begun
            called = self._called_within(self._lasts_s)
            if turns.is_wanted(begun, called):
                self._read_beside(turns.begun)
        return not turns.falls_asleep()

    def _called_within(self, seconds: float) -> bool:
        try:
            self._calls.get(timeout=seconds)
        except Empty:
            return False
        return True

    def _read_beside(self, begun: int) -> None:
        """Read until the main thread has another task to run, or reads itself."""
        turns = self._turns
        turns.reads()  # a reading thread need not be woken
        while self._turn.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._turn.release()
            if not turns.goes_on(begun, has_brought=not self._inbox.empty()):
                break
        turns.stops()

    # ---- both, in turns

    def _read(self) -> None:
        """Read the next messages and pass them to their receivers."""
        why = f"{self.far_end.name} closed the connection"
        try:
            data = self._sock.recv(READ_BYTES)
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
