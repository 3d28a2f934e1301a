"""Work whose submitter has died, and whose outcome nobody else can see: it ends, and gives back what it holds.

A process that is killed, or crashes, no longer wants what it asked for. Results and handles that it had passed on keep
their makers alive. A worker that ends in peace (it was idle, or had served its accelerator task) takes nothing along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbaccel.local_engine.ids import return_id
from nbaccel.scheduling.events import ActorKillAsked, CancelAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head
    from nbaccel.scheduling.actors import ActorRecord
    from nbaccel.scheduling.tasks import TaskRecord

_WHY = "the process that created it ended"


def end_work_of(head: Head, worker_id: bytes) -> None:
    """End what this dead worker had submitted; what it held has been let go of already."""
    for record in reversed(list(head.scheduler.unfinished_tasks_of(worker_id))):  # the last first: it holds arguments
        if not record.over and not _is_wanted(head, record):
            head.handle(CancelAsked(record.task.task_id))
    for actor in list(head.scheduler.living_actors_of(worker_id)):
        if not actor.task.detached and not _is_reachable(head, actor):
            head.handle(ActorKillAsked(actor.actor_id, why=_WHY))


def _is_wanted(head: Head, record: TaskRecord) -> bool:
    """Whether another process, or other work, holds one of its results."""
    objects = head.objects
    ids = (return_id(record.task.task_id, index) for index in range(max(1, record.task.payload.record.returns)))
    return any(id in objects.records and objects.is_held(objects.records[id]) for id in ids)


def _is_reachable(head: Head, actor: ActorRecord) -> bool:
    """Whether a handle of it is held elsewhere, or somebody else's call is under way."""
    record = head.objects.records.get(actor.actor_id)
    calls = list(actor.calls())
    if any(call.task.owner_worker != actor.task.owner_worker for call in calls):
        return True
    return record is not None and (record.owner >= 0 or bool(record.holders) or record.pins > len(calls))


def dies_with_its_work(head: Head, worker_id: bytes, intended: bool) -> bool:
    """Not so a worker that was stopped because nobody needed it any more."""
    record = head.scheduler.worker_record(worker_id)
    return not intended or (record is not None and record.actor is not None)
