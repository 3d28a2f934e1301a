"""The user's class or function in a replica: how it is made, and how its methods are called.

Async code runs in the replica's loop. Plain methods run in a pool of as many threads as requests may be under way.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import pickle
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from nbaccel.serve.exceptions import RayServeException

_END = object()


class MethodPool:
    """Threads for plain methods. A caller that is cancelled leaves its thread at work."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nbaccel-serve-call")
        self._threads = threads
        self.left = 0  # calls at work whose callers have gone

    def grow(self, threads: int) -> None:
        """At least so many threads from now on."""
        self._threads = max(self._threads, threads)
        self._pool._max_workers = self._threads

    async def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call it in a thread. Raises what it raises; a CancelledError has the unfinished work as `unfinished`."""
        copied = contextvars.copy_context()
        work: Future[Any] = self._pool.submit(lambda: _called(copied, function, args, kwargs))
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError as error:
            if not work.cancel() and not work.done():
                self.left += 1
                loop = asyncio.get_running_loop()
                work.add_done_callback(lambda done: loop.call_soon_threadsafe(self._left_ended))
                error.unfinished = work  # type: ignore[attr-defined]
            raise

    def _left_ended(self) -> None:
        self.left -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _called(copied: contextvars.Context, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        return copied.run(function, *args, **kwargs)
    except StopIteration as error:  # a future cannot hold it
        raise RuntimeError("the method raised StopIteration") from error


class UsersCallable:
    """The user's object, and the pool of its plain methods."""

    def __init__(self, code: bytes, threads: int) -> None:
        self._code = code
        self.pool = MethodPool(threads)
        self.made: Any = None
        self.is_function = False
        self._takes_request = True

    async def make(self) -> None:
        """Call the constructor. Raises what it raises."""
        target, args, kwargs = pickle.loads(self._code)
        self._code = b""
        self.is_function = not isinstance(target, type)
        if self.is_function:
            self.made = target
        elif inspect.iscoroutinefunction(target.__init__):
            self.made = target.__new__(target)
            await self.made.__init__(*args, **kwargs)
        else:
            self.made = target(*args, **kwargs)
        call = self.method("__call__") if self.has("__call__") else None
        self._takes_request = call is None or takes_arguments(call)

    def has(self, name: str) -> bool:
        return self.is_function if name == "__call__" and self.is_function else hasattr(self.made, name)

    def method(self, name: str) -> Callable[..., Any]:
        """A method by its name. Raises RayServeException with the names that there are."""
        if self.is_function:
            if name != "__call__":
                raise RayServeException(f"{self.name} is a function: it has no method {name}. Call handle.remote(...).")
            return self.made  # type: ignore[no-any-return]
        found = getattr(self.made, name, None)
        if not callable(found):
            names = [each for each in dir(type(self.made)) if not each.startswith("_")]
            raise RayServeException(f"{self.name} has no method {name}; it has {', '.join(names) or 'none'}.")
        return found  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return getattr(self.made if self.is_function else type(self.made), "__name__", "deployment")

    async def call(self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value, or an async iterator for what a generator yields."""
        if is_async(method):
            return await method(*args, **kwargs)
        if is_async_generator(method):
            return method(*args, **kwargs)
        value = await self.pool.run(method, *args, **kwargs)
        if inspect.isawaitable(value):
            return await value
        return self._stepped(value) if inspect.isgenerator(value) else value

    async def call_with_request(self, make_request: Callable[[], Any]) -> Any:
        """Answer a request of HTTP."""
        return await self.call(self.method("__call__"), (make_request(),) if self._takes_request else (), {})

    async def _stepped(self, generator: Any) -> AsyncIterator[Any]:
        """A plain generator, each step in a thread of the pool."""
        try:
            while (item := await self.pool.run(next, generator, _END)) is not _END:
                yield item
        finally:
            try:
                generator.close()
            except ValueError:
                pass  # its thread is still in it: the generator goes with its last step


def _unwrapped(method: Any) -> Any:
    return getattr(method, "__func__", method)


def is_async(method: Any) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(_call_of(method))


def is_async_generator(method: Any) -> bool:
    return inspect.isasyncgenfunction(method) or inspect.isasyncgenfunction(_call_of(method))


def _call_of(thing: Any) -> Any:
    """What an object that is no function itself runs when it is called."""
    return vars(type(thing)).get("__call__")


def yields(value: Any) -> bool:
    """Whether a call gave a stream."""
    return inspect.isasyncgen(value) or hasattr(value, "__anext__")


def takes_arguments(function: Any) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True
