"""The outcomes of tasks: results as objects, the end of a stream, and failures as errors for the user.

These functions only compute values from the records that they get. The head and the debug engine share them.
"""

from __future__ import annotations

import pickle
import textwrap
from typing import Any, NamedTuple

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.records import CANCELLED, ActorEntry, TaskEntry, entry_of
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.commands import ActorChanged, FailTask, Failure
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Task, TaskKind

NOTHING = wire.Value(wire.OK, b"\x00" + pickle.dumps(None, 5))  # the value None, as codec writes it
RAISED = "TASK_EXECUTION_EXCEPTION"  # Ray's word for an error of the user's code

_ERRORS = {
    Failure.WORKER_CRASHED: ("WorkerCrashedError", "WORKER_DIED"),
    Failure.CANCELLED: ("TaskCancelledError", CANCELLED),
    Failure.ACTOR_DIED: ("ActorDiedError", "ACTOR_DIED"),
    Failure.ACTOR_UNAVAILABLE: ("ActorUnavailableError", "ACTOR_UNAVAILABLE"),
    Failure.UNSCHEDULABLE: ("TaskUnschedulableError", "TASK_UNSCHEDULABLE_ERROR"),
    Failure.JOB_ENDED: ("WorkerCrashedError", "WORKER_DIED"),
    Failure.NODE_DIED: ("NodeDiedError", "NODE_DIED"),
    Failure.GROUP_REMOVED: ("TaskPlacementGroupRemoved", "TASK_PLACEMENT_GROUP_REMOVED"),
    Failure.PENDING_CALLS_EXCEEDED: ("PendingCallsLimitExceeded", "PENDING_CALLS_LIMIT_EXCEEDED"),
}  # the exception, and Ray's word for it in the state of a task
# What the calls of an actor get that never found a place; one that lived before is simply dead.
_NEVER_PLACED = {
    Failure.UNSCHEDULABLE: "ActorUnschedulableError",
    Failure.GROUP_REMOVED: "ActorUnschedulableError",  # as in Ray
}
_ABOUT_ACTORS = (Failure.ACTOR_DIED, Failure.ACTOR_UNAVAILABLE)
_OF_A_PROCESS = (Failure.WORKER_CRASHED, *_ABOUT_ACTORS)
_OF_AN_ARGUMENT = "an argument failed"
_ACTOR_STATES = {"PENDING": "PENDING_CREATION"}


class WorkerEnding(NamedTuple):
    """How a process has ended. `last_lines` are those of its stderr, if nobody wanted it to end."""

    pid: int | None = None
    exit_code: int | None = None
    signal_number: int | None = None
    last_lines: str = ""


UNKNOWN_ENDING = WorkerEnding()


# ---- the entry of a task that has ended


def note_done(entry: TaskEntry, done: wire.Done, now: float) -> None:
    """Record that a task returned or raised. It ran from when to when its worker says, which knows of its own queue."""
    entry.results, entry.failed, entry.note = done.results, done.failed, done.note
    entry.traceback, entry.times = done.traceback, done.times
    entry.finished_at = now
    if done.times:
        entry.started_at, entry.finished_at = done.times[0], done.times[-1]
    entry.error_type = "" if not done.failed else CANCELLED if done.note == "cancelled" else RAISED


def note_failure(entry: TaskEntry, command: FailTask, now: float) -> None:
    """Record that a task ended without returning."""
    entry.failed, entry.note, entry.traceback = True, command.message, ""
    entry.error_type = _ERRORS[command.failure][1]
    entry.finished_at = now


def note_failed_argument(entry: TaskEntry, source: TaskRecord | None, now: float) -> None:
    """Record that a task never runs, because `source`, the task that makes its argument, has failed."""
    entry.failed, entry.note = True, _OF_AN_ARGUMENT
    if source is not None and entry_of(source.task).failed:
        first = entry_of(source.task)
        entry.error_type = first.error_type
        entry.note = f"{_OF_AN_ARGUMENT}: {first.note.removeprefix(f'{_OF_AN_ARGUMENT}: ')}"
    entry.finished_at = now


def note_failed_creation(actor: ActorEntry, value: wire.Value) -> None:
    """Record that an actor's constructor did not return; calls of the actor get the reason."""
    if value.status == wire.RAISED:
        actor.creation_error = value.data
    elif value.data is not None:
        actor.creation_failure = value


def note_actor(actor: ActorEntry, command: ActorChanged) -> None:
    """Record a new state of an actor."""
    actor.state = _ACTOR_STATES.get(command.state, command.state)
    actor.why = command.why
    actor.restarts += command.state == "RESTARTING"


# ---- values


def failure_value(command: FailTask, actor: ActorEntry | None, ending: WorkerEnding = UNKNOWN_ENDING) -> wire.Value:
    """The error of a task that did not return. `actor` is its actor, `ending` the end of its process."""
    task = command.task
    kind = _ERRORS[command.failure][0]
    facts: dict[str, Any] = {"task_id": task.task_id.hex()}
    if command.failure in _ABOUT_ACTORS:
        facts["actor_id"] = (command.actor_id or task.actor_id or b"").hex()
        if actor is not None and actor.creation_failure is not None:
            known: wire.Value = actor.creation_failure
            return known
        if actor is not None:
            facts["cause"] = actor.creation_error
            kind = actor.never_placed or kind
    elif command.failure is Failure.WORKER_CRASHED:
        facts["pid"], facts["exit_code"], facts["signal_number"], _ = ending
    elif command.failure in _NEVER_PLACED and task.kind is not TaskKind.TASK:
        was_placed = actor is not None and bool(actor.worker_id)
        kind = "ActorDiedError" if was_placed else _NEVER_PLACED[command.failure]
        if actor is not None and not was_placed:
            actor.never_placed = kind
    message = command.message
    if ending.last_lines and command.failure in _OF_A_PROCESS:
        message += f"\nThe last lines of its stderr:\n{textwrap.indent(ending.last_lines, '  ')}"
    return failures.failed(kind, message, **facts)


def same_for_all(entry: TaskEntry, value: wire.Value) -> list[wire.ReturnValue]:
    """One error as each result of a task."""
    return [wire.ReturnValue(value)] * max(entry.terms.returns, 1)


def objects_of(task: Task, results: list[wire.ReturnValue]) -> list[tuple[bytes, wire.ReturnValue]]:
    """The objects of a task's results, by id."""
    terms = task.terms
    if terms.num_returns == wire.STREAMING and terms.returns:
        value = results[0].value
        # What the generator raised is its last item; the stream itself has come to its end all the same.
        return [(return_id(task.task_id, 0), wire.ReturnValue(NOTHING if value.status == wire.RAISED else value))]
    return [(return_id(task.task_id, index), result) for index, result in enumerate(results[: terms.returns])]


def last_item(task: Task, items: int, results: list[wire.ReturnValue]) -> tuple[bytes, wire.Value] | None:
    """The error that ends a stream after so many items, as its last item; None if the stream ended well."""
    value = results[0].value
    return (return_id(task.task_id, items + 1), value) if value.status != wire.OK else None
