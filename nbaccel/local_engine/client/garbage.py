"""Collects cycles when the head asks for it: a ref that only a cycle keeps alive still keeps its object.

The collection runs in a thread of its own: finalisers are user code and may take long.
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
        self._busy = False
        link.receivers[wire.CollectGarbage] = self._asked

    def _asked(self, message: wire.CollectGarbage) -> None:
        if not self._busy:
            self._busy = True
            threading.Thread(target=self._collect, name="nbaccel-garbage", daemon=True).start()

    def _collect(self) -> None:
        try:
            gc.collect()
        finally:
            self._busy = False
            self._link.flush()  # the released refs are sent before the answer
            self._link.say(told(GarbageCollected()))
