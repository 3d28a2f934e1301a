"""Collects cycles when the head asks for it: a ref that only a cycle keeps alive still keeps its object.

The collection runs in a thread of its own: finalisers are user code and may take long. A request that comes meanwhile
has a collection of its own after it, since the program goes on and makes new cycles.
"""

from __future__ import annotations

import gc
import threading

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.wire.driver_questions import GarbageCollected, told


class GarbageCollector:
    """Answers CollectGarbage."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._newest: int | None = None  # the request that was made last, until it is answered
        self._is_busy = False
        link.receivers[wire.CollectGarbage] = self._asked

    def _asked(self, message: wire.CollectGarbage) -> None:
        with self._lock:
            self._newest = message.number
            if self._is_busy:
                return
            self._is_busy = True
        threading.Thread(target=self._collect, name="nbaccel-garbage", daemon=True).start()

    def _collect(self) -> None:
        while (number := self._next()) is not None:
            try:
                gc.collect()
            finally:
                self._link.flush()  # the released refs are sent before the answer
                self._link.say(told(GarbageCollected(number)))

    def _next(self) -> int | None:
        """The request to be answered next; None: there is none, and the next one starts another thread."""
        with self._lock:
            number, self._newest = self._newest, None
            self._is_busy = number is not None
            return number
