"""Ends the work of a process that died: its actors, and its tasks whose results nobody else can see.

A process that is killed or crashes no longer needs the results that it requested. A task goes on if another process has
a ref to its result. As in Ray, an actor ends with the process that created it, even if others have a handle; a detached
actor lives on. A worker that ends normally (it was idle, or had finished its accelerator task) ends no other work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.objects.tables import ObjectTables
    from nbaccel.local_engine.head.peers import Peer
    from nbaccel.local_engine.head.records import WorkerProcess
    from nbaccel.scheduling.scheduler import Scheduler
    from nbaccel.scheduling.tasks import TaskRecord

OWNER_DIED = "its owner has died: the process that created it ended"


class OrphanedWork:
    """Ends the work of dead workers."""

    def __init__(
        self, scheduler: Scheduler, objects: ObjectTables, tell: Tell, *, owner_died: Callable[[Peer], None]
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._tell = tell
        self._owner_died = owner_died  # called with the peer that waits for placement groups no more

    def end(self, worker: WorkerProcess, intended: bool) -> None:
        """End the work that this dead worker had submitted, if it dies with it. Its refs are released already."""
        worker_id = worker.worker_id
        if not self._dies_with_its_work(worker_id, intended):
            return
        if worker.peer is not None:
            self._owner_died(worker.peer)
        unfinished = list(self._scheduler.unfinished_tasks_of(worker_id))
        for record in reversed(unfinished):  # the last first: it holds arguments
            if not record.over and not self._is_wanted(record):
                self._tell(CancelAsked(record.task.task_id))
        for actor in list(self._scheduler.living_actors_of(worker_id)):
            if not actor.terms.detached:
                self._tell(ActorKillAsked(actor.actor_id, why=OWNER_DIED))

    def _is_wanted(self, record: TaskRecord) -> bool:
        """Whether another process, or other work, has a ref to one of its results."""
        objects = self._objects
        ids = (return_id(record.task.task_id, index) for index in range(max(1, record.task.terms.returns)))
        return any(id in objects.records and ledger.is_held(objects, objects.records[id]) for id in ids)

    def _dies_with_its_work(self, worker_id: bytes, intended: bool) -> bool:
        """Whether the worker's work dies with it. It does not if the worker was stopped because nobody needed it."""
        record = self._scheduler.worker_record(worker_id)
        return not intended or (record is not None and (record.killed or record.actor is not None))
