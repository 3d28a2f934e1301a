"""The runs of each device over time, as bars in fixed memory: the older a bar, the wider the grain in which it merges.

```
  a run ──► level 0, grain 10 ms ── full: the older half ──► level 1, 80 ms ──► level 2, 640 ms ──► level 3, widening
```
Runs of one kind in one lane that are shorter than a grain and begin in the same grain become one bar with their number.
No run is left out: the numbers of all bars add up to the number of all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from itertools import islice

import msgspec

# ---- one run, as an engine reports it to the history


class PastRun(msgspec.Struct, frozen=True):
    """A task or a call from its start to its end, or an actor for as long as it lives on its devices."""

    function: str  # or class
    cell: str
    job: int
    state: str  # as snapshots say it: "FINISHED", "FAILED", "CANCELLED", "RUNNING", "ALIVE"
    devices: tuple[tuple[str, float], ...]  # lane and amount of each, see `lane_of`
    id: str  # hex: its shade
    submitted: float | None  # Unix seconds, as all below
    started: float
    ended: float | None = None  # while it goes on
    number: int = 1  # of runs that this stands for: alike ones that came one after the other within one grain
    seconds: float | None = None  # of all of them, where they are several
    holds: bool = True  # it holds devices itself: a call uses its actor's


def lane_of(node_id: str, resource: str, id: str) -> str:
    """The name of a device's lane."""
    return f"{node_id[:12]}/{resource}/{id}"


FIRST_GRAIN_S = 0.01
GRAIN_FACTOR = 8
LEVELS = 4
MOST_OF_A_LEVEL = 1_500
MIXED = -1  # in the key of a bar that takes runs of any kind

BarKey = tuple[int, int, int]  # lane, kind, and the grain (>= 0) or the bar's own number (< 0)


class RunBar(msgspec.Struct):
    """One run, or several that are alike and short."""

    lane: int
    kind: int
    start: float
    end: float
    number: int = 1
    shade: int = 0
    waited: float = 0.0
    first_seq: int = 0  # the number of the first of its runs, in the order in which they ended
    seq: int = 0  # the number of the last of its runs
    mixed: bool = False  # its runs have several kinds; `kind` is that of the longest run


_BARS = msgspec.msgpack.Decoder(list[tuple[BarKey, RunBar]])


class RunBars:
    """The bars of all runs that have ended."""

    def __init__(self) -> None:
        self.grains = [FIRST_GRAIN_S * GRAIN_FACTOR**level for level in range(LEVELS)]
        self._levels: list[dict[BarKey, RunBar]] = [{} for _ in range(LEVELS)]
        self._wide = 0
        self._sealed = 0
        self._has_mixed = False  # the last level no longer keeps kinds apart

    def add(self, bar: RunBar) -> None:
        """Add the bar of a run that has ended."""
        self._put(0, bar)

    def seal(self, seq: int) -> None:
        """Close the bars that were sent up to `seq`: runs that end from now on begin new bars at the first level."""
        self._sealed = seq

    def let_go(self) -> Callable[[], None]:
        """Let all bars go, packed, and return what makes them again: then they lie close together in memory."""
        packed = [msgspec.msgpack.encode(list(level.items())) for level in self._levels]
        self._levels.clear()
        return lambda: self._levels.extend(dict(_BARS.decode(one)) for one in packed)

    def __iter__(self) -> Iterator[RunBar]:
        """All bars, those of the oldest level first."""
        for level in reversed(self._levels):
            yield from level.values()

    def __len__(self) -> int:
        return sum(map(len, self._levels))

    def _put(self, at: int, bar: RunBar) -> None:
        level = self._levels[at]
        self._wide += 1
        _join(level, bar, self.grains[at], self._wide, 0 if at else self._sealed)
        if len(level) <= MOST_OF_A_LEVEL:
            return
        if at + 1 == LEVELS:
            self._widen()
            return
        for key in list(islice(level, MOST_OF_A_LEVEL // 2)):
            self._put(at + 1, level.pop(key))

    def _widen(self) -> None:
        """Merge the full last level: its grain grows until half of the level is free."""
        bars, self.grains[-1] = fitting(
            self._levels[-1].values(), MOST_OF_A_LEVEL // 2, self.grains[-1], mixed=self._has_mixed
        )
        self._has_mixed = self._has_mixed or any(bar.mixed for bar in bars)
        grain_s = self.grains[-1]
        self._levels[-1] = {}
        for bar in bars:
            self._wide += 1
            _join(self._levels[-1], bar, grain_s, self._wide)


def fitting(bars: Iterable[RunBar], most: int, grain_s: float, *, mixed: bool = False) -> tuple[list[RunBar], float]:
    """The bars, merged until there are at most `most`, and the grain that this took.

    Where a wider grain hardly helps, since kinds alternate, neighbours of several kinds become one bar with the kind of
    the longest of them. There is at least one bar for each lane.
    """
    kept = merged(bars, grain_s, mixed)
    if not kept:
        return kept, grain_s
    span_s = max(bar.end for bar in kept) - min(bar.start for bar in kept)
    while len(kept) > most and not (mixed and grain_s > 2 * span_s):
        before = len(kept)
        grain_s *= max(2.0, min(before / most, 64.0))
        kept = merged(kept, grain_s, mixed)
        mixed = mixed or len(kept) > before * 0.75
    return kept, grain_s


def merged(bars: Iterable[RunBar], grain_s: float, mixed: bool = False) -> list[RunBar]:
    """Copies of the bars, where alike bars shorter than the grain are merged; with `mixed`, bars of all kinds."""
    found: dict[BarKey, RunBar] = {}
    for number, bar in enumerate(bars, 1):
        _join(found, copy(bar), grain_s, number, mixed=mixed)
    return list(found.values())


def _join(
    known: dict[BarKey, RunBar], bar: RunBar, grain_s: float, wide: int, sealed: int = 0, *, mixed: bool = False
) -> None:
    """Add a bar, or merge it into an alike one."""
    if bar.end - bar.start >= grain_s:
        known[bar.lane, bar.kind, -wide] = bar
        return
    key = (bar.lane, MIXED if mixed else bar.kind, int(bar.start / grain_s))
    before = known.setdefault(key, bar)
    if before is bar:
        return
    if sealed and before.seq <= sealed:
        known[bar.lane, bar.kind, -wide], known[key] = before, bar
        return
    if before.kind != bar.kind:
        before.mixed = True
        if bar.end - bar.start > before.end - before.start:
            before.kind = bar.kind
    before.mixed = before.mixed or bar.mixed
    before.start, before.end = min(before.start, bar.start), max(before.end, bar.end)
    before.number += bar.number
    before.shade = 0
    before.waited = max(before.waited, bar.waited)
    before.first_seq, before.seq = min(before.first_seq, bar.first_seq), max(before.seq, bar.seq)
