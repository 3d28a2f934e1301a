"""What is said without being asked: that a request can never be met, and why work waits that has waited for long.

A thread sleeps while nothing is out. While something is, it looks once a second: at demands that are new (one question
to Ray), and at work that has been out for `PATIENCE_S`. Only where Ray says that such a demand is queued are the tasks
asked to report, which tells those that run from those that wait.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Protocol

import msgspec
import ray

from nbaccel import exceptions
from nbaccel.ray_engine.rays import RaysRef, RaysStream, is_stream
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.planning import AutoscalerFacts
from nbaccel.ray_engine.reports.reports import ActorFacts
from nbaccel.ray_engine.session import internals
from nbaccel.ray_engine.submission.submissions import Submission, Submissions
from nbaccel.scheduling.reasons import Feasibility
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import sinks
from nbaccel.views.snapshot import Snapshot

# ---- asks Ray about unfinished work: whether it has ended, whether an actor is placed, which demands wait


Demand = tuple[tuple[str, float], ...]

_TIMEOUT_S = 5.0


def demand_of(quantities: Mapping[str, float]) -> Demand:
    """The same for the same demand."""
    return tuple(sorted((name, round(amount, 4)) for name, amount in quantities.items() if amount))


class OutstandingWork:
    """Asks for one driver. `reaches_head`: False through Ray Client, which tells neither of actors nor of lines."""

    def __init__(self, *, reaches_head: bool) -> None:
        self.reaches_head = reaches_head

    def over(self, work: list[Submission], *, or_let_go: bool) -> set[bytes]:
        """The tasks that have ended and the actors that have their place; `or_let_go`: and what can not be asked any
        more, since nobody holds its ref.
        """
        refs: dict[RaysRef, bytes] = {}
        actors: dict[str, bytes] = {}
        found: set[bytes] = set()
        for each in work:
            ref = each.inner()
            if ref is None or (each.actor_id and not self.reaches_head):
                found |= {each.task_id} if or_let_go else set()
            elif each.actor_id:
                actors[each.actor_id.hex()] = each.task_id
            else:
                refs[_end_of(ref._inner)] = each.task_id
        done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=0, fetch_local=False) if refs else ([], [])
        rows = internals.actors() if actors else {}
        placed = {task_id for actor_id, task_id in actors.items() if _is_placed(rows.get(actor_id))}
        return found | {refs[ref] for ref in done} | placed

    def in_line(self) -> dict[Demand, int]:
        """How many requests of each demand Ray's nodes could not start yet, of all jobs of the cluster."""
        if not self.reaches_head:
            return {}
        found: dict[Demand, int] = {}
        for shape, number in internals.waiting_demands(_TIMEOUT_S):
            if number:
                demand = demand_of(shape)
                found[demand] = found.get(demand, 0) + number
        return found


def _end_of(inner: RaysRef | RaysStream) -> RaysRef:
    """Ray's ref that is ready once the task has ended."""
    return inner.completed() if is_stream(inner) else inner


def _is_placed(row: ActorFacts | None) -> bool:
    """Whether an actor has its resources, or has ended; its constructor may run still."""
    if not row or row["State"] == "DEPENDENCIES_UNREADY":
        return False
    return row["State"] != "PENDING_CREATION" or bool(row["Address"]["NodeID"].strip("f"))


# ----


LOOK_EVERY_S = 1.0
PATIENCE_S = 5.0  # a task that waits longer gets a line under its cell
REPORTS_COME_S = 3.0  # the time after the first question in which every running task reports
QUIET_S = 2.0  # before an old task that Ray does not queue is checked again: it runs or awaits arguments
JUDGE_AGAIN_S = 5.0  # before a demand that no node can meet is judged again
MOST_ASKED = 500  # tasks with the same demand about which Ray is asked at once
MOST_OUT = 5_000
MOST_REMEMBERED = 1_000


class CellLine(msgspec.Struct):
    """What was said under a cell about those of its tasks that ask the same."""

    id: bytes  # the task whose id names the line
    message: str = ""


class WaitingWork(msgspec.Struct):
    """Work that asks for the same and is not known to have begun, in order."""

    demand: Demand
    out: OrderedDict[bytes, Submission] = msgspec.field(default_factory=OrderedDict)
    ever: bool = True
    never: str = ""  # why no node can meet it
    more: str = ""  # what the autoscaler can add if no node can meet it
    lines: dict[bytes, CellLine] = {}  # cell's parent -> line
    quiet_until: float = 0.0

    def is_late(self, now: float) -> bool:
        """Whether its first has been out for long, and it is time to look why."""
        first = next(iter(self.out.values()), None)
        return self.ever and first is not None and now > max(first.submitted_at + PATIENCE_S, self.quiet_until)

    def first_of_cells(self, number: int) -> dict[bytes, Submission]:
        """Of the last so many, which are those that wait, the first of each cell."""
        found: dict[bytes, Submission] = {}
        for each in islice(self.out.values(), max(0, len(self.out) - number), None):
            found.setdefault(each.parent, each)
        return found

    def say(self, kind: str, parent: bytes, each: Submission, message: str) -> None:
        """One line under the cell, in the place of the one that was there."""
        line = self.lines.setdefault(parent, CellLine(each.task_id))
        if line.message != message:
            line.message = message
            sinks.installed.notice(sinks.Notice(kind, message, parent, line.id))

    def take_away(self, *, but: dict[bytes, Submission]) -> None:
        """The lines of the cells of which nothing waits any more."""
        for parent in [parent for parent in list(self.lines) if parent not in but]:
            if (line := self.lines.pop(parent, None)) is not None:
                sinks.installed.notice(sinks.Notice("waiting", "", parent, line.id))


class Reporting(Protocol):
    """What tasks have said."""

    def is_watched(self) -> bool: ...
    def glance(self) -> bool: ...
    def has_begun(self, task_id: bytes) -> bool: ...


class ClusterCapacity(Protocol):
    """What the cluster has."""

    def take(self, *, metrics: bool) -> Snapshot: ...
    def nodes_only(self) -> Snapshot: ...
    def autoscaler(self) -> AutoscalerFacts: ...


class RayWorkQuestions(Protocol):
    """What Ray can be asked about work that is out."""

    def over(self, work: list[Submission], *, or_let_go: bool) -> set[bytes]: ...
    def in_line(self) -> dict[Demand, int]: ...


class Notices:
    """Of one driver."""

    def __init__(
        self,
        submissions: Submissions,
        reports: Reporting,
        snapshots: ClusterCapacity,
        outstanding: RayWorkQuestions,
        *,
        refuses: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._submissions = submissions
        self._reports = reports
        self._snapshots = snapshots
        self._outstanding = outstanding
        self._refuses = refuses  # an impossible demand raises an error and needs no line
        self._clock = clock
        self._groups: dict[Demand, WaitingWork] = {}
        self._can: set[Demand] = set()  # demands that can be met here
        self._seen = 0
        self._reports_since: float | None = None
        self._submitted = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nbaccel-notices", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is said any more, and nothing waits."""
        self._ending.set()
        self._submitted.set()
        self._thread.join(LOOK_EVERY_S)
        self._take_all_away()

    def _take_all_away(self) -> None:
        for group in list(self._groups.values()):
            group.take_away(but={})

    def _run(self) -> None:
        while not self._ending.is_set():
            if not self._groups:
                self._sleep()
            try:
                self.look()
            except (ray.exceptions.RayError, exceptions.RayError, ConnectionError, RuntimeError):
                if not ray.is_initialized():
                    break  # the program has left Ray
            self._ending.wait(LOOK_EVERY_S)
        self._take_all_away()  # a look that took long has said something after all had ended

    def _sleep(self) -> None:
        """Until something is submitted; only then does a submission pay for more than a look at one attribute."""
        self._submitted.clear()
        self._submissions.wake_at_next(self._submitted.set)
        if not self._submissions.any_waits_after(self._seen) and not self._ending.is_set():
            self._submitted.wait()
        self._submissions.wake_at_next(None)

    # ---- one look

    def look(self) -> None:
        """Say what is new, change what has changed, take away what is over."""
        self._seen, new = self._submissions.since(self._seen)
        self._take_in(new)
        self._judge([group for group in self._groups.values() if group.demand not in self._can])
        for group in self._groups.values():
            self._forget_ended(group)
        self._look_at_late()
        for group in list(self._groups.values()):
            group.take_away(but={each.parent: each for each in group.out.values()})
            if not group.out:
                del self._groups[group.demand]

    def _take_in(self, new: list[Submission]) -> None:
        for each in new:
            demand = demand_of(each.about.demand)
            if demand and each.about.kind is not TaskKind.ACTOR_CALL:
                group = self._groups.setdefault(demand, WaitingWork(demand))
                if len(group.out) < MOST_OUT:
                    group.out[each.task_id] = each

    def _forget_ended(self, group: WaitingWork) -> None:
        """From the front, as far as it has ended. What can never be met stays out, also when nobody holds its ref."""
        while group.out:
            asked = list(islice(group.out.values(), MOST_ASKED))
            over = self._outstanding.over(asked, or_let_go=group.ever)
            for task_id in over:
                del group.out[task_id]
            if len(over) < MOST_ASKED:
                return

    # ---- impossible demands

    def _judge(self, groups: list[WaitingWork]) -> None:
        """Those whose demand is not known to be one that can be met here; later again, since a node may join."""
        now = self._clock()
        due = [group for group in groups if group.quiet_until <= now]
        if due:
            nodes = self._snapshots.nodes_only()
            for group in due:
                self._judge_one(group, planning.verdict(nodes, dict(group.demand)), now)
        for group in groups:
            if not group.ever and not self._refuses:
                for parent, each in group.first_of_cells(len(group.out)).items():
                    message = planning.never(each.about.name, each.cell, dict(group.demand), group.never)
                    group.say("infeasible", parent, each, message)

    def _judge_one(self, group: WaitingWork, found: Feasibility, now: float) -> None:
        word, more = "", ""
        if not found.ever:
            word, more = planning.addable(self._snapshots.autoscaler(), dict(group.demand))
        group.more = more if word else ""
        group.ever, group.never = found.ever or bool(word), "; ".join(filter(None, (found.reason, more)))
        group.quiet_until = 0.0 if group.ever else now + JUDGE_AGAIN_S
        if group.ever:
            self._remember(group.demand)
            group.take_away(but={})

    def _remember(self, demand: Demand) -> None:
        if len(self._can) >= MOST_REMEMBERED:
            self._can.clear()
        self._can.add(demand)

    # ---- long waits

    def _look_at_late(self) -> None:
        now = self._clock()
        late = [group for group in self._groups.values() if group.is_late(now)]
        if not late:
            return
        in_line = self._outstanding.in_line()
        for group in late:
            group.quiet_until = 0.0 if group.demand in in_line else now + QUIET_S
            if group.quiet_until:
                group.take_away(but={})
        late = [group for group in late if not group.quiet_until]
        if late and self._reports_are_in(now):
            self._tell(late, in_line)

    def _reports_are_in(self, now: float) -> bool:
        """The first question makes the tasks report; those that run have done so a little later."""
        if self._reports_since is None:
            self._reports_since = now - REPORTS_COME_S if self._reports.is_watched() else now
        fresh = self._reports.glance()
        return fresh and now - self._reports_since >= REPORTS_COME_S

    def _tell(self, late: list[WaitingWork], in_line: dict[Demand, int]) -> None:
        """Why each of these waits, under each of its cells."""
        for group in late:
            for task_id in [id for id in group.out if self._reports.has_begun(id)]:
                del group.out[task_id]
        snapshot = self._snapshots.take(metrics=False)
        for group in late:
            waiting = group.first_of_cells(in_line[group.demand])
            size = min(len(group.out), in_line[group.demand])
            more = f" {size - 1} more that ask the same wait too." if size > 1 else ""
            for parent, each in waiting.items():
                kind, message = planning.why_it_waits(
                    snapshot, each.about.name, each.cell, each.about.demand, group.more
                )
                if message:
                    group.say(kind, parent, each, message + more * (kind == "waiting"))
            group.take_away(but=waiting)
