"""What this process has submitted: names, demands and cells, which Ray does not keep; joined with what tasks report."""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict, deque
from typing import Any

import msgspec

MOST_KEPT = 5_000


class About(msgspec.Struct, frozen=True):
    """What all calls of a function with the same options have in common."""

    name: str
    kind: str  # "task", "actor creation", "actor call"
    demand: dict[str, float] = {}
    choice: str = ""  # the words of the fallback that was taken
    choice_why: str = ""


class Submission(msgspec.Struct):
    """One task, actor or call, as it was asked for."""

    task_id: bytes
    name: str
    kind: str
    demand: dict[str, float]
    cell: str
    submitted_at: float
    actor_id: bytes | None = None
    choice: str = ""
    choice_why: str = ""
    inner: Any = None  # a weak reference to nbaccel's ref: while it lives, Ray can be asked whether the task has ended


class Submissions:
    """The latest of them, by task. Noting one is an append: the records are made when somebody asks."""

    def __init__(self) -> None:
        self._new: deque[tuple[Any, ...]] = deque(maxlen=MOST_KEPT)
        self._by_task: OrderedDict[bytes, Submission] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, task_id: bytes, about: About, cell: str, actor_id: bytes | None, ref: Any) -> None:
        """`ref`: nbaccel's ref, stream or handle of it; only a weak reference is kept."""
        self._new.append((task_id, about, cell, time.time(), actor_id, weakref.ref(ref)))

    def _take_in(self) -> None:
        while self._new:
            task_id, about, cell, submitted_at, actor_id, inner = self._new.popleft()
            self._by_task[task_id] = Submission(
                task_id,
                about.name,
                about.kind,
                about.demand,
                cell,
                submitted_at,
                actor_id,
                about.choice,
                about.choice_why,
                inner,
            )
        while len(self._by_task) > MOST_KEPT:
            self._by_task.popitem(last=False)

    def all(self) -> list[Submission]:
        with self._lock:
            self._take_in()
            return list(self._by_task.values())

    def get(self, task_id: bytes) -> Submission | None:
        with self._lock:
            self._take_in()
            return self._by_task.get(task_id)

    def forget(self, task_id: bytes) -> None:
        with self._lock:
            self._by_task.pop(task_id, None)
