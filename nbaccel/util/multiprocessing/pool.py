"""Pool: multiprocessing's pool of workers, each of them an actor."""

import itertools
from collections.abc import Callable, Iterable
from multiprocessing import TimeoutError
from typing import Any

import nbaccel
from nbaccel import engine
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.util.multiprocessing.results import (
    AsyncResult,
    CallChunk,
    PoolActor,
    PoolDispatcher,
    PoolTaskError,
    StreamedResult,
)

_CHUNKS_OF_A_MAP_PER_ACTOR = 4  # as multiprocessing: small enough to even out, large enough to be cheap
_CHUNKS_AHEAD_PER_ACTOR = 2  # of a streamed map: one running, one waiting


class Pool(SafeFinalizer):
    """A pool of `processes` actors (default: one for each CPU of the cluster) with multiprocessing's methods.

    `ray_remote_args` are options of the actors: `{"num_gpus": 1}` gives each a device. `maxtasksperchild` replaces an
    actor after so many calls. `ray_address` is passed to init() where that has not been called.

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
        """As `apply`, at once; the callbacks run in a thread of the pool."""
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
        return self._map_async(func, [tuple(item) for item in iterable], chunksize, callback, error_callback)

    def imap(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> StreamedResult:
        """An iterator of the values in order, a PoolTaskError where a call raised; the iterable is read as they are
        taken.
        """
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
        """Takes no more calls; those it has are finished, then the actors end."""
        if not self._closed:
            self._closed = True
            self._dispatcher.end(at_once=False)

    def terminate(self) -> None:
        """Ends the actors at once; what they had not finished fails with ActorDiedError."""
        self._closed = True
        self._dispatcher.end(at_once=True)

    def join(self) -> None:
        """Waits until the actors have ended. Raises ValueError before `close` or `terminate`."""
        if not self._closed:
            raise ValueError("Pool is still running: call close() or terminate() before join().")
        self._dispatcher.join()

    def __enter__(self) -> "Pool":
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


__all__ = ["AsyncResult", "Pool", "PoolTaskError", "TimeoutError"]
