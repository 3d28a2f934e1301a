"""The order in which lines of waiting tasks have their turn.

Jobs take turns. Within one, deeper tasks go first, because parents that wait for them hold processes and memory; then
the line whose first task came first. A job keeps its lines sorted, and in a tree by what they need, so that whoever
looks for the next line that can start stops at the first one that can.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge
from itertools import count
from typing import TYPE_CHECKING

from nbaccel.scheduling.line_tree import Accepts, LineTree, Position

if TYPE_CHECKING:
    from nbaccel.scheduling.placement import PlaceableChoice
    from nbaccel.scheduling.tasks import Shape

Rank = tuple[int, int, int]


class LineOrder:
    """Every line in which somebody waits, by the turn of its job."""

    def __init__(self) -> None:
        self.changed: dict[Shape, None] = {}  # lines whose first task is another, or none, since the last walk
        self._lines: dict[int, list[Position]] = {}  # of each job, sorted
        self._tree = LineTree()
        self._turns: dict[int, int] = {}  # job -> when it was last served, the longest ago first
        self._new: dict[int, None] = {}  # jobs that never were
        self._turn = count(1)

    def served(self, job: int) -> None:
        """A task of this job was started: all other jobs come before it."""
        self._new.pop(job, None)
        self._turns.pop(job, None)
        self._turns[job] = next(self._turn)

    def rank(self, shape: Shape) -> Rank:
        """The line with the lowest rank is next."""
        first = shape.first()
        return (self._turns.get(shape.job, 0), -shape.depth, first.seq if first is not None else 0)

    def walk(self) -> Iterator[Shape]:
        """The lines in which somebody waits, by rank. It has to begin anew once a task has been started."""
        self._sort()
        for _, _, shape in merge(*(lines for job, lines in self._lines.items() if job not in self._turns)):
            yield shape
        for job in self._turns:
            for _, _, shape in self._lines.get(job, ()):
                yield shape

    def first_fitting(self, left: dict[str, int], accepts: Accepts) -> tuple[Rank, Shape, PlaceableChoice] | None:
        """The line that is next of those with an accepted choice that needs no more than is left."""
        self._sort()
        found = self._tree.first(left, self._new, self._turns, accepts)
        if found is None:
            return None
        (depth, number, shape), ask = found
        return (self._turns.get(shape.job, 0), depth, number), shape, ask

    def forget(self, shape: Shape) -> None:
        """This line is no more."""
        self.changed.pop(shape, None)
        self._take_out(shape)

    def _sort(self) -> None:
        """Put each line that has changed where it belongs."""
        moved = {shape: shape.first() if shape.size else None for shape in self.changed}
        for shape, first in moved.items():
            if first is None or len(moved) > 1:  # a task may have gone from one of these lines to another
                self._take_out(shape)
            elif shape.position is not None:
                self._take_out_of_list(shape)
        for shape, first in moved.items():
            if first is not None:
                shape.position = (-shape.depth, first.seq, shape)
                insort(self._lines.setdefault(shape.job, []), shape.position)
                self._tree.put(shape, shape.position)
                if shape.job not in self._turns:
                    self._new[shape.job] = None
        self.changed.clear()

    def _take_out(self, shape: Shape) -> None:
        if shape.position is None:
            return
        self._take_out_of_list(shape)
        self._tree.take_out(shape)

    def _take_out_of_list(self, shape: Shape) -> None:
        assert shape.position is not None
        lines = self._lines[shape.job]
        del lines[bisect_left(lines, shape.position)]
        shape.position = None
        if not lines:
            del self._lines[shape.job]
