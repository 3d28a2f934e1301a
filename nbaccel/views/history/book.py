"""The history of one cluster: an engine records ended runs and measurements, and gets the answers that a view wants.

The runs of each device are bars in fixed memory: the older a bar, the wider the grain in which it merges.
```
  a run ──► level 0, grain 10 ms ── full: the older half ──► level 1, 80 ms ──► level 2, 640 ms ──► level 3, widening
```
Runs of one kind in one lane that are shorter than a grain and begin in the same grain become one bar with their number.
No run is left out: the numbers of all bars add up to the number of all runs.

Example::

    book = HistoryBook(began_at=0.0)
    book.ended(PastRun("train", "[3]", 1, "FINISHED", (("n/GPU/0", 1.0),), "9b9f", 1.0, started=2.0, ended=5.0))
    book.accounting(now=10.0).functions[0].device_seconds     # 3.0
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from copy import copy
from itertools import accumulate, islice
from typing import TypeVar

import msgspec

from nbaccel.views import palette
from nbaccel.views.history.answers import (
    AccountingAnswer,
    AccountRow,
    DeviceAccount,
    LaneRuns,
    ReadingsAnswer,
    RunKind,
    RunsAnswer,
)
from nbaccel.views.history.readings import DeviceLoad, Readings

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


WITHOUT_DEVICE = "cpu"
MOST_LANES = 4_096
PIXELS = 900  # of a lane's width: narrower bars are merged
MOST_FIRST_BYTES = 31_000  # of an answer: with its frame it stays below 32 KB
LATER_BYTES_PER_S = 1_900  # of the next ones, which come after as many seconds as they have of these
MOST_RUNNING = 100  # bars of runs that are under way, and of one lane and kind that are told apart
SHORTEST_WAIT_S = 0.01
SHORTEST_SHADED_S = 0.05  # a shorter bar shows no shade, and finding one costs 10 µs
LATER_WAITS = 8  # steps of the number of waiting tasks in an answer that is not the first


class HistoryBook:
    """RunBars, waits, numbers and readings. All times are Unix seconds."""

    def __init__(self, began_at: float) -> None:
        self._origin = began_at
        self._seq = 0
        self._kinds = KindsOfRuns()
        self._runs = RunBars()
        self._waits = Waits()
        self._readings = Readings(began_at)
        self._accounts = Accounts(self._kinds)
        self._lanes: dict[str, int] = {}  # -> number

    # ---- events

    def ended(self, run: PastRun) -> None:
        """Record a run that has ended."""
        ended = run.started if run.ended is None else run.ended
        kind = self._kind(run)
        lanes = self._lanes_of(run)
        waited = 0.0
        if run.submitted is not None and run.started - run.submitted >= SHORTEST_WAIT_S:
            waited = run.started - run.submitted
            self._waits.add(run.submitted, run.started, run.number)
        self._seq += 1
        self._accounts.ended(kind, run, ended, self._seq)
        end = max(ended, run.started)
        shade = palette.shade_of(run.id) if end - run.started >= SHORTEST_SHADED_S and run.number == 1 else 0
        for lane in lanes:
            self._runs.add(RunBar(lane, kind.index, run.started, end, run.number, shade, waited, self._seq, self._seq))

    def ended_waiting(self, submitted: float, ended: float) -> None:
        """Record a task that ended without having begun."""
        if ended - submitted >= SHORTEST_WAIT_S:
            self._waits.add(submitted, ended)

    def has_device(self, lane: str, since: float) -> None:
        """Add a device; it is idle until a run holds it."""
        self._accounts.has_device(lane, since)

    def measured(self, now: float, readings: Sequence[DeviceLoad]) -> None:
        """Record a measurement of devices."""
        self._readings.add(now, readings)

    def let_go(self) -> Callable[[], None]:
        """Let the bars of all runs go, packed, and return what makes them again. Answers are the same then."""
        return self._runs.let_go()

    def _kind(self, run: PastRun) -> KindOfRuns:
        return self._kinds.of(run.function, run.cell, run.job, run.state)

    def _lanes_of(self, run: PastRun) -> list[int]:
        return [self._lane(name) for name, _amount in run.devices] or [self._lane(WITHOUT_DEVICE)]

    def _lane(self, name: str) -> int:
        if name not in self._lanes and len(self._lanes) >= MOST_LANES:
            name = WITHOUT_DEVICE
        return self._lanes.setdefault(name, len(self._lanes))

    # ---- questions

    def readings(self, now: float, since: int = 0) -> ReadingsAnswer:
        """Load, memory and power of the last two minutes."""
        return self._readings.answer(now, since)

    def accounting(self, now: float, since: int = 0, running: Iterable[PastRun] = ()) -> AccountingAnswer:
        """Who used the devices; `running` are the runs that have not ended."""
        since = since if since <= self._seq else 0
        answer = self._accounts.answer(now, since, list(running), self._seq, MOST_FIRST_BYTES)
        answer.pause_s = _pause(answer)
        return answer

    def runs(
        self,
        now: float,
        window: tuple[float, float],
        since: int = 0,
        running: Iterable[PastRun] = (),
        waiting: Sequence[float] = (),
    ) -> RunsAnswer:
        """The runs between two moments; `waiting` are the starts of waits that have not ended."""
        start, end = window
        since = since if 0 < since <= self._seq else 0
        grain_s = max(end - start, 0.001) / PIXELS
        seen = [bar for bar in self._runs if bar.seq > since and bar.start <= end and bar.end >= start]
        if since and any(bar.first_seq <= since for bar in seen):  # it has merged with what was told before
            return self.runs(now, window, 0, running, waiting)
        if not since:
            self._runs.seal(self._seq)
        under_way, _ = fitting(self._under_way(running, now), MOST_RUNNING, grain_s)
        waits = self._waits.means(waiting, now)
        first = max(len(waits) - LATER_WAITS, 0) if since else 0
        waits_from = (self._waits.origin or now) + first * self._waits.step_s
        answer = RunsAnswer(
            self._seq, 0.0, now, self._origin, not since, grain_s, [], {}, [], self._in_lanes(under_way), waits[first:],
            waits_from, self._waits.step_s,
        )  # fmt: skip
        self._fit(answer, seen)
        answer.pause_s = _pause(answer)
        return answer

    def _under_way(self, running: Iterable[PastRun], now: float) -> list[RunBar]:
        bars = []
        for run in running:
            kind, shade = self._kind(run), palette.shade_of(run.id)
            waited = max(run.started - run.submitted, 0.0) if run.submitted is not None else 0.0
            end = max(now, run.started)
            bars += [RunBar(lane, kind.index, run.started, end, 1, shade, waited) for lane in self._lanes_of(run)]
        return bars

    def _fit(self, answer: RunsAnswer, seen: list[RunBar]) -> None:
        """Add the bars, merged until the answer is small enough."""
        most = most_bytes = MOST_FIRST_BYTES if answer.whole else LATER_BYTES_PER_S
        while True:
            seen, answer.grain_s = fitting(seen, most, answer.grain_s)
            answer.ended = self._in_lanes(seen)
            self._name(answer)
            size_bytes = len(msgspec.json.encode(answer))
            if size_bytes <= most_bytes or len(seen) <= len(answer.ended):  # one for each lane at the least
                return
            most = max(int(len(seen) * min(most_bytes / size_bytes, 0.9)), 1)

    def _name(self, answer: RunsAnswer) -> None:
        """Add the kinds to which the bars refer."""
        shown = [*answer.ended, *answer.running]
        kinds = sorted({bar[0] for lane in shown for bar in lane.bars})
        rows = [self._kinds.rows[index] for index in kinds]
        answer.kinds = [RunKind(row.index, row.function, row.cell, row.job, row.state) for row in rows]
        used = {lane.lane for lane in shown}
        answer.lanes = {number: name for name, number in self._lanes.items() if number in used}

    def _in_lanes(self, bars: Iterable[RunBar]) -> list[LaneRuns]:
        lanes: dict[int, LaneRuns] = {}
        for bar in sorted(bars, key=lambda bar: (bar.lane, bar.start)):
            start = self._ms(bar.start)
            said = [
                bar.kind,
                start,
                self._ms(bar.end) - start,
                -bar.number if bar.mixed else bar.number,
                bar.shade,
                round(bar.waited * 1000),
            ]
            for default in (0, 0, 1):
                if said[-1] != default:
                    break
                said.pop()
            lanes.setdefault(bar.lane, LaneRuns(bar.lane, [])).bars.append(said)
        return list(lanes.values())

    def _ms(self, time: float) -> int:
        return round((time - self._origin) * 1000)


def _pause(answer: RunsAnswer | AccountingAnswer) -> float:
    return round(max(len(msgspec.json.encode(answer)) / LATER_BYTES_PER_S, 1.0), 2)


# ---- accounts of device use, by function and by cell, and of how long each device was held


MOST_DEVICES = 4_096
FAILED = "FAILED"
R = TypeVar("R")


class _DeviceTime(msgspec.Struct):
    """The account of one device."""

    since: float
    seconds: float = 0.0
    seq: int = 0


class Accounts:
    """Adds up what each run held: ended runs when they end, running ones when somebody asks."""

    def __init__(self, kinds: KindsOfRuns) -> None:
        self._kinds = kinds
        self._devices: dict[str, _DeviceTime] = {}

    def has_device(self, name: str, since: float) -> None:
        """Add a device; it is idle until a run holds it."""
        known = self._devices.get(name)
        if known is not None:
            known.since = min(known.since, since)
        elif len(self._devices) < MOST_DEVICES:
            self._devices[name] = _DeviceTime(since)

    def ended(self, kind: KindOfRuns, run: PastRun, ended: float, seq: int) -> None:
        """Add a run that has ended."""
        seconds = max(ended - run.started, 0.0) if run.seconds is None else run.seconds
        kind.seconds += seconds
        kind.seq = seq
        kind.runs += run.number
        if not run.holds:
            return
        for name, amount in run.devices:
            kind.device_seconds += seconds * amount
            self.has_device(name, run.started)
            if held := self._devices.get(name):
                held.seconds += seconds * amount
                held.seq = seq

    def answer(self, now: float, since: int, running: Sequence[PastRun], seq: int, most_bytes: int) -> AccountingAnswer:
        """The rows that have changed since `since` or still change, as many as fit."""
        functions = self._rows(lambda one: (one.function, 0), now, since, running)
        cells = self._rows(lambda one: (one.cell, one.job), now, since, running)
        devices, known_s, held_s = self._device_rows(now, since, running)
        answer = AccountingAnswer(seq, 0.0, now, [], [], [], known_s, held_s, 0)
        room = most_bytes - len(msgspec.json.encode(answer))
        answer.functions, room, left = _fitting(functions, room)
        answer.left_out += left
        answer.cells, room, left = _fitting(cells, room)
        answer.left_out += left
        answer.devices, room, left = _fitting(devices, room)
        answer.left_out += left
        return answer

    def _rows(
        self,
        key_of: Callable[[KindOfRuns | PastRun], tuple[str, int]],
        now: float,
        since: int,
        running: Iterable[PastRun],
    ) -> list[AccountRow]:
        rows: dict[tuple[str, int], AccountRow] = {}
        changed: set[tuple[str, int]] = set()

        def row_of(key: tuple[str, int]) -> AccountRow:
            row = rows.get(key)
            if row is None:
                row = rows[key] = AccountRow(*key, 0, 0, 0, 0.0, 0.0, 0.0)
            return row

        for kind in self._kinds.rows:
            if not kind.seq:
                continue  # of runs that go on only
            row = row_of(key_of(kind))
            row.runs += kind.runs
            row.failed += kind.runs if kind.state == FAILED else 0
            row.seconds += kind.seconds
            row.device_seconds += kind.device_seconds
            if kind.seq > since:
                changed.add(key_of(kind))
        for run in running:
            row = row_of(key_of(run))
            seconds = max(now - run.started, 0.0)
            amount = sum(amount for _name, amount in run.devices) if run.holds else 0.0
            row.runs += 1
            row.running += 1
            row.seconds += seconds
            row.devices += amount
            row.device_seconds += seconds * amount
            changed.add(key_of(run))
        shown = [_rounded(row) for key, row in rows.items() if key in changed]
        return sorted(shown, key=lambda row: (-row.device_seconds, -row.seconds, row.name))

    def _device_rows(
        self, now: float, since: int, running: Iterable[PastRun]
    ) -> tuple[list[DeviceAccount], float, float]:
        goes_on: dict[str, list[float]] = {}
        for run in running:
            for name, amount in run.devices if run.holds else ():
                self.has_device(name, run.started)
                held = goes_on.setdefault(name, [0.0, 0.0])
                held[0] += max(now - run.started, 0.0) * amount
                held[1] += amount
        rows, known_s, held_s = [], 0.0, 0.0
        for name, device in self._devices.items():
            seconds, amount = goes_on.get(name, (0.0, 0.0))
            known_s += max(now - device.since, 0.0)
            held_s += device.seconds + seconds
            if not since or device.seq > since or name in goes_on:
                rows.append(DeviceAccount(name, device.since, round(device.seconds + seconds, 3), amount))
        return sorted(rows, key=lambda row: row.held_seconds), round(known_s, 3), round(held_s, 3)


def _rounded(row: AccountRow) -> AccountRow:
    row.seconds, row.device_seconds = round(row.seconds, 3), round(row.device_seconds, 3)
    row.devices = round(row.devices, 4)
    return row


def _fitting(rows: list[R], room: int) -> tuple[list[R], int, int]:
    """(the first rows that there is room for, the remaining room, the number of rows left out)."""
    for number, row in enumerate(rows):
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0:
            return rows[:number], 0, len(rows) - number
    return rows, room, 0


# ---- exact numbers of all runs by function, cell, job and ending, however many there are


MOST_KINDS = 2_000
MOST_FUNCTIONS = 1_000  # beyond the kinds with cells: each function keeps its own numbers
ELSEWHERE = "other cells"  # cells that are no longer kept apart
OTHERS = "other functions"

Key = tuple[str, str, int, str]


class KindOfRuns(msgspec.Struct):
    """The runs of one function, from one cell of one job, with the same ending."""

    index: int
    function: str
    cell: str
    job: int
    state: str
    runs: int = 0
    seconds: float = 0.0
    device_seconds: float = 0.0
    seq: int = 0  # of its last change


class KindsOfRuns:
    """The table of kinds: at most `MOST_KINDS`, plus `MOST_FUNCTIONS` and a few more."""

    def __init__(self) -> None:
        self.rows: list[KindOfRuns] = []
        self._by_key: dict[Key, KindOfRuns] = {}

    def of(self, function: str, cell: str, job: int, state: str) -> KindOfRuns:
        """The kind of a run: its own, or a kind of several cells if too many are known."""
        known = self._by_key.get((function, cell, job, state))
        if known is not None:
            return known
        if len(self.rows) < MOST_KINDS:
            return self._made(function, cell, job, state)
        known = self._by_key.get((function, ELSEWHERE, 0, state))
        if known is not None:
            return known
        if len(self.rows) < MOST_KINDS + MOST_FUNCTIONS:
            return self._made(function, ELSEWHERE, 0, state)
        return self._by_key.get((OTHERS, ELSEWHERE, 0, state)) or self._made(OTHERS, ELSEWHERE, 0, state)

    def _made(self, function: str, cell: str, job: int, state: str) -> KindOfRuns:
        kind = self._by_key[function, cell, job, state] = KindOfRuns(len(self.rows), function, cell, job, state)
        self.rows.append(kind)
        return kind


# ---- the number of waiting tasks over time: means over a fixed number of steps, whose width grows


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
