"""Streams that nobody reads on: their tasks are cancelled, since Ray lets them run to an end that may never come.

A stream's `__del__` runs at any moment, also while Ray holds its locks: it only appends, and a thread asks Ray.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import ray

STOP_TIMEOUT_S = 5.0


class Abandoned:
    """Those of one engine."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def expect(self) -> None:
        """A stream was opened: it may be left one day."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="nbaccel-streams", daemon=True)
            self._thread.start()

    def left(self, inner: Any) -> None:
        """Nobody reads on in this stream of Ray's. Takes no lock."""
        self._queue.put(inner)

    def stop(self) -> None:
        """Before Ray is left."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        while (inner := self._queue.get()) is not None:
            if ray.is_initialized():  # or asking would start a Ray
                with suppress(ray.exceptions.RayError, RuntimeError):  # the cluster is gone, and the task with it
                    ray.cancel(inner, recursive=False)
            del inner
