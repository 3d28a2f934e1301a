"""The history of one cluster: an engine records ended runs and measurements, and gets the answers that a view wants.

Example::

    book = HistoryBook(began_at=0.0)
    book.ended(PastRun("train", "[3]", 1, "FINISHED", (("n/GPU/0", 1.0),), "9b9f", 1.0, started=2.0, ended=5.0))
    book.accounting(now=10.0).functions[0].device_seconds     # 3.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from nbaccel.views import palette
from nbaccel.views.history.accounts import Accounts
from nbaccel.views.history.answers import AccountingAnswer, LaneRuns, ReadingsAnswer, RunKind, RunsAnswer
from nbaccel.views.history.kinds import KindOfRuns, KindsOfRuns
from nbaccel.views.history.readings import DeviceLoad, Readings
from nbaccel.views.history.run import PastRun
from nbaccel.views.history.runs import RunBar, RunBars, fitting
from nbaccel.views.history.waits import Waits

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
