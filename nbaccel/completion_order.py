"""Refs in the order in which they become ready, in a `for` or an `async for`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from nbaccel import api
from nbaccel import engine as engines
from nbaccel.handles.option_checks import with_article
from nbaccel.handles.refs import ObjectRef
from nbaccel.waits import stopping

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
