"""Errors that nobody asked for: a line each, where the task was submitted, and a flood of equal ones a line a second.

```
  a process that has an error ── Errors: asked for, or its last ref has ended ─┐
  an error comes when its refs have ended already ─────────────────────────────┴─► gone ── asked for? nothing
                                                                                        └─ else a Notice
```
Errors that other tasks or processes have taken on are theirs to tell. What the user has ended is no news to anybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nbaccel.local_engine import wire
from nbaccel.local_engine.ids import return_id, task_of
from nbaccel.local_engine.records import TaskEntry

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head

MORE_EVERY_S = 1.0
_NO_NEWS = ("TASK_CANCELLED", "ACTOR_DIED", "ACTOR_UNAVAILABLE")

_Kind = tuple[int, str, str]  # job, task's name, what it raised


class UnreadErrors:
    """What a head says of them."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._more: dict[_Kind, int] = {}  # since the last line

    def read(self, ids: Iterable[bytes]) -> None:
        """Somebody asks for these, in a process or as arguments of a task: their errors are known."""
        for task_id in {task_of(id) for id in ids}:
            entry = self._entry(task_id)
            if entry is not None:
                entry.error_was_read = True

    def gone(self, ids: Iterable[bytes]) -> None:
        """A process holds these errors no more."""
        for task_id in dict.fromkeys(task_of(id) for id in ids):
            entry = self._entry(task_id)
            if entry is not None and not self._is_held(task_id, entry):
                self.tell(entry)

    def _is_held(self, task_id: bytes, entry: TaskEntry) -> bool:
        return any(return_id(task_id, index) in self._head.objects.records for index in range(entry.record.returns))

    def _entry(self, task_id: bytes) -> TaskEntry | None:
        record = self._head.scheduler.task_record(task_id)
        return record.task.payload if record is not None else None

    def constructor_failed(self, entry: TaskEntry) -> None:
        """Say it at once where no call waits that will raise it."""
        actor = self._head.scheduler.actor_record(entry.submit.actor_id)
        if actor is not None and not actor.waiting:
            self.tell(entry)

    def tell(self, entry: TaskEntry) -> None:
        """Say it once, if it is an error that nobody has read."""
        if entry.error_was_read or not entry.failed or entry.error_type in _NO_NEWS:
            return
        entry.error_was_read = True
        template = entry.record.template
        kind = (entry.record.pool.job, template.name, entry.note)
        if kind in self._more:
            self._more[kind] += 1
            return
        worker = self._head.workers.by_id.get(entry.worker_id)
        pid = worker.pid if worker is not None else self._head.workers.endings.get(entry.worker_id, (None,))[0]
        process = f" (pid {pid})" if pid else ""
        unasked = "" if entry.record.template.kind == 1 else " and nobody asked for its result"
        self._say(kind, template, f"{template.name}{process} failed{unasked}: {entry.note}")

    def _say(self, kind: _Kind, template: wire.Template, words: str) -> None:
        self._head.watchers.notice(kind[0], wire.Notice(wire.UNREAD, words, template.cell, template.parent))
        self._more[kind] = 0
        self._head.poll.at(time.monotonic() + MORE_EVERY_S, lambda: self._say_more(kind, template))

    def _say_more(self, kind: _Kind, template: wire.Template) -> None:
        count, (_job, name, note) = self._more.pop(kind), kind
        if count:
            times, results = (f"{count} times", "results") if count > 1 else ("once", "result")
            unasked = "" if template.kind == 1 else f", and nobody asked for the {results}"
            self._say(kind, template, f"{name} failed {times} more{unasked}: {note}")
