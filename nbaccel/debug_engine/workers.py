"""What stands for a worker process here: it has an id, runs one thing at a time, and may house an actor."""

from __future__ import annotations

import inspect
import traceback
from collections import deque
from typing import Any

import msgspec

from nbaccel.debug_engine.idle_loop import IdleLoop
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.local_engine.worker.actor_host import constructed, method_of
from nbaccel.local_engine.worker.execution import ActorExit, Running


class DebugWorker(msgspec.Struct, eq=False):
    """One of them."""

    worker_id: bytes
    node_id: bytes
    creation: Running | None = None  # of the actor that lives here
    instance: Any = None
    loop: IdleLoop | None = None
    waiting: deque[Running] = msgspec.field(default_factory=deque)  # sent, not begun
    under_way: dict[bytes, Running] = {}
    busy: bool = False  # its code is on the stack
    ended: bool = False

    @property
    def label(self) -> str:
        return self.creation.terms.class_name if self.creation is not None else "worker"

    def method(self, name: str) -> Any:
        """A method of the actor, or one that every actor has."""
        if name == "__ray_ready__":
            return lambda *args, **kwargs: True
        if name == "__ray_terminate__":
            return _terminate
        if name == "__ray_call__":
            return lambda function, *args, **kwargs: function(self.instance, *args, **kwargs)
        return method_of(self.instance, name)

    def house(self, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Make the actor; an asyncio one in its loop."""
        assert self.creation is not None
        if not self.creation.terms.is_async:
            self.instance = cls(*args, **kwargs)
            return
        self.loop = self.loop or IdleLoop()
        making = self.loop.loop.create_task(constructed(cls, args, kwargs))
        self.loop.run()
        if not making.done():
            making.cancel()
            raise RuntimeError("the constructor waits for something that nobody here will bring")
        self.instance = making.result()

    def say_goodbye(self) -> None:
        """The last wish of an actor that is not killed. What it has registered with atexit is for the end of ours."""
        last_wish = getattr(type(self.instance), "__ray_shutdown__", None)
        if last_wish is None:
            return
        try:
            last_wish(self.instance)
        except Exception:  # user code, and nobody is there to be told but whoever reads its output
            traceback.print_exc()

    def end(self) -> None:
        self.ended = True
        if self.loop is not None:
            self.loop.close()
        self.instance = None


class PausedStream(msgspec.Struct, eq=False):
    """A streaming task that runs as far as its reader has come."""

    running: Running
    worker: DebugWorker
    iterator: Any  # a generator, or an async generator of an asyncio actor
    index: int = 0
    ended: bool = False

    def next(self) -> Any:
        """The next value. Raises StopIteration at the end."""
        if not inspect.isasyncgen(self.iterator):
            return next(self.iterator)
        assert self.worker.loop is not None
        step = self.worker.loop.loop.create_task(_anext(self.iterator))
        self.worker.loop.run()
        if not step.done():
            step.cancel()
            raise RuntimeError("the async generator waits for something that nobody here will bring")
        try:
            return step.result()
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        if inspect.isgenerator(self.iterator):
            self.iterator.close()


async def _anext(iterator: Any) -> Any:
    return await anext(iterator)


def _terminate(*args: Any) -> None:
    raise ActorExit


class Entry(TaskEntry):
    """This engine's part of a task: Task.payload."""

    environment: dict[str, Any] = {}  # its runtime_env, as it was given
