"""A replica: one actor that runs a deployment's code, and answers calls on its links.

```
  main thread of the actor    begin, look: asked by the controller as calls of the actor
  its loop, in a thread       links, async code of the user           its pool     plain methods of the user
```
So a replica whose code blocks the loop can still be looked at.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

import msgspec

import nbaccel
from nbaccel import roots
from nbaccel.serve import asgi, batching, callers, context, pickling
from nbaccel.serve.link import LONGEST_BODY, PART, Exchange, Frame, FrameKind, FrameLink, LinkLost, listen, new_loop
from nbaccel.serve.records import ControlCall, DeploymentSpec, HandleCall, HttpCall, decode_call, encode
from nbaccel.serve.users_callable import (
    STREAM_HEAD,
    UsersCallable,
    as_bytes,
    failure,
    head_and_body,
    is_response,
    pickled,
    task_error,
    yields,
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
