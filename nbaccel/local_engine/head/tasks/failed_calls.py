"""The calls of failed tasks, kept for a while with their arguments, so that a person can have them run again.

A call is kept for ten minutes after its task has failed, as long as all kept calls together are small. A call whose
arguments are missing, or that would keep an actor alive, is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import CANCELLED, TaskEntry, entry_of
from nbaccel.scheduling.terms import Task, TaskKind, Terms

KEPT_S = 600.0
MOST_BYTES = 100_000_000  # of the arguments of all kept calls
MOST_CALLS = 200  # a snapshot shows fewer failures


class KeptCall(msgspec.Struct):
    """A failed task, the bytes of its arguments, and when they are let go."""

    task: Task
    size_bytes: int
    until: float


class FailedCalls:
    """Keeps the newest of them. `unpin` lets a call's arguments go."""

    def __init__(
        self, objects: ObjectTables, unpin: Callable[[TaskEntry, Task], None], timers: LoopTimers, most_bytes: int
    ) -> None:
        self._objects = objects
        self._unpin = unpin
        self._timers = timers
        self._most_bytes = min(MOST_BYTES, most_bytes)
        self._kept: dict[bytes, KeptCall] = {}  # by task, the oldest first
        self._ended_jobs: set[int] = set()
        self.captured: Callable[[Terms], list[bytes]] = lambda terms: []  # what functions refer to
        self._is_timed = False

    def keep(self, task: Task, entry: TaskEntry) -> bool:
        """Keep the call of a task that is over, with its arguments. Returns whether it is kept."""
        if not self._can_run_again(task, entry):
            return False
        size_bytes = len(entry.submit.args) + sum(map(self._size, _objects_in(entry.submit)))
        if size_bytes > self._most_bytes:
            return False
        self._kept[task.task_id] = KeptCall(task, size_bytes, self._timers.now() + KEPT_S)
        self._set_timer()
        while len(self._kept) > MOST_CALLS or sum(call.size_bytes for call in self._kept.values()) > self._most_bytes:
            self._let_go(next(iter(self._kept)))
        entry.retryable = True  # last: what is interrupted before is done again
        return True

    def take(self, task_id: bytes) -> Task | None:
        """A kept call, to run it again: its arguments belong to the new task from here on. None if it is not kept."""
        call = self._kept.pop(task_id, None)
        if call is None:
            return None
        entry = entry_of(call.task)
        entry.retryable = entry.pinned = False
        return call.task

    def job_ended(self, job: int) -> None:
        """Let go of the calls of a job whose driver has ended; what of it fails later is not kept."""
        self._ended_jobs.add(job)
        for task_id in [id for id, call in self._kept.items() if call.task.job == job]:
            self._let_go(task_id)

    def terms(self) -> list[Terms]:
        """Those of the kept calls."""
        return [call.task.terms for call in self._kept.values()]

    def _can_run_again(self, task: Task, entry: TaskEntry) -> bool:
        terms = entry.terms
        return (
            terms.kind is TaskKind.TASK  # a call of an actor depends on the calls before it
            and terms.num_returns not in (wire.STREAMING, wire.DYNAMIC)  # the reader of the stream has its end
            and entry.failed
            and entry.pinned
            and entry.error_type != CANCELLED
            and task.job not in self._ended_jobs
            and all(self._is_here(id) for id in _objects_in(entry.submit))
            and not self._holds_an_actor(_objects_in(entry.submit) + self.captured(terms))
        )

    def _is_here(self, id: bytes) -> bool:
        record = self._objects.records.get(id)
        return id in self._objects.actor_ids or (
            record is not None and record.value is not None and record.value.status == wire.OK
        )

    def _holds_an_actor(self, ids: Iterable[bytes]) -> bool:
        """Whether an actor would live longer, because its handle is among the arguments or inside of one."""
        seen: set[bytes] = set()
        waiting = list(ids)
        while waiting:
            id = waiting.pop()
            record = self._objects.records.get(id)
            if id in self._objects.actor_ids:
                return True
            if id not in seen and record is not None:
                seen.add(id)
                waiting += record.contains or []
        return False

    def _size(self, id: bytes) -> int:
        record = self._objects.records.get(id)
        value = record.value if record is not None else None
        if value is None:
            return 0
        return len(value.data) if value.data is not None else value.size

    def _let_go(self, task_id: bytes) -> None:
        task = self._kept[task_id].task
        entry = entry_of(task)
        entry.retryable = False
        self._unpin(entry, task)
        del self._kept[task_id]

    def _set_timer(self) -> None:
        """Come back when the oldest call is due."""
        if not self._is_timed and self._kept:
            self._timers.at(next(iter(self._kept.values())).until, self._due)
            self._is_timed = True

    def _due(self) -> None:
        self._is_timed = False
        for task_id in [id for id, call in self._kept.items() if call.until <= self._timers.now()]:
            self._let_go(task_id)
        self._set_timer()


def _objects_in(submit: wire.Submit) -> list[bytes]:
    return [id for _place, id in submit.slots] + submit.refs
