"""The event loop of one concurrency group of an asyncio actor, in a thread of its own: it holds up no other group."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from nbaccel.local_engine.worker.execution import Running

Call = Callable[["GroupLoop", Running], Coroutine[Any, Any, None]]


class GroupLoop:
    """Begins calls in order of arrival; at most `size` of them are unfinished."""

    def __init__(self, name: str, size: int, call: Call, on_exit: Callable[[SystemExit], Any]) -> None:
        self.loop = asyncio.new_event_loop()
        self.limit = asyncio.Semaphore(size)
        self._call = call
        self._on_exit = on_exit
        self._arrived: deque[Running] = deque()  # calls that the loop has not begun yet
        self._woken = False
        self._flush_due = False
        name = f"nbaccel-asyncio-{name}" if name else "nbaccel-asyncio"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        except SystemExit as exit:  # of an asyncio task that a call started: asyncio lets it leave the loop
            self._on_exit(exit)

    def take(self, running: Running) -> None:
        """Take a new call. The main thread calls this."""
        self._arrived.append(running)
        if not self._woken:  # one wake-up for all calls since the last one
            self._woken = True
            self.loop.call_soon_threadsafe(self._begin_arrived)

    def _begin_arrived(self) -> None:
        self._woken = False
        while self._arrived:
            running = self._arrived.popleft()
            running.asyncio_task = self.loop.create_task(self._call(self, running))

    def cancel(self, running: Running) -> None:
        if running.asyncio_task is not None:
            self.loop.call_soon_threadsafe(running.asyncio_task.cancel)

    def flush_soon(self, flush: Callable[[], None]) -> None:
        """Send the results of one turn of the loop together. Called in the loop."""
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush, flush)

    def _flush(self, flush: Callable[[], None]) -> None:
        self._flush_due = False
        flush()
