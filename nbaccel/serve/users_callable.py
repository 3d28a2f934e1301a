"""The user's class or function in a replica: how it is made and called, and what comes of what it returns and raises.

Async code runs in the replica's loop. Plain methods run in a pool of as many threads as requests may be under way. By
HTTP, None is empty; bytes and str are text/plain; a Starlette Response goes as it is, a generator as its items come;
the rest is JSON, with arrays as lists. A tuple is a list, not (body, status).
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import pickle
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import msgspec

from nbaccel import cloudpickle, roots
from nbaccel.exceptions import RayTaskError
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.records import AnswerHead, ErrorWords, answer_head, encode

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
        self.takes_request = True

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
        self.takes_request = call is None or takes_arguments(call)

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
        flags = method.__code__.co_flags if hasattr(method, "__code__") else 0  # asking inspect costs a microsecond
        if flags & inspect.CO_COROUTINE or is_async(method):
            return await method(*args, **kwargs)
        if is_async_generator(method):
            return method(*args, **kwargs)
        value = await self.pool.run(method, *args, **kwargs)
        if inspect.isawaitable(value):
            return await value
        return self._stepped(value) if inspect.isgenerator(value) else value

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


# ---- what it returns


Answer = tuple[int, list[tuple[bytes, bytes]], bytes]

_TEXT = b"text/plain; charset=utf-8"
_JSON = b"application/json"


def is_response(value: Any) -> bool:
    """Whether it is an ASGI app with a status and headers, as Starlette's responses are."""
    starlette = sys.modules.get("starlette.responses")
    return starlette is not None and isinstance(value, starlette.Response)


def head_and_body(value: Any) -> tuple[bytes, bytes]:
    """The packed head and the body. Raises TypeError for what cannot be JSON, naming the place in the value."""
    if value is None:
        kind, body = _TEXT, b""
    elif isinstance(value, str):
        kind, body = _TEXT, value.encode()
    elif isinstance(value, (bytes, bytearray, memoryview)):
        kind, body = _TEXT, bytes(value)
    else:
        kind, body = _JSON, to_json(value)
    block = b"content-length: %d\r\ncontent-type: %b\r\n" % (len(body), kind)
    return encode(AnswerHead(200, block, len(body))), body


STREAM_HEAD = answer_head(200, [(b"content-type", _TEXT)])


def as_bytes(item: Any) -> bytes:
    """An item of a generator that answers by HTTP."""
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    return to_json(item)


def to_json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise TypeError(_why_no_json(value, error)) from None


def _plain(value: Any) -> Any:
    """What msgspec does not know: arrays and scalars of NumPy and torch, and models of pydantic."""
    for name in ("model_dump", "tolist", "isoformat", "__json__"):
        method = getattr(value, name, None)
        if callable(method):
            if name == "model_dump":
                return method(mode="json")
            if getattr(value, "requires_grad", False):
                return value.detach().tolist()
            return method()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, complex) or not hasattr(value, "__iter__"):
        raise NotImplementedError(type(value).__name__)
    return list(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def _why_no_json(value: Any, error: Exception) -> str:
    place, part = _culprit(value, "result")
    return (
        f"The answer cannot be made JSON: {place} is a {type(part).__name__} ({error}). Return what JSON has, bytes, "
        "or a starlette Response."
    )


def _culprit(value: Any, place: str, deep: int = 20) -> tuple[str, Any]:
    """The innermost part that cannot be encoded."""
    items: Any = ()
    if isinstance(value, Mapping):
        items = ((f"{place}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        items = ((f"{place}[{index}]", part) for index, part in enumerate(value))
    for name, part in items if deep else ():
        try:
            _encoder.encode(part)
        except Exception:  # whatever a user's class raises while it is encoded
            return _culprit(part, name, deep - 1)
    return place, value


# ---- what user code raised


_OURS = (roots.PACKAGE, "<frozen importlib")


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """From the first frame on that is not ours; all of it if all frames are."""
    start = tb
    while start is not None and _is_ours(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or tb


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) or "/asyncio/" in filename or "/concurrent/futures/" in filename


def task_error(error: BaseException, where: str, facts: Mapping[str, Any]) -> RayTaskError:
    """An exception of user code, as callers raise it."""
    if isinstance(error, RayTaskError):
        return error
    error.with_traceback(users_part(error.__traceback__))
    return RayTaskError(where, "".join(traceback.format_exception(error)).rstrip(), error, **facts)


def failure(error: BaseException, request_id: str = "") -> bytes:
    """Words about it, packed."""
    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    text = (
        error.traceback_str if isinstance(error, RayTaskError) else "".join(traceback.format_exception(error)).rstrip()
    )
    try:
        message = str(cause)
    except Exception:  # a user's __str__ may raise as well
        message = ""
    return encode(ErrorWords(type(cause).__name__, message, text, request_id))


def pickled(error: BaseException) -> bytes:
    """An exception for the caller; a plain one with its words if it cannot be pickled."""
    try:
        return cloudpickle.dumps(error)  # type: ignore[no-any-return]
    except Exception:  # whatever an attribute of a user's exception raises
        words = error.traceback_str if isinstance(error, RayTaskError) else str(error)
        name = error.function_name if isinstance(error, RayTaskError) else type(error).__name__
        return cloudpickle.dumps(RayTaskError(name, words, None))  # type: ignore[no-any-return]
