"""The work of a process that died: its tasks whose results nobody else can see end, and so do its actors.

A process that is killed, or crashes, no longer wants what it asked for. A task whose result another process holds goes
on. An actor ends with the process that created it, also where others hold a handle, as in Ray; a detached actor lives
on. A worker that ends in peace (it was idle, or had served its accelerator task) takes nothing along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head
    from nbaccel.local_engine.head.records import WorkerProcess
    from nbaccel.scheduling.tasks import TaskRecord

OWNER_DIED = "its owner has died: the process that created it ended"


def end_work_of(head: Head, worker: WorkerProcess, intended: bool) -> None:
    """End what this dead worker had submitted, if its work dies with it; what it held has been let go of already."""
    worker_id = worker.worker_id
    if not _dies_with_its_work(head, worker_id, intended):
        return
    if worker.peer is not None:
        head.questions.groups.owner_died(worker.peer.client_id)
    for record in reversed(list(head.scheduler.unfinished_tasks_of(worker_id))):  # the last first: it holds arguments
        if not record.over and not _is_wanted(head, record):
            head.handle(CancelAsked(record.task.task_id))
    for actor in list(head.scheduler.living_actors_of(worker_id)):
        if not actor.terms.detached:
            head.handle(ActorKillAsked(actor.actor_id, why=OWNER_DIED))


def _is_wanted(head: Head, record: TaskRecord) -> bool:
    """Whether another process, or other work, holds one of its results."""
    objects = head.objects
    ids = (return_id(record.task.task_id, index) for index in range(max(1, record.task.payload.terms.returns)))
    return any(id in objects.records and objects.is_held(objects.records[id]) for id in ids)


def _dies_with_its_work(head: Head, worker_id: bytes, intended: bool) -> bool:
    """Not so a worker that was stopped because nobody needed it any more."""
    record = head.scheduler.worker_record(worker_id)
    return not intended or (record is not None and record.actor is not None)
