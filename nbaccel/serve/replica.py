"""A replica: one actor that runs a deployment's code, and answers calls on its links.

```
  main thread of the actor    begin, look: asked by the controller as calls of the actor
  its loop, in a thread       links, async code of the user           its pool     plain methods of the user
```
So a replica whose code blocks the loop can still be looked at.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Any, TypeVar

import msgspec

import nbaccel
from nbaccel import cloudpickle, roots
from nbaccel.exceptions import RayTaskError
from nbaccel.serve import asgi, batching, callers, context, pickling
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.link import LONGEST_BODY, PART, Exchange, Frame, FrameKind, FrameLink, LinkLost, listen, new_loop
from nbaccel.serve.records import (
    AnswerHead,
    ControlCall,
    DeploymentSpec,
    ErrorWords,
    HandleCall,
    HttpCall,
    answer_head,
    decode_call,
    encode,
)

_T = TypeVar("_T")
_LOOK_S = 0.5  # a loop that does not turn within this time is blocked


class ReplicaActor:
    """The actor. Its methods are for the controller."""

    def __init__(self) -> None:
        self._replica: ReplicaLoop | None = None
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._run, name="nbaccel-serve-replica", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def begin(self, spec: bytes, tag: str, rank: int, folder: str) -> dict[str, Any]:
        """Make the user's object and listen. What its constructor raised is in the answer: "error", "words"."""
        made = ReplicaLoop(msgspec.msgpack.decode(spec, type=DeploymentSpec), tag, rank, folder, self._loop)
        self._replica = made
        return asyncio.run_coroutine_threadsafe(made.begin(), self._loop).result()

    def look(self) -> str:
        """The stack of the loop's thread if the loop is blocked, "" if it turns."""
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        if turned.wait(_LOOK_S):
            return ""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "its thread has ended"

    def where(self) -> str:
        """The line of the user's own code that the loop's thread is in: of a constructor that takes long."""
        stack = traceback.extract_stack(sys._current_frames().get(self._thread.ident or 0))
        own = [
            each for each in stack if not each.filename.startswith((roots.PACKAGE, sys.prefix, sys.base_prefix, "<fr"))
        ]
        return f"line {own[-1].lineno} of {own[-1].name} ({own[-1].filename})" if own else ""

    def end(self) -> None:
        """End the loop; where this process is the driver's own, it goes on without it."""
        if self._replica is not None:
            self._loop.call_soon_threadsafe(self._replica.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class ReplicaLoop:
    """All of a replica that runs in its loop."""

    def __init__(self, spec: DeploymentSpec, tag: str, rank: int, folder: str, loop: asyncio.AbstractEventLoop) -> None:
        self._spec = spec
        self._tag = tag
        self._rank = rank
        self._folder = folder
        self._path = os.path.join(folder, tag)
        self._loop = loop
        self._limit = spec.max_ongoing_requests
        self._ongoing = 0
        self._going = False
        self._idle = asyncio.Event()  # while it is going: nothing is under way any more
        self._links: set[FrameLink] = set()
        self._refused: set[FrameLink] = set()  # links that want to know when there is room
        self._tasks: set[asyncio.Task[Any]] = set()
        self._users = UsersCallable(spec.code, spec.max_ongoing_requests)
        self._app: asgi.App | None = None
        self._server: asyncio.Server | None = None
        self._callers = callers.Callers(os.path.join(folder, "door"), loop)
        self._where: dict[str, Any] = {}
        self._inside = copy_context()

    # ---- its life

    async def begin(self) -> dict[str, Any]:
        facts = nbaccel.get_runtime_context()
        self._where = {"pid": os.getpid(), "device_ids": facts.get_accelerator_ids()}
        self._inside.run(callers.adopted.set, self._callers)
        self._inside.run(context.enter, self._facts)
        began = time.monotonic()
        error = await self._in_context(self._make())
        if error is not None:
            return {"error": pickled(error), "words": failure(error)}
        self._server = await listen(self._path, lambda: FrameLink(self._opened, self._link_ended))
        return {
            **self._where,
            "path": self._path,
            "took_s": time.monotonic() - began,
            "checks": self._users.has("check_health"),
            "fallback": facts.fallback_choice if facts.fallback_taken else "",
        }

    async def _in_context(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run it where the user's code finds its replica."""
        return await self._loop.create_task(work, context=self._inside)

    async def _make(self) -> BaseException | None:
        step = "__init__"
        try:
            await self._users.make()
            self._app = await asgi.app_of(self._users.made)
            if self._spec.user_config:
                step = "reconfigure"
                await self._reconfigure(self._spec.user_config)
            if self._users.has("check_health"):
                step = "check_health"
                await self._users.call(self._users.method("check_health"), (), {})
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            return task_error(error, f"{self._spec.name}.{step}", self._where)
        return None

    async def _reconfigure(self, packed: bytes) -> None:
        if not self._users.has("reconfigure"):
            raise ValueError(
                f"user_config was given, but {self._spec.name} has no method reconfigure(self, config) to take it."
            )
        await self._users.call(self._users.method("reconfigure"), (pickle.loads(packed),), {})

    def _facts(self) -> context.ReplicaContext:
        spec = self._spec
        return context.ReplicaContext(
            spec.app, spec.name, self._tag, self._users.made, self._rank, spec.num_replicas, spec.digest
        )

    def close(self) -> None:
        context.leave(self._facts)
        for task in list(self._tasks):
            task.cancel()
        if self._server is not None:
            self._server.close()
        for link in list(self._links):
            link.close()
        self._callers.close()
        self._users.pool.close()

    # ---- calls

    def _opened(self, exchange: Exchange, frame: Frame) -> None:
        self._links.add(exchange.link)
        try:
            call = decode_call(frame.meta)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:  # msgspec raises the second for a damaged text
            exchange.link.bad_frames += 1
            exchange.link.close(f"a call is damaged: {error}")
            return
        if isinstance(call, ControlCall):
            self._begin_task(self._control(exchange, call, frame.body), exchange, self._tasks.discard)
        elif self._going:
            exchange.finish(FrameKind.GOING)
        elif self._ongoing >= self._limit:
            self._refused.add(exchange.link)
            exchange.finish(FrameKind.FULL)
        else:
            self._ongoing += 1
            self._begin_task(self._answer(exchange, call, frame.body), exchange, self._answered)

    def _begin_task(self, work: Coroutine[Any, Any, _T], exchange: Exchange, over: Callable[[Any], None]) -> None:
        task = self._loop.create_task(work, context=self._inside.copy())
        self._tasks.add(task)
        task.add_done_callback(over)
        exchange.on_cancel = task.cancel

    def _answered(self, task: asyncio.Task[Future[Any] | None]) -> None:
        """A request is over; also one that was cancelled before its task began."""
        self._tasks.discard(task)
        ended_well = not task.cancelled() and task.exception() is None
        unfinished = task.result() if ended_well else None
        if unfinished is None:
            self._one_less()
        else:  # its thread is still at work, and counts
            unfinished.add_done_callback(lambda done: self._loop.call_soon_threadsafe(self._one_less))

    def _link_ended(self, link: FrameLink) -> None:
        self._links.discard(link)
        self._refused.discard(link)

    def _one_less(self) -> None:
        """A request is over: there is room."""
        self._ongoing -= 1
        if self._going and not self._ongoing:
            self._idle.set()
        elif self._refused and not self._going:
            for link in self._refused:
                link.send(FrameKind.CREDIT, 0)
            self._refused.clear()

    async def _answer(self, exchange: Exchange, call: HttpCall | HandleCall, body: bytes) -> Future[Any] | None:
        """Returns what still runs of a request that was cancelled: its thread."""
        unfinished = None
        try:
            if isinstance(call, HttpCall):
                await self._answer_http(exchange, call, body)
            else:
                await self._answer_handle(exchange, call, body)
        except asyncio.CancelledError as cancelled:
            unfinished = getattr(cancelled, "unfinished", None)
            if not exchange.ended:  # the code has cancelled itself
                self._failed(exchange, call, cancelled)
        except LinkLost:
            pass  # nobody is there to be answered
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            self._failed(exchange, call, error)
        finally:
            exchange.end()
        return unfinished

    def _failed(self, exchange: Exchange, call: HttpCall | HandleCall, error: BaseException) -> None:
        method = call.method if isinstance(call, HandleCall) else "__call__"
        wrapped = task_error(error, f"{self._spec.name}.{method}", self._where)
        words = failure(wrapped, call.request_id)
        if isinstance(call, HttpCall):
            sys.stderr.write(f"request {call.request_id}: {wrapped.traceback_str}\n")
            exchange.finish(FrameKind.ERROR, words)
            return
        packed = pickled(wrapped)
        if len(packed) > LONGEST_BODY:
            packed = pickled(nbaccel.exceptions.RayTaskError(method, wrapped.traceback_str[-100_000:], None))
        exchange.finish(FrameKind.ERROR, words, packed)

    # ---- from Python

    async def _answer_handle(self, exchange: Exchange, call: HandleCall, body: bytes) -> None:
        if call.more:
            body = await exchange.rest_of_body(body)
        args, kwargs = pickle.loads(body)
        context.request.set(context.ServedRequest(call.request_id, call.model))
        value = await self._users.call(self._users.method(call.method), args, kwargs)
        if yields(value) != call.stream:
            await _refuse_stream(value, self._spec.name, call)
        if not call.stream:
            await exchange.finish_with(b"", pickling.packed(value))
            return
        try:
            async for item in value:
                await self._send_item(exchange, pickling.packed(item))
        finally:
            await value.aclose()
        exchange.finish(FrameKind.END)

    async def _send_item(self, exchange: Exchange, packed: bytes) -> None:
        for start in range(0, len(packed), LONGEST_BODY):
            last = start + LONGEST_BODY >= len(packed)
            await exchange.send_chunk(packed[start : start + LONGEST_BODY], b"" if last else PART)

    # ---- by HTTP

    async def _answer_http(self, exchange: Exchange, call: HttpCall, body: bytes) -> None:
        context.request.set(context.ServedRequest(call.request_id, call.model))
        if self._app is not None:
            await asgi.answer(self._app, exchange, call, body)
            return
        if call.websocket:
            error = TypeError("A WebSocket needs an ASGI app: use @serve.ingress(app).")
            sys.stderr.write(f"request {call.request_id}: {error}\n")  # no fault of the code: no traceback
            exchange.finish(FrameKind.ERROR, failure(error, call.request_id))
            return
        args = (asgi.request(exchange, call, body),) if self._users.takes_request else ()
        value = await self._users.call(self._users.method("__call__"), args, {})
        if is_response(value):
            await asgi.answer(value, exchange, call, b"")
        elif yields(value):
            await _send_stream(exchange, value)
        else:
            await exchange.finish_with(*head_and_body(value))

    # ---- for the controller

    async def _control(self, exchange: Exchange, call: ControlCall, body: bytes) -> None:
        try:
            answer = await self._controlled(exchange, call, body)
        except LinkLost:
            return
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            wrapped = task_error(error, f"{self._spec.name}.{call.what}", self._where)
            exchange.finish(FrameKind.ERROR, failure(wrapped), pickled(wrapped))
            return
        await exchange.finish_with(b"", answer)

    async def _controlled(self, exchange: Exchange, call: ControlCall, body: bytes) -> bytes:
        if call.what == "check":
            await self._users.call(self._users.method("check_health"), (), {})
        elif call.what == "reconfigure":
            await self._take(msgspec.msgpack.decode(body, type=DeploymentSpec))
        elif call.what == "drain":
            await self._drain()
        else:
            batches = [batching.counts.batches, batching.counts.items, batching.counts.limit]
            return encode({"ongoing": self._ongoing, "left": self._users.pool.left, "batches": batches})
        return b""

    async def _take(self, spec: DeploymentSpec) -> None:
        """Other limits, another user_config, another number of replicas: the same code goes on."""
        before, self._spec = self._spec, spec
        self._limit = spec.max_ongoing_requests
        self._users.pool.grow(self._limit)
        if spec.user_config and spec.user_config != before.user_config:
            await self._reconfigure(spec.user_config)

    async def _drain(self) -> None:
        """Take no more, finish what is under way, and let the user's object end."""
        self._going = True
        for link in self._links:
            link.send(FrameKind.GOING, 0)
        if self._ongoing:
            await self._idle.wait()
        if self._app is not None:
            await self._app.end()
        end = None if self._users.is_function else getattr(self._users.made, "__del__", None)
        if end is not None:
            done = end()
            if inspect.isawaitable(done):
                await done


async def _refuse_stream(value: Any, name: str, call: HandleCall) -> None:
    if yields(value):
        await value.aclose()
        raise TypeError(
            f"{name}.{call.method} is a generator: call it by handle.options(stream=True).{call.method}.remote(...)."
        )
    raise TypeError(f"{name}.{call.method} is no generator, so its handle cannot have stream=True.")


async def _send_stream(exchange: Exchange, items: Any) -> None:
    """The items of a generator, as the body of an answer."""
    meta = STREAM_HEAD
    try:
        async for item in items:
            if packed := as_bytes(item):
                await exchange.send_chunk(packed, meta)
                meta = b""
    finally:
        await items.aclose()
    if meta:
        await exchange.send_chunk(b"", meta)
    exchange.finish(FrameKind.END)


_END = object()


# ---- the user's class or function: how it is made and called, and what comes of what it returns and raises
#
# Async code runs in the replica's loop. Plain methods run in a pool of as many threads as requests may be under way. By
# HTTP, None is empty; bytes and str are text/plain; a Starlette Response goes as it is, a generator as its items come;
# the rest is JSON, with arrays as lists. A tuple is a list, not (body, status).


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
