"""The number of waiting tasks over time: means over a fixed number of steps, whose width grows."""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence, Sequence
from itertools import accumulate

STEPS = 240
FIRST_STEP_S = 0.5


class Waits:
    """Adds each wait in constant time; sums are computed when somebody asks."""

    def __init__(self) -> None:
        self.origin: float | None = None
        self.step_s = FIRST_STEP_S
        self._levels = _of([])  # by how much the number changes where a step begins
        self._parts = _of([])  # of waits that begin or end inside of a step, their share of it

    def add(self, began: float, ended: float, number: int = 1) -> None:
        """Add tasks that waited from `began` to `ended`."""
        if self.origin is None:
            self.origin = began
        self._reach(max(began, ended))
        self._change(self._levels, self._parts, began, number)
        self._change(self._levels, self._parts, ended, -number)

    def means(self, waiting: Sequence[float], now: float) -> list[float]:
        """The mean number in each step up to now; `waiting` are the starts of waits that have not ended."""
        if self.origin is None:
            if not waiting:
                return []
            self.origin = min(waiting)
        self._reach(now)
        levels, parts = list(self._levels), list(self._parts)
        for began in waiting:
            self._change(levels, parts, began, 1.0)
        number = min(STEPS, int((now - self.origin) / self.step_s) + 1)
        return [round(max(level + part, 0.0), 2) for level, part in zip(accumulate(levels), parts, strict=True)][
            :number
        ]

    def _change(self, levels: MutableSequence[float], parts: MutableSequence[float], time: float, by: float) -> None:
        place = max(time - (self.origin or 0.0), 0.0) / self.step_s
        at = min(int(place), STEPS - 1)
        levels[at + 1] += by
        parts[at] += by * max(at + 1 - place, 0.0)

    def _reach(self, time: float) -> None:
        """Widen the steps until they include this time: two neighbours become one."""
        while time >= (self.origin or 0.0) + STEPS * self.step_s:
            before = list(accumulate(self._levels))  # the number at each step's beginning
            means = [level + part for level, part in zip(before, self._parts, strict=True)]
            last = before[STEPS]
            kept = before[0:STEPS:2]
            self._parts = _of([(means[at] + means[at + 1]) / 2 - before[at] for at in range(0, STEPS, 2)])
            steps = (one - other for one, other in zip(kept[1:], kept, strict=False))
            self._levels = _of([kept[0], *steps, last - kept[-1]])
            self.step_s *= 2


def _of(values: list[float]) -> array[float]:
    """A number for each step, and one for the end, in one piece of memory: floats would lie all over it."""
    return array("d", values + [0.0] * (STEPS + 1 - len(values)))
