"""The objects that tasks have as arguments: they live until the task is over and cannot run again."""

from __future__ import annotations

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.terms import Task, TaskKind, Terms


class Arguments:
    """Keeps them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def pin(self, submit: wire.Submit, terms: Terms) -> None:
        """Keep what a task that is submitted now needs."""
        if submit.slots:
            self._objects.pin(id for _place, id in submit.slots)
        if submit.refs:
            self._objects.pin(submit.refs)
        if submit.actor_id and terms.kind is TaskKind.ACTOR_CALL:
            self._objects.pin((submit.actor_id,))  # a call under way is a reason to live

    def state(self, id: bytes) -> tuple[wire.Value | None, bool]:
        """(the error that it is, whether it is still to come) of an argument."""
        record = self._objects.records.get(id)
        if record is None:
            return failures.failed(
                "ObjectLostError", f"Object {id.hex()} does not exist any more: its last ref was released."
            ), False
        if record.value is None:
            return None, True
        return (record.value if record.value.status != wire.OK else None), False

    def let_go(self, entry: TaskEntry, task: Task) -> None:
        """The task is over: its arguments need no longer be held for it."""
        if not entry.pinned:
            return
        terms = task.terms
        if terms.kind is TaskKind.ACTOR_CREATION and terms.actor.max_restarts and not entry.failed:
            return  # a restart needs them again: let go when the actor dies
        self.unpin(entry, task)

    def unpin(self, entry: TaskEntry, task: Task) -> None:
        """It will not run again, whatever happens."""
        if not entry.pinned:
            return
        submit = entry.submit
        pinned = [id for _place, id in submit.slots] + submit.refs
        if submit.actor_id and task.terms.kind is TaskKind.ACTOR_CALL:
            pinned.append(submit.actor_id)
        if pinned:
            self._objects.unpin_later(pinned)
        entry.pinned = False
        submit.args = b""
