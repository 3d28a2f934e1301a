"""Cancels the tasks of streams without a reader, because Ray would let them run, perhaps forever.

A stream's reader may go at any moment, also while Ray holds its locks, and Ctrl-C may come just then: so its end is
only put into a queue, by a builtin method that no interrupt can cut short, and a thread asks Ray.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from queue import SimpleQueue

import ray

from nbaccel.handles.refs import ObjectRefGenerator
from nbaccel.ray_engine.border.rays import RaysRef, RaysStream, is_stream

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
