"""What a run's thread waits for: refs that become ready, what other threads want, and a time."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

Happened = Callable[[], None]


class Inbox:
    """Whatever happens is a function that the run's own thread calls, one after the other."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Happened] = queue.SimpleQueue()

    def put(self, happened: Happened) -> None:
        """For any thread."""
        self._queue.put(happened)

    def next(self, until: float | None) -> Happened | None:
        """What happens next; None when the time (of the monotonic clock) comes first."""
        timeout = None if until is None else max(0.0, until - time.monotonic())
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def when(self, ref: Any, told: Callable[[Future[Any]], None], still: Callable[[], bool]) -> None:
        """Call `told` once the ref is ready, if it is `still` of interest then."""

        def ready(future: Future[Any]) -> None:
            self.put(lambda: told(future) if still() else None)

        ref.future().add_done_callback(ready)
