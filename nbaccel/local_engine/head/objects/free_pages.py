"""Which free parts of the arena have memory behind them, and since when nobody has used them.

It has no clock, and does nothing: `page_keeper` has memory provided and given back, and says so here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import NamedTuple

from nbaccel.local_engine.arena import Arena

MERGED_S = 0.5  # neighbours that came free within so short a time are one run


class FreeRun(NamedTuple):
    """Bytes of the arena that are free and have memory. `is_new`: nobody has used this memory yet."""

    start: int
    end: int
    since: float
    is_new: bool


class FreePages:
    """The free runs of one arena, disjoint. What is not in a run is taken, or has no memory."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._starts: list[int] = []  # ascending
        self._runs: dict[int, FreeRun] = {}
        self.bytes = 0
        self.new_bytes = 0

    # ---- what has happened

    def taken(self, offset: int, size: int) -> bool:
        """A range was handed out. Whether it needed more memory than was used before."""
        before, new_before = self.bytes, self.new_bytes
        self._cut(offset, offset + size)
        return self.new_bytes < new_before or before - self.bytes < size

    def given(self, offset: int, size: int, now: float) -> None:
        """A range came back. It was written, so it has memory."""
        self._put(FreeRun(offset, offset + size, now, False))

    def populated(self, offset: int, size: int, now: float) -> None:
        """These bytes have memory now; those of them that are free are new runs, unless they had memory before."""
        for start, end in list(self._gaps_between(offset, offset + size)):
            self._put(FreeRun(start, end, now, True))

    def given_back(self, offset: int, size: int) -> None:
        """The memory of these bytes goes back to the system."""
        self._cut(offset, offset + size)

    # ---- what may happen next

    def next_gap(self, most: int) -> tuple[int, int] | None:
        """(offset, size) of the first free bytes without memory, at most so many; None if all free bytes have some."""
        for start, end in self._gaps_between(0, self._arena.capacity):
            return start, min(end - start, most)
        return None

    def unused_since(self, when: float, most: int) -> tuple[int, int] | None:
        """(offset, size) of neighbouring runs, at most so many bytes, that nobody has used since this time."""
        for position, start in enumerate(self._starts):
            if self._runs[start].since <= when:
                end = self._end_of_due(position, when)
                return start, min(end - start, most)
        return None

    def _end_of_due(self, position: int, when: float) -> int:
        end = self._runs[self._starts[position]].end
        for start in self._starts[position + 1 :]:
            run = self._runs[start]
            if run.start != end or run.since > when:
                break
            end = run.end
        return end

    def stretches(self, least: int, most: int) -> list[tuple[int, int]]:
        """(start, end) of free bytes with memory, where at least so many lie together; the lowest, at most so many."""
        joined: list[tuple[int, int]] = []
        for start in self._starts:
            end = self._runs[start].end
            if joined and joined[-1][1] == start:
                joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        chosen = []
        for start, end in joined:
            if min(end - start, most) >= least:
                chosen.append((start, min(end, start + most)))
                most -= chosen[-1][1] - start
        return chosen

    # ---- runs

    def _gaps_between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        for start, end in self._arena.free_ranges():
            start, end = max(start, low), min(end, high)
            for run in self._within(start, end):
                if start < run.start:
                    yield start, run.start
                start = run.end
            if start < end:
                yield start, end

    def _within(self, low: int, high: int) -> list[FreeRun]:
        """The runs that have a byte in common with this range."""
        first = max(bisect_right(self._starts, low) - 1, 0)
        last = bisect_left(self._starts, high)
        return [run for start in self._starts[first:last] if (run := self._runs[start]).end > low]

    def _cut(self, low: int, high: int) -> None:
        for run in self._within(low, high):
            self._remove(run)
            if run.start < low:
                self._add(run._replace(end=low))
            if run.end > high:
                self._add(run._replace(start=high))

    def _put(self, run: FreeRun) -> None:
        """Add a run, joined with the one before it if both came free at about the same time."""
        position = bisect_left(self._starts, run.start)
        if position > 0:
            before = self._runs[self._starts[position - 1]]
            if before.end == run.start and before.is_new == run.is_new and run.since - before.since < MERGED_S:
                self._remove(before)
                run = FreeRun(before.start, run.end, before.since, run.is_new)
        self._add(run)

    def _add(self, run: FreeRun) -> None:
        insort(self._starts, run.start)
        self._runs[run.start] = run
        self._count(run, 1)

    def _remove(self, run: FreeRun) -> None:
        del self._starts[bisect_left(self._starts, run.start)]
        del self._runs[run.start]
        self._count(run, -1)

    def _count(self, run: FreeRun, sign: int) -> None:
        self.bytes += sign * (run.end - run.start)
        if run.is_new:
            self.new_bytes += sign * (run.end - run.start)

    def check(self) -> None:
        """Assert that the runs are disjoint, that all their bytes are free, and that the sums are right."""
        end = 0
        for start in self._starts:
            run = self._runs[start]
            assert end <= run.start == start < run.end, run
            assert any(low <= start and run.end <= high for low, high in self._arena.free_ranges()), run
            end = run.end
        assert self.bytes == sum(run.end - run.start for run in self._runs.values())
        assert self.new_bytes == sum(run.end - run.start for run in self._runs.values() if run.is_new)
