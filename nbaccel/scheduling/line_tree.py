"""The lines by what they need: of those that fit into some amounts, the one whose turn it is.

```
  CPU, memory ─► job 1 ─► CPU 1 ─► memory 1 ─► lines     each level knows the first turn below it, so that a branch
                                └► memory 2 ─► lines     whose lines need too much, or come later than one that was
                      ─► CPU 2 ─► …                      found, is not looked at
               ─► job 2 ─► …
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from nbaccel.scheduling.placement import PlaceableChoice
    from nbaccel.scheduling.tasks import Shape

Position = tuple[int, int, "Shape"]  # minus its depth, the number of its first task; no two lines share both
Found = tuple[Position, "PlaceableChoice"]
Accepts = Callable[["PlaceableChoice"], bool]
Roots = dict[int, "_Level"]  # of each job


class _Level(msgspec.Struct, eq=False):
    """Lines with the same needs so far: the next level by the next need, or, at the end, the choices of the lines."""

    first: Position | None = None  # of all below
    least: int = 0  # of the needs below
    below: dict[int, _Level] = {}
    choices: dict[tuple[Shape, PlaceableChoice], Position] = {}

    def find_first(self) -> None:
        """Say again who is first."""
        below = [level.first for level in self.below.values() if level.first is not None]
        self.first = min(below or self.choices.values(), default=None)


class LineTree:
    """The lines in which somebody waits, each under the needs of each of its choices."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, ...], Roots] = {}
        self._paths: dict[tuple[Shape, PlaceableChoice], tuple[tuple[str, ...], list[int], list[_Level]]] = {}

    def __bool__(self) -> bool:
        return bool(self._paths)

    def put(self, shape: Shape, position: Position) -> None:
        """A line, or its new place in the order of its job."""
        for ask in dict.fromkeys(shape.asks):
            known = self._paths.get((shape, ask))
            path = self._new_path(shape, ask) if known is None else known[2]
            path[-1].choices[shape, ask] = position
            for level in reversed(path):
                first = level.first
                if first is None or position < first:
                    level.first = position
                elif first[2] is shape:
                    level.find_first()
                else:
                    break

    def _new_path(self, shape: Shape, ask: PlaceableChoice) -> list[_Level]:
        names, needs = tuple(ask.needs), list(ask.needs.values())
        roots = self._roots.setdefault(names, {})
        level = roots.get(shape.job)
        if level is None:
            level = roots[shape.job] = _Level()
        path = [level]
        for need in needs:
            below = level.below.get(need)
            if below is None:
                below = level.below[need] = _Level()
                level.least = min(level.below)
            level = below
            path.append(level)
        self._paths[shape, ask] = names, needs, path
        return path

    def take_out(self, shape: Shape) -> None:
        """Nobody waits in this line."""
        for ask in dict.fromkeys(shape.asks):
            names, needs, path = self._paths.pop((shape, ask))
            del path[-1].choices[shape, ask]
            path[-1].find_first()
            for above, level, need in reversed(list(zip(path, path[1:], needs, strict=False))):
                if level.first is None:
                    del above.below[need]
                    above.least = min(above.below, default=0)
                above.find_first()
            if path[0].first is None:
                del self._roots[names][shape.job]
                if not self._roots[names]:
                    del self._roots[names]

    def first(self, left: dict[str, int], new: Iterable[int], served: Iterable[int], accepts: Accepts) -> Found | None:
        """The line whose turn it is, of those with a choice that needs no more than is left and is accepted.

        All new jobs have the same turn; after them come those that were served, in this order.
        """
        able: list[tuple[Roots, list[int], int]] = []
        for names, roots in self._roots.items():
            if all(name in left for name in names):
                amounts = [left[name] for name in names]
                able.append((roots, amounts, amounts[0] if amounts else 0))
        best: Found | None = None
        for jobs in chain((new,), zip(served)):
            for job in jobs:
                for roots, amounts, most in able:
                    root = roots.get(job)
                    if root is not None and root.least <= most:
                        best = _first(root, amounts, 0, accepts, best)
            if best is not None:
                break
        return best


def _first(level: _Level, amounts: list[int], depth: int, accepts: Accepts, best: Found | None) -> Found | None:
    if depth == len(amounts):
        for (_, ask), position in level.choices.items():
            if (best is None or position < best[0]) and accepts(ask):
                best = position, ask
        return best
    amount = amounts[depth]
    for need, below in level.below.items():
        if need <= amount and (best is None or (below.first is not None and below.first < best[0])):
            best = _first(below, amounts, depth + 1, accepts, best)
    return best
