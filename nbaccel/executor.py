"""`concurrent.futures` on a cluster: an executor for libraries that take one, and `as_completed` for refs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent import futures
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack

from nbaccel import api
from nbaccel import engine as engines
from nbaccel.handles.option_checks import with_article
from nbaccel.handles.refs import ObjectRef
from nbaccel.waits import stopping
from nbaccel.waits.ref_future import RefFuture

if TYPE_CHECKING:
    from nbaccel.handles.keywords import FunctionKeywords

P = ParamSpec("P")
R = TypeVar("R")


class _TaskFuture(RefFuture[R]):
    """A future whose cancel() cancels the task."""

    def cancel(self) -> bool:
        """Cancel the task, whether it waits or runs; False when it has ended."""
        ref = self.waited_ref
        if not super().cancel():
            return False
        if ref is not None:
            api.cancel(ref)
        return True


class Executor(futures.Executor):
    """Runs calls as remote tasks; the options are those of `@nbaccel.remote`.

    >>> with nbaccel.Executor(num_gpus=0.5) as pool:
    ...     list(pool.map(abs, [-1, -2]))
    [1, 2]
    """

    def __init__(self, **options: Unpack[FunctionKeywords]) -> None:
        self._options: Any = options
        self._functions: dict[Any, Any] = {}
        self._pending: set[_TaskFuture[Any]] = set()
        self._closed = False
        if options:
            api.remote(**options)(_check)  # a wrong option raises here, not at the first submit

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> futures.Future[R]:
        """Run `function(*args, **kwargs)` as a task and return its future. Raises RuntimeError after shutdown()."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        ref = self._remote(function).remote(*args, **kwargs)
        future: _TaskFuture[R] = _TaskFuture(ref)
        engines.current().fill(future, ref)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def _remote(self, function: Callable[..., Any]) -> Any:
        try:
            known = self._functions.get(function)
        except TypeError:  # a callable that cannot be hashed
            return self._made(function)
        if known is None:
            known = self._functions[function] = self._made(function)
        return known

    def _made(self, function: Callable[..., Any]) -> Any:
        called = _calling(function) if isinstance(function, type) else function
        return api.remote(**self._options)(called) if self._options else api.remote(called)

    def map(
        self, fn: Callable[..., R], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[R]:
        """Like the built-in map, in tasks, with results in order. `chunksize` is accepted and has no effect."""
        return super().map(fn, *iterables, timeout=timeout, chunksize=chunksize)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> bool | None:
        if kind is KeyboardInterrupt:  # raised inside the block, where nothing of ours may have been waiting
            stopping.waiting_was_stopped([ref for future in list(self._pending) if (ref := future.waited_ref)])
        return super().__exit__(kind, error, traceback)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more work, and wait for the submitted tasks or cancel them. The cluster goes on."""
        self._closed = True
        pending = list(self._pending)
        if cancel_futures:
            for future in pending:
                future.cancel()
        if wait:
            futures.wait(pending)


def _calling(kind: type) -> Callable[..., Any]:
    """A function that makes instances of a class; the class itself would become an actor class."""

    def make(*args: Any, **kwargs: Any) -> Any:
        return kind(*args, **kwargs)

    make.__name__ = make.__qualname__ = kind.__name__
    return make


def _check() -> None:
    """An empty function, used to check the options."""


# ---- refs in the order in which they become ready, in a `for` or an `async for`


T = TypeVar("T")


class as_completed(Generic[T]):
    """Iterate over refs as they become ready; a duplicate comes once.

    >>> refs = [nbaccel.put(x) for x in range(3)]
    >>> sorted(nbaccel.get(ref) for ref in nbaccel.as_completed(refs))
    [0, 1, 2]
    """

    def __init__(self, refs: Iterable[ObjectRef[T]], *, timeout: float | None = None) -> None:
        self._refs = list(dict.fromkeys(refs))
        self._timeout_s = timeout
        for ref in self._refs:
            if not isinstance(ref, ObjectRef):
                raise TypeError(f"as_completed() takes ObjectRefs, got {with_article(type(ref).__name__)}.")

    def __iter__(self) -> Iterator[ObjectRef[T]]:
        left = self._refs
        while left:
            ready, left = api.wait(left, num_returns=1, timeout=self._timeout_s)
            if not ready:
                raise TimeoutError(f"{len(left)} of {len(self._refs)} refs were not ready within {self._timeout_s} s.")
            yield from ready

    async def __aiter__(self) -> AsyncIterator[ObjectRef[T]]:
        import asyncio

        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[ObjectRef[T]] = asyncio.Queue()
        engine = engines.current()
        for ref in self._refs:
            engine.call_when_ready(ref, partial(_hand_over, loop, arrived, ref))
        left = dict.fromkeys(self._refs)
        while left:
            following = asyncio.ensure_future(arrived.get())
            stopping.await_in_thread(following, list(left))
            try:
                ref = await asyncio.wait_for(following, self._timeout_s)
            except asyncio.CancelledError:
                for waiting in left:  # the cell's end will tell whether Stop was the reason
                    stopping.await_was_cancelled(waiting)
                raise
            del left[ref]
            yield ref


def _hand_over(loop: Any, arrived: Any, ref: ObjectRef[Any]) -> None:
    try:
        loop.call_soon_threadsafe(arrived.put_nowait, ref)
    except RuntimeError:
        pass  # the loop was closed: nobody iterates any more
