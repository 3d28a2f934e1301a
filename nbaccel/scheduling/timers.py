"""What is to happen later: a heap of times, and the earliest wake-up that has been asked for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from nbaccel.scheduling.commands import Command, WakeAt

NEVER = float("inf")


class Timers:
    """Calls `action(subject, now)` once its time has come; the caller's clock says so by TimePassed."""

    def __init__(self, out: list[Command]) -> None:
        self._out = out
        self.heap: list[tuple[float, int, Callable[[Any, float], None], Any]] = []
        self._number = count()
        self.asked_for = NEVER

    def at(self, when: float, action: Callable[[Any, float], None], subject: Any) -> None:
        heappush(self.heap, (when, next(self._number), action, subject))

    def ask(self) -> None:
        """Asks for the earliest time, which nobody has asked for."""
        self.asked_for = self.heap[0][0]
        self._out.append(WakeAt(self.asked_for))

    def run(self, now: float) -> None:
        self.asked_for = NEVER
        heap = self.heap
        while heap and heap[0][0] <= now:
            _, _, action, subject = heappop(heap)
            action(subject, now)
