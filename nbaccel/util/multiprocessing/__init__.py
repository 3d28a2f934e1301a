"""The standard library's `multiprocessing.Pool` over actors, so that its workers may hold devices or be elsewhere."""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from multiprocessing import TimeoutError
from typing import Any

import nbaccel
from nbaccel import engine
from nbaccel.elsewhere import submodules_by_attribute
from nbaccel.exceptions import ActorDiedError, RayActorError
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.waits import interruptible

__getattr__ = submodules_by_attribute(__name__, "pool")
__all__ = ["Pool", "TimeoutError"]


_CHUNKS_OF_A_MAP_PER_ACTOR = 4  # as multiprocessing: small enough to even out, large enough to be cheap
_CHUNKS_AHEAD_PER_ACTOR = 2  # of a streamed map: one running, one waiting


class Pool(SafeFinalizer):
    """A pool of `processes` actors (default: one per CPU of the cluster) with multiprocessing.Pool's methods.

    `ray_remote_args` are options of the actors: `{"num_gpus": 1}` gives each a device. An actor is replaced after
    `maxtasksperchild` calls. `ray_address` goes to init() if that has not been called.

    >>> with Pool(2, ray_remote_args={"num_gpus": 0.5}) as pool:
    ...     pool.map(abs, [-1, -2])
    [1, 2]
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] | None = None,
        maxtasksperchild: int | None = None,
        context: Any = None,
        ray_address: str | None = None,
        ray_remote_args: dict[str, Any] | None = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise TypeError(f"initializer must be callable, but is {initializer!r}.")
        engine.current(lambda: nbaccel.init(address=ray_address) if ray_address else nbaccel.init(num_cpus=processes))
        self._size = _checked_size(processes)
        self._closed = False
        # As in multiprocessing, a worker shares the CPUs with other work: it holds none unless ray_remote_args say so.
        actor_class = nbaccel.remote(PoolActor).options(**{"num_cpus": 0, **(ray_remote_args or {})})
        initialization = initializer, tuple(initargs or ())
        self._dispatcher = PoolDispatcher(lambda: actor_class.remote(*initialization), self._size, maxtasksperchild)
        self.__del__ = self._dispatcher.ends_at_once

    # --- calls ---

    def apply(self, func: Callable[..., Any], args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Runs `func(*args, **kwargs)` in one actor and waits for its value."""
        return self.apply_async(func, args, kwargs).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Like `apply`, but returns an AsyncResult; the callbacks run in a thread of the pool."""
        self._check_running()
        result = AsyncResult(1, single=True, callback=callback, error_callback=error_callback)
        self._dispatcher.submit(CallChunk(func, [(tuple(args or ()), kwargs or {})], 0, result))
        return result

    def map(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """The values of `func(item)` in order."""
        return self.map_async(func, iterable, chunksize).get()  # type: ignore[no-any-return]

    def map_async(
        self,
        func: Callable[[Any], Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[[list[Any]], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Like `map`, but returns an AsyncResult."""
        return self._map_async(func, [(item,) for item in iterable], chunksize, callback, error_callback)

    def starmap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """The values of `func(*item)` in order."""
        return self.starmap_async(func, iterable, chunksize=chunksize).get()  # type: ignore[no-any-return]

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        callback: Callable[[list[Any]], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
        chunksize: int | None = None,
    ) -> AsyncResult:
        """Like `starmap`, but returns an AsyncResult."""
        return self._map_async(func, [tuple(item) for item in iterable], chunksize, callback, error_callback)

    def imap(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> StreamedResult:
        """An iterator of the values in order, a PoolTaskError if a call raised; reads the iterable as it goes."""
        return self._stream(func, iterable, chunksize or 1, ordered=True)

    def imap_unordered(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1
    ) -> StreamedResult:
        """An iterator of the values as they are ready."""
        return self._stream(func, iterable, chunksize or 1, ordered=False)

    def _map_async(
        self, func: Any, calls: list[tuple[Any, ...]], chunksize: int | None, callback: Any, error_callback: Any
    ) -> AsyncResult:
        self._check_running()
        size = _checked_chunksize(chunksize) or -(-len(calls) // (self._size * _CHUNKS_OF_A_MAP_PER_ACTOR)) or 1
        chunks = [calls[start : start + size] for start in range(0, len(calls), size)]
        result = AsyncResult(len(chunks), single=False, callback=callback, error_callback=error_callback)
        shared = nbaccel.put(func)  # pickled once, not with each chunk
        for index, chunk in enumerate(chunks):
            self._dispatcher.submit(CallChunk(shared, [(args, {}) for args in chunk], index, result))
        return result

    def _stream(self, func: Any, iterable: Iterable[Any], chunksize: int, *, ordered: bool) -> StreamedResult:
        self._check_running()
        size = _checked_chunksize(chunksize)
        items = iter(iterable)
        shared = nbaccel.put(func)

        def submit_next(result: StreamedResult, index: int) -> bool:
            chunk: list[Any] = [((item,), {}) for item in itertools.islice(items, size)]
            if chunk:
                self._dispatcher.submit(CallChunk(shared, chunk, index, result))
            return bool(chunk)

        return StreamedResult(submit_next, self._size * _CHUNKS_AHEAD_PER_ACTOR, ordered=ordered)

    # --- life ---

    def close(self) -> None:
        """Takes no more calls and finishes those it has; then the actors end."""
        if not self._closed:
            self._closed = True
            self._dispatcher.end(at_once=False)

    def terminate(self) -> None:
        """Ends the actors at once; unfinished calls fail with ActorDiedError."""
        self._closed = True
        self._dispatcher.end(at_once=True)

    def join(self) -> None:
        """Waits until the actors have ended. Raises ValueError before `close` or `terminate`."""
        if not self._closed:
            raise ValueError("Pool is still running: call close() or terminate() before join().")
        self._dispatcher.join()

    def __enter__(self) -> Pool:
        self._check_running()
        return self

    def __exit__(self, *exception: object) -> None:
        self.terminate()

    def __reduce__(self) -> Any:
        raise NotImplementedError("A Pool cannot be sent to another process: make one there, or pass its results.")

    def _check_running(self) -> None:
        if self._closed:
            raise ValueError("Pool not running")


def _checked_size(processes: int | None) -> int:
    if processes is None:
        return max(1, int(nbaccel.cluster_resources().get("CPU", 1)))
    if processes < 1:
        raise ValueError(f"A pool needs at least 1 process, but processes is {processes}.")
    return processes


def _checked_chunksize(chunksize: int | None) -> int | None:
    if chunksize is not None and chunksize < 1:
        raise ValueError(f"Chunksize must be 1+, not {chunksize}.")
    return chunksize


Outcome = tuple[bool, Any]  # (True, value) or (False, exception) of one item


class PoolTaskError(Exception):
    """What a call raised, as a value, where nothing is raised: to `error_callback` and from `imap`, as in Ray."""

    def __init__(self, underlying: BaseException) -> None:
        super().__init__(underlying)
        self.underlying = underlying


class AsyncResult:
    """The result of `apply_async` (one item) or `map_async` (a list of them), as in multiprocessing."""

    def __init__(
        self,
        chunk_count: int,
        *,
        single: bool,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._chunks: list[list[Outcome]] = [[] for _ in range(chunk_count)]
        self._missing = chunk_count
        self._single = single
        self._callback = callback
        self._error_callback = error_callback
        self._done = threading.Event()
        self._value: Any = [] if not chunk_count else None
        self._error: BaseException | None = None
        if not chunk_count:
            self._finish()

    def get(self, timeout: float | None = None) -> Any:
        """The value; raises what the function raised, or multiprocessing.TimeoutError."""
        if not interruptible.until(self._done.wait, timeout):
            raise TimeoutError(f"{self._missing} of {len(self._chunks)} chunks are not done within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout: float | None = None) -> None:
        interruptible.until(self._done.wait, timeout)

    def ready(self) -> bool:
        return self._done.is_set()

    def successful(self) -> bool:
        """Whether nothing was raised. Raises ValueError while the result is not ready."""
        if not self.ready():
            raise ValueError("The result is not ready: wait for it before asking whether it was successful.")
        return self._error is None

    def chunk_done(self, index: int, outcomes: list[Outcome]) -> None:
        """Told by the pool; the last chunk makes the result ready."""
        self._chunks[index] = outcomes
        self._missing -= 1
        if self._missing == 0:
            self._collect()
            self._finish()

    def _collect(self) -> None:
        items = [outcome for chunk in self._chunks for outcome in chunk]
        self._error = next((value for succeeded, value in items if not succeeded), None)
        if self._error is None:
            values = [value for _, value in items]
            self._value = values[0] if self._single else values

    def _finish(self) -> None:
        try:
            if self._error is None and self._callback is not None:
                self._callback(self._value)
            elif self._error is not None and self._error_callback is not None:
                self._error_callback(PoolTaskError(self._error))
        finally:
            self._done.set()


class StreamedResult:
    """The iterator of `imap` (ordered) and `imap_unordered`; `next(timeout)` as in multiprocessing.

    Chunks are submitted as results are taken, a few ahead, so that the iterable may be endless.
    """

    def __init__(self, submit_next: Callable[[StreamedResult, int], bool], ahead: int, *, ordered: bool) -> None:
        self._submit_next = submit_next  # (who to tell, chunk index) -> False when the iterable is at its end
        self._ordered = ordered
        self._arrived: queue.SimpleQueue[tuple[int, list[Outcome]]] = queue.SimpleQueue()
        self._early: dict[int, list[Outcome]] = {}  # ordered: chunks that arrived before their turn
        self._ready: list[Outcome] = []  # of the current chunk, last first
        self._submitted = 0
        self._taken = 0
        self._at_end = False
        for _ in range(ahead):
            self._submit()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """The next value, a PoolTaskError for an item whose call raised; raises StopIteration or TimeoutError."""
        while not self._ready:
            if self._taken == self._submitted:
                raise StopIteration
            self._ready = self._next_chunk(timeout)[::-1]
            self._submit()
        succeeded, value = self._ready.pop()
        return value if succeeded else PoolTaskError(value)

    def chunk_done(self, index: int, outcomes: list[Outcome]) -> None:
        """Told by the pool."""
        self._arrived.put((index, outcomes))

    def _next_chunk(self, timeout: float | None) -> list[Outcome]:
        while not (self._ordered and self._taken in self._early):
            index, outcomes = self._arrival(timeout)
            if not self._ordered:
                self._taken += 1
                return outcomes
            self._early[index] = outcomes
        self._taken += 1
        return self._early.pop(self._taken - 1)

    def _arrival(self, timeout: float | None) -> tuple[int, list[Outcome]]:
        found: list[tuple[int, list[Outcome]]] = []

        def look(seconds: float | None) -> bool:
            try:
                found.append(
                    self._arrived.get(timeout=None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
                )
            except queue.Empty:
                return False
            return True

        if not interruptible.until(look, timeout):
            raise TimeoutError(f"no result within {timeout} s")
        return found[0]

    def _submit(self) -> None:
        if not self._at_end:
            self._at_end = not self._submit_next(self, self._submitted)
            self._submitted += not self._at_end


# ---- the thread of a Pool that hands chunks to free actors; it alone knows which are free, so nothing is locked
#
# Pool ──chunks, close, terminate──► inbox ──► dispatcher ──run_chunk.remote──► actors
#                                      ▲                                          │
#                                      └──────────── done, by ref.future() ───────┘


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
    future: Future[list[Outcome]]


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

    def __call__(self, future: Future[list[Outcome]]) -> None:
        self.inbox.put(_Done(self.worker, self.chunk, future))
