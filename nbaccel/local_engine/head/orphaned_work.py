"""The work of a process that died: its tasks whose results nobody else can see end, and so do its actors.

A process that is killed, or crashes, no longer wants what it asked for. A task whose result another process holds goes
on. An actor ends with the process that created it, also where others hold a handle, as in Ray; a detached actor lives
on. A worker that ends in peace (it was idle, or had served its accelerator task) takes nothing along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.objects.ledger import Objects
    from nbaccel.local_engine.head.records import WorkerProcess
    from nbaccel.scheduling.scheduler import Scheduler
    from nbaccel.scheduling.tasks import TaskRecord

OWNER_DIED = "its owner has died: the process that created it ended"


class OrphanedWork:
    """Ends the work of dead workers."""

    def __init__(
        self, scheduler: Scheduler, objects: Objects, tell: Tell, *, owner_died: Callable[[int], None]
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._tell = tell
        self._owner_died = owner_died  # called with the client that waits for placement groups no more

    def end(self, worker: WorkerProcess, intended: bool) -> None:
        """End what this dead worker had submitted, if its work dies with it; what it held was let go of already."""
        worker_id = worker.worker_id
        if not self._dies_with_its_work(worker_id, intended):
            return
        if worker.peer is not None:
            self._owner_died(worker.peer.client_id)
        unfinished = list(self._scheduler.unfinished_tasks_of(worker_id))
        for record in reversed(unfinished):  # the last first: it holds arguments
            if not record.over and not self._is_wanted(record):
                self._tell(CancelAsked(record.task.task_id))
        for actor in list(self._scheduler.living_actors_of(worker_id)):
            if not actor.terms.detached:
                self._tell(ActorKillAsked(actor.actor_id, why=OWNER_DIED))

    def _is_wanted(self, record: TaskRecord) -> bool:
        """Whether another process, or other work, holds one of its results."""
        objects = self._objects
        ids = (return_id(record.task.task_id, index) for index in range(max(1, record.task.payload.terms.returns)))
        return any(id in objects.records and objects.is_held(objects.records[id]) for id in ids)

    def _dies_with_its_work(self, worker_id: bytes, intended: bool) -> bool:
        """Not so a worker that was stopped because nobody needed it any more."""
        record = self._scheduler.worker_record(worker_id)
        return not intended or (record is not None and record.actor is not None)
