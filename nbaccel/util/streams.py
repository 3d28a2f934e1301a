"""Results in the order in which they become ready, from refs or from a function mapped over items."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import nbaccel


def as_completed(
    refs: Sequence[Any], *, chunk_size: int = 10, yield_obj_refs: bool = False, **wait_options: Any
) -> Iterator[Any]:
    """Yields the values of `refs` (or, with `yield_obj_refs`, the refs) as they become ready.

    `chunk_size` is the most refs to take at a time; `wait_options` go to `wait`. If a task failed, its error is raised
    when its value is due.

    >>> sorted(as_completed([nbaccel.put(rate) for rate in (0.1, 0.2)]))
    [0.1, 0.2]
    """
    if chunk_size < 1:
        raise ValueError(f"as_completed waits for at least one result at a time, but chunk_size is {chunk_size}.")
    return _as_completed(list(refs), chunk_size, yield_obj_refs, wait_options)


def _as_completed(waiting: list[Any], chunk_size: int, yield_refs: bool, wait_options: dict[str, Any]) -> Iterator[Any]:
    while waiting:
        ready, waiting = _ready(waiting, chunk_size, wait_options)
        yield from ready if yield_refs else map(nbaccel.get, ready)


def _ready(waiting: list[Any], most: int, wait_options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Wait for one ref, and also take other refs that are ready by then, up to `most`."""
    ready, rest = nbaccel.wait(waiting, num_returns=1, **wait_options)
    if rest and most > 1:
        more, rest = nbaccel.wait(rest, num_returns=min(most - 1, len(rest)), **{**wait_options, "timeout": 0})
        ready = [*ready, *more]
    return ready, rest


def map_unordered(
    fn: Any,
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: bool = False,
    **wait_options: Any,
) -> Iterator[Any]:
    """Yields `fn.remote(item)`'s values as they become ready; `items` may be endless.

    `backpressure_size` is how many calls may be in flight (None: all at once). `fn` is a remote function or an actor's
    method.

    >>> @nbaccel.remote
    ... def double(value): return 2 * value
    >>> sorted(map_unordered(double, range(3)))
    [0, 2, 4]
    """
    if backpressure_size is None:
        return as_completed([fn.remote(item) for item in items], chunk_size=chunk_size, yield_obj_refs=yield_obj_refs)
    if chunk_size < 1 or backpressure_size < 1:
        raise ValueError(
            f"map_unordered needs chunk_size and backpressure_size of at least 1, but they are {chunk_size} and "
            f"{backpressure_size}."
        )
    return _map_unordered(fn, iter(items), backpressure_size, chunk_size, yield_obj_refs, wait_options)


def _map_unordered(
    fn: Any, items: Iterator[Any], most: int, chunk_size: int, yield_refs: bool, wait_options: dict[str, Any]
) -> Iterator[Any]:
    waiting = [fn.remote(item) for item in islice(items, most)]
    while waiting:
        ready, waiting = _ready(waiting, chunk_size, wait_options)
        waiting += [fn.remote(item) for item in islice(items, len(ready))]
        done = deque(ready)
        del ready  # a value that was yielded is not kept alive by us
        while done:
            yield done.popleft() if yield_refs else nbaccel.get(done.popleft())
