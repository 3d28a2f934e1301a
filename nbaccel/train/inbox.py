"""The events that a run's thread waits for: refs that become ready, calls from other threads, and a time."""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

Happened = Callable[[], None]


class Inbox:
    """Every event is a function; the run's own thread calls them one after the other."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Happened] = queue.SimpleQueue()
        # Here and not in the futures' callbacks, which live as long as the engine knows of the futures.
        self._waiting: dict[int, tuple[Callable[[Future[Any]], None], Callable[[], bool]]] = {}
        self._numbers = itertools.count()
        self._is_closed = False

    def put(self, happened: Happened) -> None:
        """Add an event, from any thread."""
        if not self._is_closed:
            self._queue.put(happened)
        if self._is_closed:  # meanwhile: the closing thread may not have seen it
            self._drop_all()

    def next(self, until: float | None) -> Happened | None:
        """Wait for the next event; None if the time (of the monotonic clock) comes first."""
        timeout = None if until is None else max(0.0, until - time.monotonic())
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def when(self, ref: Any, told: Callable[[Future[Any]], None], still: Callable[[], bool]) -> None:
        """Call `told` once the ref is ready, if `still` is true then."""

        number = next(self._numbers)
        self._waiting[number] = (told, still)
        ref.future().add_done_callback(lambda future: self.put(lambda: self._ready(number, future)))

    def _ready(self, number: int, future: Future[Any]) -> None:
        told, still = self._waiting.pop(number, (None, None))
        if told is not None and still is not None and still():
            told(future)

    def close(self) -> None:
        """Drop all events, those to come as well.

        Waiting events are dropped because they hold errors, whose frames hold refs: a view that shows the ended run
        would keep the objects.
        """
        self._is_closed = True
        self._waiting.clear()
        self._drop_all()

    def _drop_all(self) -> None:
        try:
            while True:
                self._queue.get_nowait()
        except queue.Empty:
            return
