"""The debug engine's workers: each has an id, runs one task at a time, and may hold an actor."""

from __future__ import annotations

import inspect
from collections import deque
from typing import Any

import msgspec

from nbaccel.debug_engine.idle_loop import IdleLoop
from nbaccel.local_engine.head.records import WorkerProcess
from nbaccel.local_engine.worker.actor_host import constructed
from nbaccel.local_engine.worker.execution import Running


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
