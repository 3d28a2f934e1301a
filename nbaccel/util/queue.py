"""A queue that tasks, actors and the driver share; it lives in an asyncio actor. Pass it to a task like any value."""

import asyncio
import contextlib
import queue
from collections.abc import Iterable
from typing import Any

import nbaccel
from nbaccel.exceptions import RayActorError

__all__ = ["Empty", "Full", "Queue"]


class Empty(queue.Empty):
    """The queue has no item, or had none within the timeout.

    >>> from nbaccel.util.queue import Queue
    >>> Queue().get(timeout=0.01)
    Traceback (most recent call last):
    nbaccel.util.queue.Empty: ...
    """


class Full(queue.Full):
    """The queue is full, or was within the timeout."""


class QueueActor:
    """The actor behind a Queue."""

    def __init__(self, maxsize: int) -> None:
        self._queue: asyncio.Queue[Any] = asyncio.Queue(maxsize)

    async def qsize(self) -> int:
        return self._queue.qsize()

    async def empty(self) -> bool:
        return self._queue.empty()

    async def full(self) -> bool:
        return self._queue.full()

    async def put(self, item: Any, timeout: float | None = None) -> None:
        try:
            await asyncio.wait_for(self._queue.put(item), timeout)
        except TimeoutError:
            raise Full(f"no room in the queue within {timeout} s") from None

    async def get(self, timeout: float | None = None) -> Any:
        try:
            return await asyncio.wait_for(self._queue.get(), timeout)
        except TimeoutError:
            raise Empty(f"nothing in the queue within {timeout} s") from None

    async def put_nowait_batch(self, items: list[Any]) -> None:
        room = self._queue.maxsize - self._queue.qsize()
        if self._queue.maxsize > 0 and len(items) > room:
            raise Full(f"cannot put {len(items)} items: the queue has room for {room} of its {self._queue.maxsize}")
        for item in items:
            self._queue.put_nowait(item)

    async def get_nowait_batch(self, num_items: int) -> list[Any]:
        if num_items > self._queue.qsize():
            raise Empty(f"cannot get {num_items} items: the queue has {self._queue.qsize()}")
        return [self._queue.get_nowait() for _ in range(num_items)]


class Queue:
    """First in, first out, for any number of producers and consumers; `maxsize` 0: no limit.

    `actor_options` go to its actor, for instance `{"num_cpus": 1}`.

    >>> queue = Queue(maxsize=100)
    >>> queue.put(5)
    >>> queue.get()
    """

    def __init__(self, maxsize: int = 0, actor_options: dict[str, Any] | None = None) -> None:
        self.maxsize = maxsize
        self.actor: Any = nbaccel.remote(QueueActor).options(**(actor_options or {})).remote(maxsize)

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """How many items are in the queue."""
        return int(nbaccel.get(self.actor.qsize.remote()))

    def qsize(self) -> int:
        return self.size()

    def empty(self) -> bool:
        """Whether it has no item."""
        return bool(nbaccel.get(self.actor.empty.remote()))

    def full(self) -> bool:
        """Whether it has no room."""
        return bool(nbaccel.get(self.actor.full.remote()))

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Adds an item; waits for room unless `block` is false. Raises Full after `timeout` seconds."""
        _finish(
            self.actor.put_nowait_batch.remote([item]) if not block else self.actor.put.remote(item, _checked(timeout))
        )

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Takes the oldest item; waits for one unless `block` is false. Raises Empty after `timeout` seconds."""
        if not block:
            return _finish(self.actor.get_nowait_batch.remote(1))[0]
        return _finish(self.actor.get.remote(_checked(timeout)))

    async def put_async(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """As `put`, for asyncio code."""
        if not block:
            await _finish_async(self.actor.put_nowait_batch.remote([item]))
        else:
            await _finish_async(self.actor.put.remote(item, _checked(timeout)))

    async def get_async(self, block: bool = True, timeout: float | None = None) -> Any:
        """As `get`, for asyncio code."""
        if not block:
            return (await _finish_async(self.actor.get_nowait_batch.remote(1)))[0]
        return await _finish_async(self.actor.get.remote(_checked(timeout)))

    def put_nowait(self, item: Any) -> None:
        """As `put`, without waiting."""
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        """As `get`, without waiting."""
        return self.get(block=False)

    def put_nowait_batch(self, items: Iterable[Any]) -> None:
        """Add all items, or add none and raise Full."""
        if not isinstance(items, Iterable):
            raise TypeError(f"put_nowait_batch takes an iterable of items, but got {items!r}.")
        _finish(self.actor.put_nowait_batch.remote(list(items)))

    def get_nowait_batch(self, num_items: int) -> list[Any]:
        """Take `num_items` items, or take none and raise Empty."""
        if not isinstance(num_items, int):
            raise TypeError(f"get_nowait_batch takes a whole number of items, but got {num_items!r}.")
        if num_items < 0:
            raise ValueError(f"get_nowait_batch cannot take a negative number of items: {num_items}.")
        return list(_finish(self.actor.get_nowait_batch.remote(num_items)))

    def shutdown(self, force: bool = False, grace_period_s: float = 5) -> None:
        """End the queue's actor: at once with `force`, else when its calls end, at most after `grace_period_s`."""
        actor, self.actor = self.actor, None
        if actor is None:
            return
        if not force:
            ending = actor.__ray_terminate__.remote()
            with contextlib.suppress(RayActorError):
                if nbaccel.wait([ending], timeout=grace_period_s)[0]:
                    return
        nbaccel.kill(actor, no_restart=True)


def _checked(timeout: float | None) -> float | None:
    if timeout is not None and timeout < 0:
        raise ValueError(f"'timeout' must be a non-negative number, but is {timeout}.")
    return timeout


def _finish(ref: Any) -> Any:
    """The call's value; Full and Empty come as themselves, without the actor's traceback."""
    try:
        return nbaccel.get(ref)
    except (Full, Empty) as error:
        raise _plain(error) from None


async def _finish_async(ref: Any) -> Any:
    try:
        return await ref
    except (Full, Empty) as error:
        raise _plain(error) from None


def _plain(error: Full | Empty) -> Full | Empty:
    return (Full if isinstance(error, Full) else Empty)(*error.args)
