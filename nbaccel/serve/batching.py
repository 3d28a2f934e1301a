"""`@serve.batch`: calls that come one by one reach the function as lists.

The clock starts with the first item of a batch. The function is called with `max_batch_size` items, or with what has
come after `batch_wait_timeout_s`; results go back by position.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any
from weakref import WeakKeyDictionary

from nbaccel.serve.exceptions import RayServeException

_MARK = "_nbaccel_serve_batch"


class _End:
    """Ends a stream. A class: a function that is sent to a replica finds the same one there."""


class _Item:
    """One call that waits for its batch."""

    __slots__ = ("args", "future", "items", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.items: asyncio.Queue[Any] = asyncio.Queue()  # of a stream


class BatchOptions:
    """The limits of one batched function; they can be changed while it serves."""

    def __init__(
        self, max_batch_size: int, wait_s: float, concurrent: int, size_of: Callable[[list[Any]], int] | None
    ) -> None:
        self.max_batch_size = max_batch_size
        self.wait_s = wait_s
        self.concurrent = concurrent
        self.size_of = size_of

    def weight(self, waiting: list[_Item], count: int) -> int:
        if self.size_of is None:
            return count
        return self.size_of([_only_argument(item) for item in waiting[:count]])


def _only_argument(item: _Item) -> Any:
    return item.args[0] if item.args else next(iter(item.kwargs.values()), None)


class BatchCounts:
    """The batches that this process has run: a replica has a process of its own."""

    def __init__(self) -> None:
        self.batches = 0
        self.items = 0
        self.limit = 0  # of the last one

    def note(self, items: int, limit: int) -> None:
        self.batches += 1
        self.items += items
        self.limit = limit


counts = BatchCounts()


class _Batcher:
    """The queue of one batched function, of one object if it is a method."""

    def __init__(self, function: Callable[..., Any], options: BatchOptions, owner: Any) -> None:
        self._function = function
        self._options = options
        self._owner = owner  # () or (self,)
        self._waiting: list[_Item] = []
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Item:
        item = _Item(args, kwargs)
        self._waiting.append(item)
        self._look()
        return item

    def _look(self) -> None:
        """Begin a batch if one is full, or wait for company."""
        options = self._options
        if any(item.future.cancelled() for item in self._waiting):
            self._waiting = [item for item in self._waiting if not item.future.cancelled()]
        while self._waiting and self._running < options.concurrent:
            if self._fits() >= len(self._waiting) and not self._is_full() and options.wait_s > 0:
                if self._timer is None:
                    loop = asyncio.get_running_loop()
                    self._timer = loop.call_later(options.wait_s, self._time_is_up)
                return
            self._begin()

    def _is_full(self) -> bool:
        return self._options.weight(self._waiting, len(self._waiting)) >= self._options.max_batch_size

    def _fits(self) -> int:
        """How many of those who wait go into one batch; at least one."""
        most = self._options.max_batch_size
        if self._options.size_of is None:
            return min(len(self._waiting), most)
        count = 1
        while count < len(self._waiting) and self._options.weight(self._waiting, count + 1) <= most:
            count += 1
        return count

    def _time_is_up(self) -> None:
        self._timer = None
        if self._waiting and self._running < self._options.concurrent:
            self._begin()
        self._look()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        count = self._fits()
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        self._running += 1
        counts.note(len(batch), self._options.max_batch_size)
        task = asyncio.ensure_future(self._run(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, batch: list[_Item]) -> None:
        try:
            args, kwargs = self._columns(batch)
            if inspect.isasyncgenfunction(self._function):
                await self._stream(batch, self._function(*self._owner, *args, **kwargs))
            else:
                results = await self._called(args, kwargs)
                _check_length(results, batch)
                for item, result in zip(batch, results, strict=True):
                    _give(item, result)
        except Exception as error:  # of the user's function: each of those who wait gets it
            for item in batch:
                _fail(item, error)
        finally:
            self._running -= 1
            self._look()

    def _columns(self, batch: list[_Item]) -> tuple[list[list[Any]], dict[str, list[Any]]]:
        """The arguments of all items: a list for each parameter."""
        first = batch[0]
        for item in batch:
            if len(item.args) != len(first.args) or item.kwargs.keys() != first.kwargs.keys():
                raise TypeError("All calls of a batched function have the same arguments, positional or by name.")
        columns = [[item.args[index] for item in batch] for index in range(len(first.args))]
        return columns, {name: [item.kwargs[name] for item in batch] for name in first.kwargs}

    async def _called(self, args: list[list[Any]], kwargs: dict[str, list[Any]]) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(*self._owner, *args, **kwargs)
        return await asyncio.to_thread(self._function, *self._owner, *args, **kwargs)

    async def _stream(self, batch: list[_Item], lists: AsyncIterator[Any]) -> None:
        """Each list that the generator yields has the next item of each stream."""
        async for results in lists:
            _check_length(results, batch)
            for item, result in zip(batch, results, strict=True):
                item.items.put_nowait((result, None))
        for item in batch:
            item.items.put_nowait((_End, None))


def _check_length(results: Any, batch: list[_Item]) -> None:
    if not hasattr(results, "__len__") or isinstance(results, (str, bytes, dict)):
        raise RayServeException(
            f"A batched function returns a list with a result for each item, not a {type(results).__name__}."
        )
    if len(results) != len(batch):
        raise RayServeException(
            f"A batched function returned {len(results)} results for {len(batch)} items: it returns one for each, in "
            "order."
        )


def _give(item: _Item, result: Any) -> None:
    if not item.future.done():
        item.future.set_result(result)


def _fail(item: _Item, error: Exception) -> None:
    if not item.future.done():
        item.future.set_exception(error)
        item.future.exception()  # a stream waits for its queue instead
    item.items.put_nowait((_End, error))


def batch(
    function: Callable[..., Any] | None = None,
    max_batch_size: int = 10,
    batch_wait_timeout_s: float = 0.01,
    max_concurrent_batches: int = 1,
    batch_size_fn: Callable[[list[Any]], int] | None = None,
) -> Any:
    """Gather calls of a method: it gets a list for each parameter, and returns a list with one result for each call.

    A batch starts when it is full or `batch_wait_timeout_s` has passed; 0: at once with the calls that are there. An
    async generator yields such lists. A plain `def` runs in a thread. `.set_max_batch_size(n)` and
    `.set_batch_wait_timeout_s(s)` change the limits.

    >>> @serve.deployment
    ... class Doubler:
    ...     @serve.batch(max_batch_size=8)
    ...     async def __call__(self, values):
    ...         return [2 * value for value in values]
    >>> handle = serve.run(Doubler.bind(), route_prefix=None)
    >>> [answer.result() for answer in [handle.remote(x) for x in range(3)]]
    [0, 2, 4]
    >>> serve.delete("default")
    """
    _check(max_batch_size, batch_wait_timeout_s, max_concurrent_batches)
    options = BatchOptions(max_batch_size, batch_wait_timeout_s, max_concurrent_batches, batch_size_fn)

    def decorate(decorated: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isroutine(decorated) or inspect.isgeneratorfunction(decorated):
            raise TypeError(f"@serve.batch takes a method or a function, async or plain, not {decorated!r}.")
        return _wrapped(decorated, options)

    return decorate if function is None else decorate(function)


def _check(size: Any, wait_s: Any, concurrent: Any) -> None:
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"max_batch_size is a number of at least 1, not {size!r}.")
    if not isinstance(wait_s, (int, float)) or wait_s < 0:
        raise ValueError(f"batch_wait_timeout_s is a number of seconds, not {wait_s!r}.")
    if not isinstance(concurrent, int) or concurrent < 1:
        raise ValueError(f"max_concurrent_batches is a number of at least 1, not {concurrent!r}.")


def _wrapped(function: Callable[..., Any], options: BatchOptions) -> Callable[..., Any]:
    is_method = next(iter(inspect.signature(function).parameters), "") == "self"

    def batcher(args: tuple[Any, ...]) -> tuple[_Batcher, tuple[Any, ...]]:
        owner = args[:1] if is_method else ()
        return _batcher_of(function, options, owner), args[len(owner) :]

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            found, rest = batcher(args)
            item = found.add(rest, kwargs)
            while True:
                result, error = await item.items.get()
                if error is not None:
                    raise error
                if result is _End:
                    return
                yield result

    else:

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            found, rest = batcher(args)
            return await found.add(rest, kwargs).future

    made: Any = wrapper
    setattr(made, _MARK, options)
    made.set_max_batch_size = lambda size: _set(options, "max_batch_size", size)
    made.set_batch_wait_timeout_s = lambda seconds: _set(options, "wait_s", seconds)
    return made  # type: ignore[no-any-return]


def _set(options: BatchOptions, name: str, value: Any) -> None:
    _check(value if name == "max_batch_size" else 1, value if name == "wait_s" else 0, 1)
    setattr(options, name, value)


_of_functions: WeakKeyDictionary[Any, _Batcher] = WeakKeyDictionary()


def _batcher_of(function: Callable[..., Any], options: BatchOptions, owner: tuple[Any, ...]) -> _Batcher:
    """The queue of this function, and of this object."""
    if not owner:
        found = _of_functions.get(function)
        if found is None:
            found = _of_functions[function] = _Batcher(function, options, ())
        return found
    kept: dict[str, _Batcher] = owner[0].__dict__.setdefault("_nbaccel_serve_batchers", {})
    if function.__name__ not in kept:
        kept[function.__name__] = _Batcher(function, options, owner)
    return kept[function.__name__]


def batch_sizes(target: Any) -> list[tuple[str, int]]:
    """The batched methods of a class, or the function itself if it is one: (name, items that they need at once)."""
    members = vars(target).items() if isinstance(target, type) else [(getattr(target, "__name__", ""), target)]
    marked = [(name, getattr(member, _MARK, None)) for name, member in members]
    return [
        (name, options.max_batch_size * options.concurrent)
        for name, options in marked
        if isinstance(options, BatchOptions)
    ]
