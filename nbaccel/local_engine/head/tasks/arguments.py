"""The objects that tasks have as arguments: each lives until its task is over and cannot run again."""

from __future__ import annotations

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.local_engine.head.tasks.failed_calls import FailedCalls
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.terms import ACTOR_CALL, ACTOR_CREATION, Task, Terms


class Arguments:
    """Pins the arguments of tasks in the object ledger.

    With `timers`, the arguments of failed tasks are kept for a while, at most `most_kept_bytes` of them.
    """

    def __init__(self, objects: ObjectTables, timers: LoopTimers | None = None, most_kept_bytes: int = 0) -> None:
        self._objects = objects
        self.failed_calls = FailedCalls(objects, self.unpin, timers, most_kept_bytes) if timers is not None else None

    def pin(self, submit: wire.Submit, terms: Terms) -> None:
        """Pin the objects that a newly submitted task needs."""
        if submit.slots:
            ledger.pin(self._objects, (id for _place, id in submit.slots))
        if submit.refs:
            ledger.pin(self._objects, submit.refs)
        if submit.actor_id and terms.kind is ACTOR_CALL:
            ledger.pin(self._objects, (submit.actor_id,))  # a call under way keeps its actor alive

    def state(self, id: bytes) -> tuple[wire.Value | None, bool]:
        """The state of an argument: (its value if it is an error, whether it has not arrived yet)."""
        record = self._objects.records.get(id)
        if record is None:
            return failures.failed(
                "ObjectLostError", f"Object {id.hex()} does not exist any more: its last ref was released."
            ), False
        if record.value is None:
            return None, True
        return (record.value if record.value.status != wire.OK else None), False

    def let_go(self, entry: TaskEntry, task: Task) -> None:
        """Unpin the arguments of a task that is over, unless a restart needs them or its call is kept."""
        if not entry.pinned or entry.retryable:
            return
        terms = task.terms
        if terms.kind is ACTOR_CREATION and terms.actor.max_restarts and not entry.failed:
            return  # a restart needs the arguments: they are unpinned when the actor dies
        if entry.failed and self.failed_calls is not None and self.failed_calls.keep(task, entry):
            return
        self.unpin(entry, task)

    def terms(self) -> list[Terms]:
        """Those of the failed calls that are kept."""
        return self.failed_calls.terms() if self.failed_calls is not None else []

    def unpin(self, entry: TaskEntry, task: Task) -> None:
        """Unpin the arguments of a task that will not run again."""
        if not entry.pinned:
            return
        submit = entry.submit
        if submit.slots or submit.refs or submit.actor_id:
            pinned = [id for _place, id in submit.slots] + submit.refs
            if submit.actor_id and task.terms.kind is ACTOR_CALL:
                pinned.append(submit.actor_id)
            ledger.unpin_later(self._objects, pinned)
        entry.pinned = False
        submit.args = b""
