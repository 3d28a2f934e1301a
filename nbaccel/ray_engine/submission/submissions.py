"""The submissions of this process: names, demands and cells, which Ray does not keep, joined with reports."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any

import msgspec
import ray

from nbaccel.handles.options import ResourceOptions
from nbaccel.handles.refs import ObjectRefGenerator
from nbaccel.ray_engine.rays import RaysRef, RaysStream, is_stream
from nbaccel.scheduling.terms import TaskFacts, TaskKind

MOST_KEPT = 5_000
MOST_PARENTS = 20_000  # tasks whose cell is known, for their output


class CallFacts(TaskFacts, frozen=True, kw_only=True):
    """The facts that all calls of a function with the same options share."""

    demand: dict[str, float] = {}
    choice: str = ""  # the words of the fallback that was taken
    choice_why: str = ""
    held: dict[str, float] = {}  # of an actor: its resources once it is placed
    options: ResourceOptions | None = None  # what was asked, with the choice that was taken; None of a call


class Submission(msgspec.Struct, gc=False):
    """One submitted task, actor or call. Tens of thousands may be open, so the garbage collector does not visit them:
    nothing in one refers back to it.
    """

    task_id: bytes
    about: CallFacts
    cell: str
    submitted_at: float
    actor_id: bytes | None = None
    inner: Any = None  # a weak reference to nbaccel's ref, stream or handle: while that lives, Ray can be asked of it
    parent: bytes = b""  # of the messages of its cell
    number: int = 0  # they are numbered in order, from 1
    error: str = ""  # the first line of the one that was raised here, known before the task's report comes


class Submissions:
    """The latest submissions, by task. Noting one is an append; they are sorted in when somebody asks."""

    def __init__(self) -> None:
        self._new: deque[Submission] = deque(maxlen=MOST_PARENTS)
        self.note_call = self._new.append  # of an actor, which has the actor's resources
        self._by_task: OrderedDict[bytes, Submission] = OrderedDict()
        self._parents: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self.number = 0

    def note(self, each: Submission) -> None:
        """Note one that asks for resources."""
        self._new.append(each)
        wake = self._wake  # once: another thread may take it away
        if wake is not None:
            wake()

    def wake_at_next(self, wake: Callable[[], None] | None) -> None:
        """Call this with the next one that `note` is told of, and each after that until it is given None."""
        self._wake = wake

    def _take_in(self) -> None:
        while self._new:
            each = self._new.popleft()
            self.number += 1
            each.number = self.number
            self._by_task[each.task_id] = each
            if each.parent:
                self._parents[each.task_id] = each.parent
        while len(self._by_task) > MOST_KEPT:
            self._by_task.popitem(last=False)
        while len(self._parents) > MOST_PARENTS:
            self._parents.popitem(last=False)

    def all(self) -> list[Submission]:
        with self._lock:
            self._take_in()
            return list(self._by_task.values())

    def since(self, number: int) -> tuple[int, list[Submission]]:
        """(the number of the last, those after `number` in order)."""
        with self._lock:
            self._take_in()
            later = min(self.number - number, len(self._by_task))
            newest = list(islice(reversed(self._by_task.values()), later))
            return self.number, [each for each in reversed(newest) if each.number > number]

    def any_waits_after(self, number: int) -> bool:
        """Whether there is one after this number that asks for resources: not a call, which has its actor's."""
        return any(each.about.kind is not TaskKind.ACTOR_CALL for each in self.since(number)[1])

    def get(self, task_id: bytes) -> Submission | None:
        with self._lock:
            self._take_in()
            return self._by_task.get(task_id)

    def parent(self, task_id: bytes) -> bytes | None:
        """Of the cell that submitted this task; None when it is not known to have been submitted here."""
        with self._lock:
            self._take_in()
            found = self._by_task.get(task_id)
            return found.parent if found is not None else self._parents.get(task_id)

    def forget(self, task_id: bytes) -> None:
        with self._lock:
            self._by_task.pop(task_id, None)


# ---- cancels the tasks of streams without a reader, because Ray would let them run, perhaps forever
#
# A stream's reader may go at any moment, also while Ray holds its locks, and Ctrl-C may come just then: so its end is
# only put into a queue, by a builtin method that no interrupt can cut short, and a thread asks Ray.


STOP_TIMEOUT_S = 5.0
GRACE_S = 0.5  # many a generator has just made its last value


def has_ended(inner: RaysRef | RaysStream) -> bool:
    """Whether the task of this ref or stream of Ray's has ended: Ray aborts the whole process (2.60: "Tried to complete
    task that was not pending") where a task is cancelled whose value has just come."""
    end = inner.completed() if is_stream(inner) else inner
    return bool(ray.wait([end], timeout=0, fetch_local=False)[0])


class _Watched(weakref.ref[ObjectRefGenerator]):
    """A stream whose reader may go before its end."""

    __slots__ = ("inner", "task_id")
    inner: RaysStream
    task_id: bytes


class AbandonedStreams:
    """The abandoned streams of one engine."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Watched | None] = SimpleQueue()
        self._watched: dict[bytes, _Watched] = {}
        self._thread: threading.Thread | None = None

    def watch(self, stream: ObjectRefGenerator) -> None:
        """Cancel the task of this stream if its reader goes before `settle`."""
        watched = _Watched(stream, self._queue.put)
        watched.inner, watched.task_id = stream._inner, stream._task_id
        self._watched[watched.task_id] = watched
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="nbaccel-streams", daemon=True)
            self._thread.start()

    def settle(self, stream: ObjectRefGenerator) -> None:
        """The stream has come to its end, or somebody waits for its end: its task is left alone."""
        self._watched.pop(stream._task_id, None)

    def stop(self) -> None:
        """Stop, before this process leaves Ray."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        going_on = True
        while going_on:
            left = [self._queue.get()]
            while not self._queue.empty():
                left.append(self._queue.get())
            going_on = None not in left
            gone = [self._watched.pop(each.task_id, None) for each in left if each is not None]
            if ray.is_initialized():  # or asking would start a Ray
                with suppress(ray.exceptions.RayError, RuntimeError):  # the cluster is gone, and the tasks with it
                    _end([each.inner for each in gone if each is not None])
            del left, gone


def _end(streams: list[RaysStream]) -> None:
    if streams:
        ends = [inner.completed() for inner in streams]
        ray.wait(ends, num_returns=len(ends), timeout=GRACE_S, fetch_local=False)
    for inner in streams:
        if not has_ended(inner):
            ray.cancel(inner, recursive=False)
