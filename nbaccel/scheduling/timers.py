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
        self._heap: list[tuple[float, int, Callable[[Any, float], None], Any]] = []
        self._number = count()
        self._asked_for = NEVER

    def at(self, when: float, action: Callable[[Any, float], None], subject: Any) -> None:
        heappush(self._heap, (when, next(self._number), action, subject))

    def ask(self) -> None:
        """Asks for the earliest time, unless one as early has been asked for."""
        if self._heap and self._heap[0][0] < self._asked_for:
            self._asked_for = self._heap[0][0]
            self._out.append(WakeAt(self._asked_for))

    def run(self, now: float) -> None:
        self._asked_for = NEVER
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, _, action, subject = heappop(heap)
            action(subject, now)
