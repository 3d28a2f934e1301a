"""Work that ends before it is done: cancels, ended jobs, lost nodes, removed placement groups."""

from __future__ import annotations

from collections.abc import Callable

from nbaccel.scheduling.actors import ActorTable
from nbaccel.scheduling.commands import Command, Failure, InterruptTask
from nbaccel.scheduling.dispatch import Dispatcher
from nbaccel.scheduling.events import CancelRequested
from nbaccel.scheduling.groups import GroupRecord, GroupTable
from nbaccel.scheduling.ledger import Place
from nbaccel.scheduling.moves import ARGS, STARTING, SUBMITTED, WAITING, ActorStatus
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import TaskRecord, TaskTable
from nbaccel.scheduling.terms import TaskKind
from nbaccel.scheduling.timers import Timers
from nbaccel.scheduling.worker_queues import WorkerQueues
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable


class Endings:
    """Ends work wherever it is: waiting, in a starting worker, behind another task, or running."""

    def __init__(
        self,
        out: list[Command],
        timers: Timers,
        cluster: PlacementBook,
        tasks: TaskTable,
        workers: WorkerTable,
        dispatcher: Dispatcher,
        queues: WorkerQueues,
        actors: ActorTable,
        groups: GroupTable,
        grace_s: float,
    ) -> None:
        self._out = out
        self._timers = timers
        self._cluster = cluster
        self._tasks = tasks
        self._workers = workers
        self._dispatcher = dispatcher
        self._queues = queues
        self._actors = actors
        self._groups = groups
        self._grace_s = grace_s

    # --- cancel ---------------------------------------------------------------------------------------------------

    def cancel(self, record: TaskRecord, event: CancelRequested, now: float) -> None:
        """Cancel this task and, if requested, all tasks that it has submitted."""
        stack = [record]
        while stack:
            each = stack.pop()
            if event.recursive:
                each.doom = event
                stack += (each.children or {}).values()
            self._cancel_one(each, event.force, now)

    def cancel_doomed(self, now: float) -> None:
        """What was on its way when its parent was cancelled, or was submitted while the parent tidied up and left."""
        doomed = self._tasks.doomed
        while doomed:
            record, event = doomed.pop()
            self.cancel(record, event, now)

    def _cancel_one(self, record: TaskRecord, force: bool, now: float) -> None:
        if record.over:
            return
        kind = record.task.kind
        message = f"{record.task.name} was cancelled."
        if kind is TaskKind.ACTOR_CREATION:
            if record.actor is not None and record.state in (ARGS, WAITING, SUBMITTED):
                self._actors.kill(record.actor, "its creation was cancelled", now, failure=Failure.CANCELLED)
        elif kind is TaskKind.ACTOR_CALL:
            self._cancel_call(record, message, now)
        else:
            self._cancel_task(record, message, force, now)

    def _cancel_call(self, record: TaskRecord, message: str, now: float) -> None:
        if record.worker is None:
            self._actors.cancel_waiting(record, Failure.CANCELLED, message, now)
            return
        if not record.cancelled:  # a flag for the code to look at: an actor is never killed for one call
            record.cancelled = True
            self._out.append(InterruptTask(record.worker.worker_id, record.task.task_id))

    def _cancel_task(self, record: TaskRecord, message: str, force: bool, now: float) -> None:
        worker = record.worker
        if worker is None:
            self._tasks.fail(record, Failure.CANCELLED, message, now)
        elif worker.state is STARTING:
            self._end_bound(record, Failure.CANCELLED, message, now)
        elif record.state == SUBMITTED:
            record.cancelled = True
            self._out.append(InterruptTask(worker.worker_id, record.task.task_id))
            self._tasks.fail(record, Failure.CANCELLED, message, now)
            self._queues.recall(worker)
        elif force:
            self._kill(record, Failure.CANCELLED, message, "its task was cancelled with force=True", now)
        elif not record.cancelled:
            record.cancelled = True
            self._out.append(InterruptTask(worker.worker_id, record.task.task_id))
            self._timers.at(now + self._grace_s, self._grace_over, record)

    def _grace_over(self, record: TaskRecord, now: float) -> None:
        if record.over or not record.cancelled or record.worker is None:
            return
        message = f"{record.task.name} was cancelled, and killed because it did not stop within {self._grace_s:g} s."
        self._kill(record, Failure.CANCELLED, message, "its task ignored its cancellation", now)

    def _kill(self, record: TaskRecord, failure: Failure, message: str, why: str, now: float) -> None:
        worker = record.worker
        assert worker is not None
        self._tasks.fail(record, failure, message, now)
        self._workers.stop(worker, why, now, True)

    def _end_bound(self, record: TaskRecord, failure: Failure, message: str, now: float) -> None:
        """Its process has not come up yet: the process stays for others, what was held goes back."""
        worker = record.worker
        assert worker is not None
        worker.queue.clear()
        self._dispatcher.end_queue(worker)
        self._tasks.fail(record, failure, message, now)

    # --- ends of many ---------------------------------------------------------------------------------------------

    def _end_tasks(self, doomed: Callable[[TaskRecord], bool], failure: Failure, why: str, now: float) -> None:
        """End plain tasks in any state; tasks that share a worker with them start again elsewhere."""
        for record in list(self._tasks.records.values()):
            if record.over or record.task.kind is not TaskKind.TASK or not doomed(record):
                continue
            worker, message = record.worker, f"{record.task.name} ended because {why}."
            if worker is not None and worker.state is STARTING:
                self._end_bound(record, failure, message, now)
                continue
            self._tasks.fail(record, failure, message, now)
            if worker is not None:
                self._workers.stop(worker, why, now, True)

    def job_ended(self, job: int, why: str, now: float) -> None:
        for actor in list(self._actors.records.values()):
            if actor.task.job == job and not actor.creation.of_detached:
                self._actors.kill(actor, why, now, failure=Failure.JOB_ENDED)
        self._end_tasks(lambda record: record.task.job == job and not record.of_detached, Failure.JOB_ENDED, why, now)
        self._end_calls(job, why, now)
        for worker in self._workers.of_job(job):
            if not _of_detached(worker):
                self._workers.stop(worker, why, now, True)
        for group in list(self._groups.records.values()):
            if group.spec.job == job and not group.spec.detached:
                self.remove_group(group, why, now)
        self._workers.forget_pools_of(job)

    def _end_calls(self, job: int, why: str, now: float) -> None:
        """End calls to detached actors that have not been sent: nobody waits for them any more."""
        for actor in self._actors.records.values():
            if actor.state is ActorStatus.DEAD:
                continue
            for record in list(actor.calls()):
                if record.task.job == job and record.worker is None and not record.of_detached:
                    self._actors.cancel_waiting(
                        record, Failure.JOB_ENDED, f"{record.task.name} ended because {why}.", now
                    )

    def remove_group(self, group: GroupRecord, why: str, now: float) -> None:
        group_id = group.spec.group_id
        for actor in list(self._actors.records.values()):
            if actor.state is not ActorStatus.DEAD and _in_group(actor.creation, group_id):
                self._actors.kill(actor, why, now, failure=Failure.GROUP_REMOVED)
        self._groups.remove(group, now)
        self._end_tasks(lambda record: _in_group(record, group_id), Failure.GROUP_REMOVED, why, now)

    def remove_node(self, node: Place, why: str, now: float) -> None:
        """Remove a node: all its processes count as gone, and their late messages are ignored."""
        inside = self._workers.on_node(node.node_id)
        self._groups.node_lost(node.node_id, now)
        self._cluster.remove_node(node.node_id)
        for worker in inside:
            if worker.actor is not None:
                self._workers.stop(worker, why, now, True)
                self._actors.worker_lost(worker, why, now)
            else:
                self._queues.node_lost(worker, why, now)
                self._workers.stop(worker, why, now, True)


def _of_detached(worker: WorkerRecord) -> bool:
    if worker.actor is not None:
        return worker.actor.creation.of_detached
    return any(record.of_detached and not record.over for record in worker.queue)


def _in_group(record: TaskRecord, group_id: bytes) -> bool:
    hold = record.hold
    if hold is not None:
        return hold.place.group_id == group_id
    return any(choice.placement.group_id == group_id for choice in record.task.terms.choices)
