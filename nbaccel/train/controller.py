"""Decides what happens in a run: takes events, gives orders. It has no clock, thread, process or file.

```
             GroupReady        Failed, Died               all have ended
  PLACING ─────────────► RUNNING ─────────────► ENDING ─────────────────► PLACING again, or ENDED
     │  NoPlace, StopPressed      all returned or stopped                        ▲
     └───────────────────────────────────────────────────────────────────────────┘
```
The caller carries out the orders and reports their results as events. Time comes in as `now`, in seconds of one clock;
to wait is the order WakeRunAt, whose answer is RunTimePassed. Stop is a ladder: each StopPressed goes one step further.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

FINALLY_S = 5.0  # for a worker's `finally` blocks after it was interrupted, then it is killed
SILENT_S = 5.0  # a checkpoint does not wait longer for ranks that have never reported
BEHIND_S = 10.0  # so long after a failure may ranks go on that are behind it: a checkpoint may be on its way
MISSING_S = 30.0  # after this a rank is named whose part of a checkpoint is missing
STOPPED_S = 1.0  # how long ranks that never report may go on after another rank has stopped
EARLY_S = 10.0  # after this it is said that a rank has returned while others go on
HANGS_S = 3.0  # after this ranks are named that the second press has interrupted and that go on
STILL_S = 60.0  # a run that says nothing for so long is asked where it stands


# ---- events


@dataclass(frozen=True, slots=True)
class GroupReady:
    """All workers of the group have their ranks, and the function begins."""

    size: int


@dataclass(frozen=True, slots=True)
class NoPlace:
    """The worker group can never be placed, or something else that the run needs has failed."""


@dataclass(frozen=True, slots=True)
class Reported:
    rank: int
    report: int
    has_files: bool = False


@dataclass(frozen=True, slots=True)
class Returned:
    """The function has ended in this rank."""

    rank: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The function has ended in this rank because it was asked to, or was interrupted."""

    rank: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The function has raised in this rank, at this time of the rank's clock."""

    rank: int
    at: float


@dataclass(frozen=True, slots=True)
class Died:
    """The process of this rank has ended."""

    rank: int
    at: float


@dataclass(frozen=True, slots=True)
class StopPressed:
    """Somebody wants the run to end."""


@dataclass(frozen=True, slots=True)
class RunTimePassed:
    """The time of a WakeRunAt has come."""


Event = GroupReady | NoPlace | Reported | Returned | Stopped | Failed | Died | StopPressed | RunTimePassed


# ---- orders


@dataclass(frozen=True, slots=True)
class StartGroup:
    number: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit this report's checkpoint: every rank has brought its part."""

    report: int


@dataclass(frozen=True, slots=True)
class DiscardPart:
    """Remove what came of this report's checkpoint after its commit."""

    report: int


@dataclass(frozen=True, slots=True)
class LetRunAhead:
    """Let ranks bring checkpoints although earlier ones are not complete: a part may never come."""


@dataclass(frozen=True, slots=True)
class RequestStop:
    """Tell all ranks to stop after the same report."""


@dataclass(frozen=True, slots=True)
class InterruptRanks:
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kill:
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell the user about these ranks.

    what  "silent", "missing", "early", "still" (it has reported before), "unheard" (it has not), "interrupted",
          "hangs" or "restarting"
    """

    what: str
    ranks: tuple[int, ...] = ()
    report: int = -1


@dataclass(frozen=True, slots=True)
class TakeDown:
    """End the remaining workers of the group and give back its resources."""


class RunOutcome(Enum):
    """How a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: RunOutcome
    first_rank: int = -1  # the rank that failed first; -1 when no worker is to blame


@dataclass(frozen=True, slots=True)
class WakeRunAt:
    time: float


Order = (
    StartGroup
    | Commit
    | DiscardPart
    | LetRunAhead
    | RequestStop
    | InterruptRanks
    | Kill
    | Notify
    | TakeDown
    | Finish
    | WakeRunAt
)


class Phase(Enum):
    """Where a run is."""

    PLACING = "placing"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(slots=True)
class _Files:
    """A report with files that is not committed yet."""

    since: float
    missing_was_reported: bool = False


@dataclass(slots=True)
class _Group:
    """The state of the workers of one worker group, by rank."""

    size: int = 0
    reports: dict[int, int] = field(default_factory=dict)  # the last report of each
    first_report: float | None = None  # the time of the first report of any
    behind: dict[int, float] = field(default_factory=dict)  # ranks that a failure waits for, and until when
    files: dict[int, _Files] = field(default_factory=dict)
    committed: int = -1  # the last report with a checkpoint
    late: set[int] = field(default_factory=set)  # reports with files that came after the commit
    returned: set[int] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)
    failed: dict[int, float] = field(default_factory=dict)
    died: dict[int, float] = field(default_factory=dict)
    interrupted: set[int] = field(default_factory=set)
    killed: set[int] = field(default_factory=set)

    def over(self) -> set[int]:
        return self.returned | self.stopped | set(self.failed) | set(self.died)

    def alive(self) -> tuple[int, ...]:
        return tuple(rank for rank in range(self.size) if rank not in self.over())


class Controller:
    """The state of one run. All input goes through `handle`."""

    def __init__(self, max_failures: int = 0) -> None:
        self.phase = Phase.PLACING
        self.number = 0  # of the worker group
        self.failures = 0  # of the run
        self.presses = 0
        self._max_failures = max_failures
        self._group = _Group()
        self._silent_was_reported = False
        self._early_was_reported = False
        self._still_was_reported = False
        self._asked_at = 0.0  # a worker group that has not reported; at first when its function began
        self._last_report: float | None = None
        self._first_return: float | None = None
        self._deadlines: dict[str, float] = {}  # "finally", "stopped", "hangs"
        self._woken_for = 0.0

    def begin(self) -> list[Order]:
        return [StartGroup(0)]

    @property
    def has_ended(self) -> bool:
        return self.phase is Phase.ENDED

    def handle(self, event: Event, now: float) -> list[Order]:
        """Return the orders that follow from an event. An event that is impossible in this state changes nothing."""
        if self.has_ended:
            return []
        orders = self._react(event, now)
        if not self.has_ended:
            orders += self._as_time_passes(now)
            orders += self._look_at_the_end()
        return orders + self._wake()

    # ---- events

    def _react(self, event: Event, now: float) -> list[Order]:
        match event:
            case GroupReady(size) if self.phase is Phase.PLACING:
                self._group = _Group(size)
                self.phase = Phase.RUNNING
                self._last_report = self._first_return = None
                self._asked_at = now
                return []
            case NoPlace():
                return self._finish(RunOutcome.FAILED)
            case Reported() if self._is_running(event.rank):
                return self._reported(event.rank, event.report, event.has_files, now)
            case Returned(rank) if self._is_running(rank):
                self._group.returned.add(rank)
                self._first_return = self._first_return or now
                return self._rank_ended(rank, now)
            case Stopped(rank) if self._is_running(rank):
                self._group.stopped.add(rank)
                return self._rank_ended(rank, now)
            case Failed(rank, at):
                return self._failed(rank, at, self._group.failed, now)
            case Died(rank, at):
                return self._failed(rank, at, self._group.died, now)
            case StopPressed():
                return self._pressed(now)
        return []

    def _is_running(self, rank: int) -> bool:
        return self.phase in (Phase.RUNNING, Phase.ENDING) and rank in self._group.alive()

    def _reported(self, rank: int, report: int, has_files: bool, now: float) -> list[Order]:
        group = self._group
        if report <= group.reports.get(rank, -1):
            return []
        group.reports[rank] = report
        group.first_report = now if group.first_report is None else group.first_report
        self._last_report, self._still_was_reported = now, False
        if has_files and report > group.committed:  # the part of a silent rank may arrive after the commit
            group.files.setdefault(report, _Files(now))
        elif has_files:
            group.late.add(report)
        return self._commits(now)

    def _rank_ended(self, rank: int, now: float) -> list[Order]:
        if self.presses and self.phase is Phase.RUNNING:
            self._deadlines.setdefault("stopped", now + STOPPED_S)
        return self._commits(now)

    def _failed(self, rank: int, at: float, where: dict[int, float], now: float) -> list[Order]:
        group = self._group
        if self.phase is Phase.PLACING:
            group.size = max(group.size, rank + 1)
            where[rank] = at
            return self._conclude()
        if not self._is_running(rank):
            return []
        if rank in group.killed:  # what its function raises when its process is ended is no failure
            group.died.setdefault(rank, at)
            return []
        where[rank] = at
        orders: list[Order] = []
        if where is group.failed:  # ranks that wait for it in a collective operation notice its death
            group.killed.add(rank)
            orders.append(Kill((rank,)))
        if self.phase is Phase.RUNNING:
            self.phase = Phase.ENDING
            group.behind = {} if self.presses else self._behind(group.reports.get(rank, -1), now)
            orders += self._interrupt_unless_behind(now)
        return orders

    def _behind(self, report: int, now: float) -> dict[int, float]:
        """The ranks that have not sent this report, and until when they may: a checkpoint may be on its way.

        For one that never reports, a failure waits as long as a checkpoint does.
        """
        group = self._group
        late = [rank for rank in group.alive() if group.reports.get(rank, -1) < report]
        first = now if group.first_report is None else group.first_report
        return {rank: now + BEHIND_S if rank in group.reports else first + SILENT_S for rank in late}

    def _interrupt_unless_behind(self, now: float) -> list[Order]:
        group = self._group
        failed = max((group.reports.get(rank, -1) for rank in (*group.failed, *group.died)), default=-1)
        group.behind = {
            rank: until
            for rank, until in group.behind.items()
            if now < until and rank in group.alive() and group.reports.get(rank, -1) < failed
        }
        return [] if group.behind else self._interrupt(group.alive(), now)

    def _interrupt(self, ranks: tuple[int, ...], now: float) -> list[Order]:
        if not ranks:
            return []
        self._group.interrupted.update(ranks)
        self._deadlines["finally"] = now + FINALLY_S
        return [InterruptRanks(ranks)]

    def _pressed(self, now: float) -> list[Order]:
        self.presses += 1
        alive = self._group.alive()
        if self.phase is Phase.PLACING:
            return self._finish(RunOutcome.STOPPED)
        if self.presses == 1 and self._group.behind:
            self._group.behind = {}
            return self._interrupt(alive, now)
        if self.presses == 1:
            return [RequestStop()] if self.phase is Phase.RUNNING else []
        if self.presses == 2:
            self._group.interrupted.update(alive)
            self._deadlines["hangs"] = now + HANGS_S
            return [InterruptRanks(alive), Notify("interrupted", alive)]
        self._group.killed.update(alive)
        return [Kill(alive)]

    # ---- checkpoints

    def _commits(self, now: float) -> list[Order]:
        """Commit the complete checkpoints in order; none before an earlier one."""
        orders: list[Order] = []
        for report in sorted(self._group.files):
            if self._lacking(report, now):
                break
            del self._group.files[report]
            self._group.committed = report
            orders.append(Commit(report))
        return orders + self._discards()

    def _discards(self) -> list[Order]:
        """Discard late parts, once no rank can be about to bring another one of the same report."""
        group = self._group
        passed = min((group.reports.get(rank, -1) for rank in group.alive()), default=-1)
        over = sorted(report for report in group.late if report <= passed)
        group.late.difference_update(over)
        return [DiscardPart(report) for report in over]

    def _lacking(self, report: int, now: float) -> tuple[int, ...]:
        """The ranks whose part is missing. A rank that has ended by itself brings none."""
        group = self._group
        late = [rank for rank in range(group.size) if group.reports.get(rank, -1) < report]
        late = [rank for rank in late if rank not in group.returned and not self._stopped_by_itself(rank)]
        if self._silent_was_reported or now >= group.files[report].since + SILENT_S:
            late = [rank for rank in late if rank in group.reports]
        return tuple(late)

    def _stopped_by_itself(self, rank: int) -> bool:
        """Whether a rank was stopped between two reports. One that was interrupted may have been within one: its part
        may be there, or half of it, without its report.
        """
        group = self._group
        cut_short = rank in group.interrupted and (rank in group.reports or group.failed or group.died)
        return rank in group.stopped and not cut_short

    # ---- time

    def _as_time_passes(self, now: float) -> list[Order]:
        if self.phase is Phase.PLACING:
            return []
        return [*self._late_checkpoints(now), *self._deadlines_passed(now), *self._odd_silence(now)]

    def _late_checkpoints(self, now: float) -> list[Order]:
        group = self._group
        orders: list[Order] = []
        first = min(group.files, default=None)
        if first is None:
            return []
        silent = tuple(rank for rank in group.alive() if rank not in group.reports)
        if silent and not self._silent_was_reported and now >= group.files[first].since + SILENT_S:
            self._silent_was_reported = True
            orders.append(Notify("silent", silent))
        orders += self._commits(now)
        for report, files in group.files.items():
            lacking = self._lacking(report, now)
            if lacking and not files.missing_was_reported and now >= files.since + MISSING_S:
                files.missing_was_reported = True
                orders += [Notify("missing", lacking, report), LetRunAhead()]
        return orders

    def _deadlines_passed(self, now: float) -> list[Order]:
        orders: list[Order] = self._interrupt_unless_behind(now) if self._group.behind else []
        alive = self._group.alive()
        if now >= self._deadlines.get("stopped", now + 1):
            del self._deadlines["stopped"]
            silent = [rank for rank in alive if rank not in self._group.reports]
            # One that was interrupted before is in its `finally` blocks: a second interrupt would cut them short.
            orders += self._interrupt(tuple(rank for rank in silent if rank not in self._group.interrupted), now)
        if now >= self._deadlines.get("finally", now + 1):
            del self._deadlines["finally"]
            left = tuple(rank for rank in alive if rank in self._group.interrupted and rank not in self._group.killed)
            self._group.killed.update(left)
            orders += [Kill(left)] if left else []
        if now >= self._deadlines.get("hangs", now + 1):
            del self._deadlines["hangs"]
            orders += [Notify("hangs", alive)] if self.presses == 2 else []
        return orders

    def _odd_silence(self, now: float) -> list[Order]:
        if self.phase is not Phase.RUNNING:
            return []
        alive = self._group.alive()
        if self._first_return is not None and alive and not self._early_was_reported:
            if now >= self._first_return + EARLY_S:
                self._early_was_reported = True
                return [Notify("early", alive)]
        elif self._last_report is None and now >= self._asked_at + STILL_S:
            self._asked_at = now  # again and again: it may come to where it hangs only later
            return [Notify("unheard", alive)]
        elif self._last_report is not None and not self._still_was_reported and now >= self._last_report + STILL_S:
            self._still_was_reported = True
            return [Notify("still", alive)]
        return []

    def _wake(self) -> list[Order]:
        times = [] if self.phase in (Phase.PLACING, Phase.ENDED) else self._times()
        soonest = min(times, default=0.0)
        if soonest == self._woken_for:
            return []
        self._woken_for = soonest
        return [WakeRunAt(soonest)] if times else []

    def _times(self) -> list[float]:
        times = [*self._deadlines.values(), *self._group.behind.values()]
        for files in self._group.files.values():
            if not self._silent_was_reported:
                times.append(files.since + SILENT_S)
            if not files.missing_was_reported:
                times.append(files.since + MISSING_S)
        if self.phase is Phase.RUNNING:
            if self._first_return is not None and not self._early_was_reported:
                times.append(self._first_return + EARLY_S)
            elif self._last_report is None:
                times.append(self._asked_at + STILL_S)
            elif not self._still_was_reported:
                times.append(self._last_report + STILL_S)
        return times

    # ---- the end

    def _look_at_the_end(self) -> list[Order]:
        if self.phase is Phase.PLACING or self._group.alive():
            return []
        return self._conclude()

    def _conclude(self) -> list[Order]:
        """Finish or restart the run, once all workers have returned, were stopped, or have failed."""
        group = self._group
        self._deadlines.clear()
        first = self._first_failure()
        if first is None:
            requested = group.stopped or group.killed
            return self._finish(RunOutcome.STOPPED if requested else RunOutcome.FINISHED)
        self.failures += 1
        if self.presses or (self._max_failures >= 0 and self.failures > self._max_failures):
            return self._finish(RunOutcome.FAILED, first)
        self.phase = Phase.PLACING
        self.number += 1
        self._group = _Group()
        self._early_was_reported = self._silent_was_reported = self._still_was_reported = False
        return [TakeDown(), Notify("restarting", (first,)), StartGroup(self.number)]

    def _first_failure(self) -> int | None:
        """The rank that failed first; a process that died by itself comes before ranks that lost it."""
        group = self._group
        died = {rank: at for rank, at in group.died.items() if rank not in group.killed}
        found = died or group.failed
        return min(found, key=lambda rank: (found[rank], rank), default=None)

    def _finish(self, outcome: RunOutcome, first_rank: int = -1) -> list[Order]:
        self.phase = Phase.ENDED
        return [TakeDown(), Finish(outcome, first_rank)]
