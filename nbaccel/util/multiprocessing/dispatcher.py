"""The thread of a Pool that hands chunks to free actors; it alone knows which are free, so nothing is locked.

Pool ──chunks, close, terminate──► inbox ──► dispatcher ──run_chunk.remote──► actors
                                     ▲                                          │
                                     └──────────── done, by ref.future() ───────┘
"""

import contextlib
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import nbaccel
from nbaccel.exceptions import ActorDiedError, RayActorError
from nbaccel.util.multiprocessing.results import AsyncResult, Outcome, StreamedResult
from nbaccel.waits import interruptible

_log = logging.getLogger(__name__)

Call = tuple[tuple[Any, ...], dict[str, Any]]


class PoolActor:
    """A worker of the pool."""

    def __init__(self, initializer: Callable[..., object] | None, initargs: tuple[Any, ...]) -> None:
        if initializer is not None:
            initializer(*initargs)

    def run_chunk(self, function: Callable[..., Any], calls: list[Call]) -> list[Outcome]:
        return [_outcome(function, args, kwargs) for args, kwargs in calls]


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    try:
        return True, function(*args, **kwargs)
    except Exception as error:  # the user's function: the caller gets it as the item's result
        return False, error


@dataclass(slots=True, eq=False)
class CallChunk:
    """Calls that one actor makes one after the other, and who is told their outcomes."""

    function: Any  # a function, or the ref of one
    calls: list[Call]
    index: int
    result: AsyncResult | StreamedResult


@dataclass(slots=True, eq=False)
class _Worker:
    actor: Any
    calls_taken: int = 0


@dataclass(slots=True)
class _Done:
    worker: _Worker
    chunk: CallChunk
    future: "Future[list[Outcome]]"


@dataclass(slots=True)
class _End:
    at_once: bool


class PoolDispatcher:
    """Feeds `size` actors, made by `new_actor`; an actor is replaced when it died or took `calls_per_actor` calls."""

    def __init__(self, new_actor: Callable[[], Any], size: int, calls_per_actor: int | None) -> None:
        self._new_actor = new_actor
        self._calls_per_actor = calls_per_actor
        self._inbox: queue.SimpleQueue[CallChunk | _Done | _End] = queue.SimpleQueue()
        self.ends_at_once = partial(self._inbox.put, _End(at_once=True))  # what a pool does at its end
        self._idle = deque(_Worker(new_actor()) for _ in range(size))
        self._running: dict[CallChunk, _Worker] = {}
        self._pending: deque[CallChunk] = deque()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="nbaccel-pool", daemon=True)
        self._thread.start()

    def submit(self, chunk: CallChunk) -> None:
        self._inbox.put(chunk)

    def end(self, *, at_once: bool) -> None:
        """Ends the actors: now, or when all chunks are done."""
        self._inbox.put(_End(at_once))

    def join(self) -> None:
        def ended(seconds: float | None) -> bool:
            self._thread.join(seconds)
            return not self._thread.is_alive()

        interruptible.until(ended, None)

    def _run(self) -> None:
        while True:
            message = self._inbox.get()
            if isinstance(message, CallChunk):
                self._pending.append(message)
            elif isinstance(message, _Done):
                self._finish(message)
            elif message.at_once:
                return self._terminate("the pool was terminated")
            else:
                self._closing = True
            if not nbaccel.is_initialized():
                return self._terminate("nbaccel was shut down")
            self._feed()
            if self._closing and not self._running and not self._pending:
                return self._let_go()

    def _feed(self) -> None:
        while self._idle and self._pending:
            worker, chunk = self._idle.popleft(), self._pending.popleft()
            try:
                ref = worker.actor.run_chunk.remote(chunk.function, chunk.calls)
            except Exception as error:  # an argument that cannot be pickled, with user code in its __reduce__
                self._idle.append(worker)
                self._tell(chunk, [(False, error)] * len(chunk.calls))
                continue
            worker.calls_taken += len(chunk.calls)
            self._running[chunk] = worker
            ref.future().add_done_callback(_Announcer(self._inbox, worker, chunk))

    def _finish(self, done: _Done) -> None:
        del self._running[done.chunk]
        error = done.future.exception()
        self._tell(done.chunk, done.future.result() if error is None else [(False, error)] * len(done.chunk.calls))
        used_up = self._calls_per_actor is not None and done.worker.calls_taken >= self._calls_per_actor
        if isinstance(error, RayActorError) or used_up:
            done.worker = _Worker(self._new_actor())  # the old one ends with its last handle
        self._idle.append(done.worker)

    def _tell(self, chunk: CallChunk, outcomes: list[Outcome]) -> None:
        try:
            chunk.result.chunk_done(chunk.index, outcomes)
        except Exception:  # a callback of the user's
            _log.exception("A callback given to a Pool raised; the pool goes on.")

    def _terminate(self, why: str) -> None:
        for chunk in [*self._running, *self._pending]:
            self._tell(chunk, [(False, ActorDiedError(f"The call was not finished: {why}."))] * len(chunk.calls))
        if nbaccel.is_initialized():
            for worker in [*self._idle, *self._running.values()]:
                nbaccel.kill(worker.actor)

    def _let_go(self) -> None:
        for worker in self._idle:
            ending = worker.actor.__ray_terminate__.remote()
            with contextlib.suppress(RayActorError):
                nbaccel.get(ending)


@dataclass(slots=True)
class _Announcer:
    """Called in a thread of the engine, where only the inbox may be touched."""

    inbox: Any
    worker: _Worker
    chunk: CallChunk

    def __call__(self, future: "Future[list[Outcome]]") -> None:
        self.inbox.put(_Done(self.worker, self.chunk, future))
