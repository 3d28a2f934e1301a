"""Assigns waiting tasks to workers: which line is next, which of its choices fits, which worker gets the task."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from nbaccel.scheduling.commands import CollectCycles, Command, Failure, ReleaseDevices, SendTasks
from nbaccel.scheduling.ledger import Hold
from nbaccel.scheduling.moves import ACTOR, BUSY, RUNNING, STARTING, SUBMITTED, WAITING
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import Shape, TaskRecord, TaskTable
from nbaccel.scheduling.terms import TaskKind
from nbaccel.scheduling.timers import Timers
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable

MOST_NOTICE_S = 3600.0
GARBAGE_AFTER = 0.1  # of the time after which a wait is reported: collecting a large program's cycles takes a second

if TYPE_CHECKING:
    from nbaccel.scheduling.actors import ActorRecord
    from nbaccel.scheduling.explain import Explainer

EndActor = Callable[["ActorRecord", str, float, Failure], None]
Way = tuple[Hold, int, str]  # the demand that was taken, its choice, and why


class Dispatcher:
    """Starts every task that can start. The same loop runs after every event that woke a line."""

    def __init__(
        self,
        out: list[Command],
        timers: Timers,
        cluster: PlacementBook,
        tasks: TaskTable,
        workers: WorkerTable,
        explainer: Explainer,
        waiting_notice_s: float,
    ) -> None:
        self._out = out
        self._timers = timers
        self._cluster = cluster
        self._tasks = tasks
        self._workers = workers
        self._explainer = explainer
        self._notice_s = waiting_notice_s
        # An engine that reports no waits has no need of it either.
        self._garbage_s = waiting_notice_s * (GARBAGE_AFTER if waiting_notice_s < MOST_NOTICE_S else 1)
        self._turns: dict[int, int] = {}  # job -> when it was last served
        self._turn = count(1)
        self.end_actor: EndActor  # set by the scheduler: actors are built on top of this

    # --- which line -----------------------------------------------------------------------------------------------

    def run(self, now: float) -> None:
        cluster = self._cluster
        woken = cluster.woken
        while woken or cluster.freed:
            if cluster.freed:
                cluster.offer_freed()
            for shape in sorted(woken, key=self._rank) if len(woken) > 1 else list(woken):
                record = shape.first()
                started = record is not None and self._start(shape, record, now)
                if not started or not shape.size:
                    woken.pop(shape, None)
                if started:
                    break  # another line may be next now

    def _rank(self, shape: Shape) -> tuple[int, int, int]:
        """The line with the lowest rank is next.

        Jobs take turns. Within one, deeper tasks go first, because parents that wait for them hold processes and
        memory; then the line whose first task came first.
        """
        first = shape.first()
        return (self._turns.get(shape.job, 0), -shape.depth, first.seq if first is not None else 0)

    def _start(self, shape: Shape, record: TaskRecord, now: float) -> bool:
        """Start the first task of the line. Returns False if it and all behind it have to wait."""
        way = self._way(shape, record, now)
        if way is None:
            self._must_wait(shape, record, now)
            return False
        self._turns[shape.job] = next(self._turn)
        self._tasks.leave(shape, record)
        hold, index, why = way
        record.choice = record.task.skipped + index
        record.choice_why = why or record.fell_because
        self.assign(record, hold, now)
        return True

    # --- which choice ---------------------------------------------------------------------------------------------

    def _way(self, shape: Shape, record: TaskRecord, now: float) -> Way | None:
        hold = self._cluster.take(shape.requests[0], record, now)
        if hold is None and shape.lasting is not None:
            hold = self._cluster.take_lasting(shape.requests[0], shape.lasting, record, now)
        if hold is not None:
            return hold, 0, ""
        if len(shape.requests) == 1:
            return None
        return self._fallback(shape, record, now)

    def _fallback(self, shape: Shape, record: TaskRecord, now: float) -> Way | None:
        """A later choice: at once when those before can never be met here, else when it has waited long enough."""
        after = shape.fallback_after_s
        patient = after is None or now < record.waiting_since + after
        for index, request in enumerate(shape.requests):
            if index:
                hold = self._cluster.take(request, record, now)
                if hold is not None:
                    return hold, index, self._explainer.why_fallback(shape, index, now - record.waiting_since)
            if patient and (request.has_places or self._cluster.could_come(request)):
                if after is not None:
                    self._fall_later(shape, record.waiting_since + after)
                return None
        return None

    def _fall_later(self, shape: Shape, when: float) -> None:
        if shape.fallback_armed != when:
            shape.fallback_armed = when
            self._timers.at(when, self._time_to_fall, shape)

    def _time_to_fall(self, shape: Shape, now: float) -> None:
        if shape.size:
            self._cluster.woken[shape] = None

    # --- waiting --------------------------------------------------------------------------------------------------

    def _must_wait(self, shape: Shape, record: TaskRecord, now: float) -> None:
        self._cluster.stirred = True
        if not any(request.has_places for request in shape.requests):
            if any(map(self._cluster.could_come, shape.requests)):
                self._notify_arriving(shape, now)
            elif (failure := self._lost(shape, record)) is not None:
                self._give_up(shape, failure, now)
                return
            else:
                self._notify_infeasible(shape)
        if not shape.notice_armed:
            shape.notice_armed = True
            self._timers.at(record.waiting_since + self._notice_s, self._notice, shape)
        if not shape.garbage_armed:
            shape.garbage_armed = True
            self._timers.at(record.waiting_since + self._garbage_s, self._look_for_handles, shape)

    def _look_for_handles(self, shape: Shape, now: float) -> None:
        """Ask for a collection of garbage if actors hold what the line waits for: again later, and more rarely."""
        record = shape.first()
        shape.garbage_armed = record is not None
        if record is None:
            return
        waited = now - record.waiting_since
        if waited >= self._garbage_s and self._explainer.actors_hold(shape):
            self._out.append(CollectCycles())
        self._timers.at(now + max(self._garbage_s, waited), self._look_for_handles, shape)

    def _lost(self, shape: Shape, record: TaskRecord) -> Failure | None:
        """A hard wish for one node is refused in words, as in Ray: no node that joins could meet it.

        So is what only a lost device could have met, and everything that can never be met here, where the user wants
        to hear of it at `get`.
        """
        if self._explainer.group_is_gone(shape):
            return Failure.GROUP_REMOVED
        if record.task.terms.refuse_infeasible and (
            self._explainer.refused_group(shape) or not self._explainer.waits_for_group(shape)
        ):
            return Failure.UNSCHEDULABLE
        if self._explainer.waits_for_lost(shape):
            return Failure.UNSCHEDULABLE
        if all(c.placement.strategy == "NODE" and not c.placement.soft for c in shape.choices):
            return Failure.UNSCHEDULABLE
        return None

    def _give_up(self, shape: Shape, failure: Failure, now: float) -> None:
        reason = self._explainer.refused_group(shape) or self._explainer.why_never(shape)
        if failure is Failure.GROUP_REMOVED:
            reason = "its placement group was removed"
        while (record := shape.first()) is not None:
            message = self._explainer.refusal(shape, record, reason)
            if record.actor is None:
                self._tasks.fail(record, failure, message, now)
            else:
                self.end_actor(record.actor, message, now, failure)

    def _notify_infeasible(self, shape: Shape) -> None:
        """At once, once under each cell; in the place of what was said while a node could still come."""
        if self._explainer.waits_for_group(shape):
            return
        for each in self._not_notified(shape, "infeasible"):
            self._tasks.send(shape, each, "infeasible", self._explainer.infeasible(shape, each))

    def _notify_arriving(self, shape: Shape, now: float) -> None:
        """At once, once under each cell: which type of node the cluster is to get."""
        for each in self._not_notified(shape, "waiting"):
            self._tasks.send(shape, each, "waiting", self._explainer.explain(each, now).sentence)

    def _not_notified(self, shape: Shape, kind: str) -> list[TaskRecord]:
        """Of each cell that has not been told this kind of reason, its first task in the line: among the first of it,
        where those are that have come back, and the one that has just joined its end.
        """
        found = self._tasks.longest_waiting(shape)
        last = shape.line[-1]
        if last.state == WAITING:
            found.setdefault(last.task.terms.cell_in_words, last)
        notified = shape.notified
        return [record for cell, record in found.items() if cell not in notified or notified[cell].kind != kind]

    def _could_ever(self, shape: Shape) -> bool:
        return any(request.has_places or self._cluster.could_come(request) for request in shape.requests)

    def _notice(self, shape: Shape, now: float) -> None:
        """A line under each cell whose task waits for long; said again from time to time, since the reason changes."""
        shape.notice_armed = False
        record = shape.first()
        if record is None:
            return
        shape.notice_armed = True
        due = record.waiting_since + self._notice_s
        self._timers.at(due if due > now else now + self._notice_s, self._notice, shape)
        if not self._explainer.waits_for_group(shape) and not self._could_ever(shape):
            return  # reported at once
        for first in self._tasks.longest_waiting(shape).values():
            if first.waiting_since + self._notice_s <= now:
                self._notify_waiting(shape, first, now)

    def _notify_waiting(self, shape: Shape, record: TaskRecord, now: float) -> None:
        kind, message = self._explainer.stuck(shape, record, now)
        if message:
            self._tasks.send(shape, record, kind, message)
            return
        more = f" {shape.size - 1} more that ask the same wait too." if shape.size > 1 else ""
        self._tasks.send(shape, record, "waiting", f"{self._explainer.explain(record, now).sentence}{more}")

    # --- which worker ---------------------------------------------------------------------------------------------

    def assign(self, record: TaskRecord, hold: Hold, now: float) -> None:
        """Give a worker to a task that has its resources, and send the task when the worker is ready."""
        worker = self._workers.acquire(record, hold, now)
        worker.queue.append(record)
        record.worker, record.hold = worker, hold
        shape = worker.shape = record.shape
        if shape is not None:
            shape.workers += 1
        actor = record.actor
        if actor is not None:
            worker.actor = actor
            actor.worker, actor.hold = worker, hold
            hold.belong_to(actor, hold.since)
        if worker.state is STARTING:
            self._tasks.move(record, SUBMITTED, now)
        else:
            self.begin(worker, record, now)

    def worker_ready(self, worker: WorkerRecord, now: float) -> None:
        """A process that was started for a task is ready."""
        record = worker.queue[0]
        creates = record.task.kind is TaskKind.ACTOR_CREATION
        self._workers.move(worker, ACTOR if creates else BUSY, now)
        self.begin(worker, record, now)

    def begin(self, worker: WorkerRecord, record: TaskRecord, now: float) -> None:
        """Send the first task of a worker's queue."""
        self._tasks.move(record, RUNNING, now)
        worker.began_at = record.started_at = now
        hold = worker.hold
        assert hold is not None
        hold.belong_to(hold.owner, now)
        worker.leased = True
        self._out.append(SendTasks(worker.worker_id, [record.task], worker.node_id, hold.devices, record.choice, True))

    # --- the end of a queue ---------------------------------------------------------------------------------------

    def end_queue(self, worker: WorkerRecord) -> None:
        """The queue has ended: the worker holds nothing more."""
        shape, hold = worker.shape, worker.hold
        if shape is not None:
            shape.workers -= 1
            worker.shape = None
        if hold is not None:
            worker.hold = None
            if hold.parts and worker.leased:
                self._out.append(ReleaseDevices(worker.worker_id, hold.place.node_id, hold.devices))
            self._cluster.give_all(hold)
        worker.leased = False

    def close_queue(self, worker: WorkerRecord) -> None:
        """The worker no longer counts among those that run its shape."""
        shape = worker.shape
        if shape is not None:
            shape.workers -= 1
            worker.shape = None

    def retire(self, worker: WorkerRecord, why: str, now: float) -> None:
        """End the worker. Its devices stay held until the process is gone, because only then their memory is free."""
        self.close_queue(worker)
        if worker.hold is not None:
            self._cluster.give_pooled(worker.hold)
        self._workers.stop(worker, why, now)
