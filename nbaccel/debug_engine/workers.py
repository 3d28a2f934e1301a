"""The debug engine's workers: each has an id, runs one task at a time, and may hold an actor."""

from __future__ import annotations

import asyncio
import inspect
import selectors
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from nbaccel.local_engine.head.records import WorkerProcess
from nbaccel.local_engine.worker.actor_host import constructed
from nbaccel.local_engine.worker.execution import Running

# ---- an event loop that stops by itself when its tasks can only wait for code outside of the loop


class _Selector(selectors.DefaultSelector):
    """Stops the loop when the loop would sleep forever."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None and self.loop is not None:  # no callback is due, no timer is set
            self.loop.stop()
            return super().select(0)
        return super().select(timeout)


class IdleLoop:
    """The event loop of one asyncio actor."""

    def __init__(self) -> None:
        selector = _Selector()
        self.loop = asyncio.SelectorEventLoop(selector)
        selector.loop = self.loop
        self._closing = False

    def run(self) -> None:
        """Run until every task is done or waits for something that this loop cannot deliver."""
        with _no_loop_around():
            self.loop.run_forever()
            if self._closing:
                self._close()

    def outcome(self, coroutine: Coroutine[Any, Any, Any], who: str) -> Any:
        """Run a coroutine and return its result. Raises RuntimeError when it waits for code outside of the loop."""
        task = self.loop.create_task(coroutine)
        self.run()
        if not task.done():
            task.cancel()
            raise RuntimeError(f"{who} waits for something that nobody here will bring")
        return task.result()

    def close(self) -> None:
        """Cancel every task, then close the loop; a loop that is running closes as soon as it stops."""
        if self.loop.is_running():
            self._closing = True
            self.loop.stop()
        elif not self.loop.is_closed():
            with _no_loop_around():
                self._close()

    def _close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_forever()
        self.loop.close()


@contextmanager
def _no_loop_around() -> Iterator[None]:
    """Hide the loop in which a notebook's cell runs: asyncio allows one running loop in a thread."""
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)


# ----


class DebugActor(msgspec.Struct, eq=False):
    """The actor of one worker."""

    creation: Running
    under_way: dict[bytes, Running]  # the worker's
    instance: Any = None
    loop: IdleLoop | None = None

    def is_under_way(self, running: Running) -> bool:
        return running.task_id in self.under_way

    def construct(self, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Create the instance; an asyncio actor's constructor runs in the actor's loop."""
        if not self.creation.terms.is_async:
            self.instance = cls(*args, **kwargs)
            return
        self.loop = IdleLoop()
        self.instance = self.loop.outcome(constructed(cls, args, kwargs), "the constructor")

    def end(self) -> None:
        if self.loop is not None:
            self.loop.close()
        self.instance = None


class DebugWorker(WorkerProcess, eq=False):
    """One worker, with the tasks that were sent to it."""

    actor: DebugActor | None = None
    waiting: deque[Running] = msgspec.field(default_factory=deque)  # sent, not begun
    under_way: dict[bytes, Running] = {}
    busy: bool = False  # its code is on the stack

    def end(self) -> None:
        self.ended = True
        if self.actor is not None:
            self.actor.end()


class PausedStream(msgspec.Struct, eq=False):
    """A streaming task that runs only as far as its reader has read."""

    running: Running
    worker: DebugWorker
    iterator: Any  # a generator, or an async generator of an asyncio actor
    index: int = 0
    ended: bool = False

    def next(self) -> Any:
        """The next value. Raises StopIteration at the end."""
        if not inspect.isasyncgen(self.iterator):
            return next(self.iterator)
        assert self.worker.actor is not None and self.worker.actor.loop is not None
        try:
            return self.worker.actor.loop.outcome(_anext(self.iterator), "the async generator")
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        if inspect.isgenerator(self.iterator):
            self.iterator.close()


async def _anext(iterator: Any) -> Any:
    return await anext(iterator)
