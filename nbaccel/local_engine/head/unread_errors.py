"""Errors that nobody asked for: a line each, where the task was submitted, and a flood of equal ones a line a second.

```
  the last ref anywhere to an error ends ──────────┐
  an error comes when its refs have ended already ─┴─► gone ── AskedFor by a process, or taken on? nothing
                                                            └─ else a Notice
```
Errors that other tasks or processes have taken on are theirs to tell. What the user has ended is no news to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.outcomes import UNKNOWN_ENDING, WorkerEnding
from nbaccel.local_engine.head.records import CANCELLED, TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.terms import TaskKind

if TYPE_CHECKING:
    from nbaccel.local_engine.head.audience import Audience
    from nbaccel.local_engine.head.objects.tables import ObjectTables
    from nbaccel.local_engine.head.poll import LoopTimers
    from nbaccel.scheduling.scheduler import Scheduler

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
        audience: Audience,
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._objects = objects
        self._workers = workers
        self._endings = endings
        self._audience = audience
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
                self.tell(entry)

    def _is_held(self, task_id: bytes, entry: TaskEntry) -> bool:
        return any(return_id(task_id, index) in self._objects.records for index in range(entry.terms.returns))

    def _entry(self, task_id: bytes) -> TaskEntry | None:
        record = self._scheduler.task_record(task_id)
        return entry_of(record.task) if record is not None else None

    def constructor_failed(self, entry: TaskEntry) -> None:
        """Say it at once where no call waits that will raise it."""
        actor = self._scheduler.actor_record(entry.submit.actor_id)
        if actor is not None and not actor.waiting:
            self.tell(entry)

    def tell(self, entry: TaskEntry) -> None:
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
        self._say(kind, entry, f" (pid {pid}) failed" if pid else " failed", "its result")

    def _say(self, kind: _Kind, entry: TaskEntry, failed: str, result: str) -> None:
        terms = entry.terms
        unasked = "" if terms.kind is TaskKind.ACTOR_CREATION else f" and nobody asked for {result}"
        words = f"{terms.name}{failed}{unasked}: {entry.note}"
        self._audience.notice(kind[0], wire.NoticeMessage(wire.UNREAD, words, terms.cell, terms.parent))
        self._more[kind] = 0, entry
        self._timers.after(MORE_EVERY_S, lambda: self._say_more(kind))

    def _say_more(self, kind: _Kind) -> None:
        count, last = self._more.pop(kind, (0, None))
        if last is not None and count == 1:
            self._say(kind, last, " failed once more", "its result")
        elif last is not None and count:
            self._say(kind, last, f" failed {count} times more", "the results; the last")

    def job_ends(self, job: int) -> None:
        """Say what was counted and not said yet."""
        for kind in [kind for kind in self._more if kind[0] == job]:
            self._say_more(kind)


def _is_no_news(entry: TaskEntry) -> bool:
    """Whether the user ended it, or what it waited for."""
    return entry.error_type in _NO_NEWS or entry.note.startswith(_OF_ITS_CANCELLED_CHILD)
