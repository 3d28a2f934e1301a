"""The outcomes of tasks: results as objects, the end of a stream, failures as errors, and errors that nobody asked for.

These functions only compute values from the records that they get. The head and the debug engine share them.

Errors that nobody asked for: a line each, where the task was submitted, and a flood of equal ones a line a second.
```
  the last ref anywhere to an error ends ──────────┐
  an error comes when its refs have ended already ─┴─► gone ── ValuesRequested by a process, or taken on? nothing
                                                            └─ else a Notice
```
Errors that other tasks or processes have taken on are theirs to tell. What the user has ended is no news to anybody.
"""

from __future__ import annotations

import pickle
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.records import CANCELLED, ActorEntry, TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.commands import ActorChanged, FailTask, Failure
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Task, TaskKind

if TYPE_CHECKING:
    from nbaccel.local_engine.head.objects.tables import ObjectTables
    from nbaccel.local_engine.head.poll import LoopTimers
    from nbaccel.local_engine.head.watchers import Notifier
    from nbaccel.scheduling.scheduler import Scheduler

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


MORE_EVERY_S = 1.0
_NO_NEWS = (CANCELLED, "ACTOR_DIED", "ACTOR_UNAVAILABLE", "TASK_PLACEMENT_GROUP_REMOVED")
_OF_ITS_CANCELLED_CHILD = ("TaskCancelledError", "RayTaskError(TaskCancelledError)")

_Kind = tuple[int, str, str]  # job, task's name, class of its error


class UnreadErrors:
    """What a head says of them."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        objects: ObjectTables,
        workers: Mapping[bytes, WorkerProcess],
        endings: Mapping[bytes, WorkerEnding],
        notifier: Notifier,
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._objects = objects
        self._workers = workers
        self._endings = endings
        self._notifier = notifier
        self._more: dict[_Kind, tuple[int, TaskEntry]] = {}  # errors since the last notice: number, newest

    def read(self, ids: Iterable[bytes]) -> None:
        """Somebody asks for these, in a process or as arguments of a task: their errors are known."""
        for task_id in {task_of(id) for id in ids}:
            entry = self._entry(task_id)
            if entry is not None:
                entry.error_was_read = True

    def gone(self, ids: Iterable[bytes]) -> None:
        """Nobody holds these errors any more."""
        for task_id in dict.fromkeys(task_of(id) for id in ids):
            entry = self._entry(task_id)
            if entry is not None and not self._is_held(task_id, entry):
                self.notify(entry)

    def _is_held(self, task_id: bytes, entry: TaskEntry) -> bool:
        return any(return_id(task_id, index) in self._objects.records for index in range(entry.terms.returns))

    def _entry(self, task_id: bytes) -> TaskEntry | None:
        record = self._scheduler.task_record(task_id)
        return entry_of(record.task) if record is not None else None

    def constructor_failed(self, entry: TaskEntry) -> None:
        """Say it at once where no call waits that will raise it."""
        actor = self._scheduler.actor_record(entry.submit.actor_id)
        if actor is not None and not actor.waiting:
            self.notify(entry)

    def notify(self, entry: TaskEntry) -> None:
        """Say it once, if it is an error that nobody has read."""
        if entry.error_was_read or not entry.failed or _is_no_news(entry):
            return
        entry.error_was_read = True
        kind = (entry.terms.job, entry.terms.name, entry.note.partition(":")[0])
        if kind in self._more:
            self._more[kind] = self._more[kind][0] + 1, entry
            return
        worker = self._workers.get(entry.worker_id)
        pid = worker.pid if worker is not None else self._endings.get(entry.worker_id, UNKNOWN_ENDING).pid
        self._send(kind, entry, f" (pid {pid}) failed" if pid else " failed", "its result")

    def _send(self, kind: _Kind, entry: TaskEntry, failed: str, result: str) -> None:
        terms = entry.terms
        unasked = "" if terms.kind is TaskKind.ACTOR_CREATION else f" and nobody asked for {result}"
        words = f"{terms.name}{failed}{unasked}: {entry.note}"
        self._notifier.notice(kind[0], wire.NoticeMessage(wire.UNREAD, words, terms.cell, terms.parent))
        self._more[kind] = 0, entry
        self._timers.after(MORE_EVERY_S, lambda: self._send_more(kind))

    def _send_more(self, kind: _Kind) -> None:
        count, last = self._more.pop(kind, (0, None))
        if last is not None and count == 1:
            self._send(kind, last, " failed once more", "its result")
        elif last is not None and count:
            self._send(kind, last, f" failed {count} times more", "the results; the last")

    def job_ends(self, job: int) -> None:
        """Say what was counted and not said yet."""
        for kind in [kind for kind in self._more if kind[0] == job]:
            self._send_more(kind)


def _is_no_news(entry: TaskEntry) -> bool:
    """Whether the user ended it, or what it waited for."""
    return entry.error_type in _NO_NEWS or entry.note.startswith(_OF_ITS_CANCELLED_CHILD)
