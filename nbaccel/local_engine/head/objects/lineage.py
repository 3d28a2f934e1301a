"""Where large objects lie, and how they are made again when their node is lost.

Only a head with virtual nodes keeps any of this. Small values live in the head and cannot be lost; a large one lies on
the node of the worker that made it and on those whose processes have read it. While such an object lives, so do the
arguments of the task that made it.
"""

from __future__ import annotations

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import delivery, ledger
from nbaccel.local_engine.head.objects.tables import Maker, ObjectContext
from nbaccel.local_engine.head.records import TaskEntry, entry_of
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import PUT_INDEX, index_of, return_id, task_of
from nbaccel.scheduling.events import TasksSubmitted
from nbaccel.scheduling.moves import TaskStatus
from nbaccel.scheduling.terms import Task, TaskKind, Terms

_FEWER = failures.failed(
    "ObjectReconstructionFailedError",
    "An item of a stream was lost with its node, and the stream gave fewer items when its task ran again.",
)


def placed(context: ObjectContext, id: bytes, node_id: bytes) -> None:
    """An object's bytes are on this node."""
    if not context.objects.can_be_lost:
        return
    record = context.objects.records.get(id)
    if record is not None and record.value is not None and record.value.data is None:
        record.nodes = (record.nodes or set()) | {node_id}


def made(context: ObjectContext, task: Task, entry: TaskEntry) -> bool:
    """A task has returned; whether its arguments must be kept, because it may have to run again."""
    streams = entry.terms.num_returns == wire.STREAMING
    indices = range(1, entry.items + 1) if streams else range(entry.terms.returns)
    ids = {return_id(task.task_id, index) for index in indices}
    if not streams:  # the places of items were noted as they arrived
        for id in ids:
            placed(context, id, entry.node_id)
    records = context.objects.records
    large = {id for id in ids if id in records and records[id].nodes is not None}
    if not large or entry.failed:
        return False
    why_not = _why_not_again(task, entry.terms)
    context.objects.makers[task.task_id] = Maker(task, large, why_not)
    return not why_not


def forget(context: ObjectContext, ids: list[bytes]) -> None:
    """Nobody holds these objects any more."""
    for id in ids:
        maker = context.objects.makers.get(task_of(id))
        if maker is None:
            continue
        maker.results.discard(id)
        if not maker.results:
            del context.objects.makers[task_of(id)]
            if maker.why_not:
                continue
            context.unpin(entry_of(maker.task), maker.task)


def cancelled(context: ObjectContext, task_id: bytes) -> None:
    """Somebody does not want this task: if it has ended, it does not run again, as in Ray."""
    maker = context.objects.makers.get(task_id)
    if maker is not None and not maker.why_not:
        maker.why_not = f"the task that made it, {maker.task.terms.name}, was cancelled after its end"
        context.unpin(entry_of(maker.task), maker.task)


def terms(context: ObjectContext) -> list[Terms]:
    """Those of the tasks that may run again to make what is lost."""
    return [maker.task.terms for maker in context.objects.makers.values() if not maker.why_not]


# ---- a loss


def lose(context: ObjectContext, node_id: bytes) -> list[bytes]:
    """A node goes: empty the objects whose only copy was there, and return them."""
    lost = []
    for id, record in context.objects.records.items():
        if record.nodes is None or node_id not in record.nodes:
            continue
        record.nodes.discard(node_id)
        if not record.nodes:
            lost.append(id)
    for id in lost:
        ledger.empty(context.objects, id)
        context.objects.records[id].nodes = None
    return lost


def only_on(context: ObjectContext, node_id: bytes) -> list[tuple[bytes, int]]:
    """The living objects that have their only copy on this node, with their bytes; the largest first."""
    found = [
        (id, record.value.size)
        for id, record in context.objects.records.items()
        if record.nodes == {node_id} and record.value is not None
    ]
    return sorted(found, key=lambda each: -each[1])


def copy_to(context: ObjectContext, node_id: bytes, other: bytes) -> tuple[int, int]:
    """Give another node a copy of what lies only on this one; the number of objects, and their bytes."""
    found = only_on(context, node_id)
    for id, _size_bytes in found:
        context.objects.records[id].nodes = {node_id, other}
    return len(found), sum(size_bytes for _id, size_bytes in found)


def make_again(context: ObjectContext, lost: list[bytes], node: str) -> None:
    """Run the tasks again that made these objects; those that have none fail in words."""
    again: dict[bytes, Maker] = {}
    for id in lost:
        maker = context.objects.makers.get(task_of(id))
        if maker is not None and not maker.why_not:
            again[task_of(id)] = maker
        elif not _is_under_way(context, id):
            _fail(context, id, node, maker)
    for task_id, maker in again.items():
        del context.objects.makers[task_id]
        _run_again(context, maker)


def _is_under_way(context: ObjectContext, id: bytes) -> bool:
    """Its task goes on in another process, which will give it once more."""
    record = context.scheduler.task_record(task_of(id))
    return index_of(id) < PUT_INDEX and record is not None and record.state < TaskStatus.FINISHED


def stream_ended(context: ObjectContext, task_id: bytes, entry: TaskEntry, value: wire.Value) -> None:
    """A stream is over: lost items that it did not give once more will never be there."""
    if not context.objects.can_be_lost:
        return
    for index in range(1, entry.items + 1):
        record = context.objects.records.get(return_id(task_id, index))
        if record is not None and record.value is None:
            why = value if value.status != wire.OK else _FEWER
            delivery.fill(context, return_id(task_id, index), why, [], record.owner)


def _run_again(context: ObjectContext, maker: Maker) -> None:
    task, records = maker.task, context.objects.records
    entry = entry_of(task)
    slots = [id for _place, id in entry.submit.slots]
    task.missing = {id for id in slots if id in records and records[id].value is None}
    task.retries_left = task.retries_left - 1 if task.retries_left > 0 else task.retries_left
    entry.results, entry.finished_at, entry.note = None, None, "it runs again: its result was lost with its node"
    entry.is_made_again, entry.consumed, entry.written = True, entry.items, 0
    context.notify(TasksSubmitted([task]))


def _fail(context: ObjectContext, id: bytes, node: str, maker: Maker | None) -> None:
    if index_of(id) >= PUT_INDEX:  # it lay where it was made
        kind = "OwnerDiedError"
        why = "it was made by put(), in a process that ended with the node, and not by a task that could run again"
    else:
        kind = "ObjectReconstructionFailedError"
        why = maker.why_not if maker is not None else "the task that made it has failed"
    lost = failures.failed(kind, f"Object {id.hex()} was lost with {node}, where its only copy was: {why}.")
    delivery.fill(context, id, wire.Value(wire.FAILED, lost.data), [], context.objects.records[id].owner)


def missing(context: ObjectContext, submit: wire.Submit) -> set[bytes]:
    """Arguments of a task that are on their way once more."""
    records = context.objects.records
    return {id for _place, id in submit.slots if id in records and records[id].value is None}


def _why_not_again(task: Task, terms: Terms) -> str:
    """Why this task is not run a second time to make its results again; "" when it is."""
    if task.kind is TaskKind.ACTOR_CALL:
        return f"{terms.name} is a call of an actor, which is not made again: the actor may be another by now"
    if terms.num_returns < 0 and terms.num_returns != wire.STREAMING:
        return f"{terms.name} gives a list of refs that it makes as it runs, which are others the next time"
    if terms.max_retries == 0:
        return f"the task that made it, {terms.name}, cannot run again (max_retries=0)"
    return ""
