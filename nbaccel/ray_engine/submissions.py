"""What this process has submitted: names, demands and cells, which Ray does not keep; joined with what tasks report."""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from typing import Any

import msgspec

MOST_KEPT = 5_000


class Submission(msgspec.Struct):
    """One task, actor or call, as it was asked for."""

    task_id: bytes
    name: str
    kind: str  # "task", "actor creation", "actor call"
    demand: dict[str, float]
    cell: str
    submitted_at: float
    actor_id: bytes | None = None
    choice: str = ""
    choice_why: str = ""
    inner: Any = None  # a weak reference to nbaccel's ref: while it lives, Ray can be asked whether the task has ended


class Submissions:
    """The latest of them, by task."""

    def __init__(self) -> None:
        self._by_task: OrderedDict[bytes, Submission] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, submission: Submission, ref: Any) -> None:
        if ref is not None:
            submission.inner = weakref.ref(ref)
        with self._lock:
            self._by_task[submission.task_id] = submission
            if len(self._by_task) > MOST_KEPT:
                self._by_task.popitem(last=False)

    def all(self) -> list[Submission]:
        with self._lock:
            return list(self._by_task.values())

    def get(self, task_id: bytes) -> Submission | None:
        return self._by_task.get(task_id)

    def forget(self, task_id: bytes) -> None:
        with self._lock:
            self._by_task.pop(task_id, None)


def now() -> float:
    """The moment of a submission, in Unix seconds."""
    return time.time()
