"""Handles of deployments, and the responses to their calls."""

from __future__ import annotations

import asyncio
import pickle
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from functools import partial
from typing import Any, Generic, TypeVar

import nbaccel
from nbaccel.exceptions import GetTimeoutError, RayError, RayTaskError
from nbaccel.handles.remote import ObjectRef
from nbaccel.serve import callers, context, pickling
from nbaccel.serve.exceptions import RayServeException, RequestCancelledError
from nbaccel.serve.link import LONGEST_BODY, PART, Frame, FrameKind, LinkLost, whole
from nbaccel.serve.records import HandleCall, decode_failure, encode
from nbaccel.serve.routing import Route, Sent, Upload
from nbaccel.waits import interruptible

T = TypeVar("T")


class DeploymentHandle:
    """Calls a deployment from Python: `handle.remote(...)`, `handle.method.remote(...)`.

    `serve.run` returns the handle of an application's ingress. Handles can be sent to tasks, actors and other replicas
    of the same session.

    >>> @serve.deployment
    ... class Model:
    ...     def __call__(self, x): return x + 1
    ...     def double(self, x): return 2 * x
    >>> handle = serve.run(Model.bind(), name="model", route_prefix=None)
    >>> handle.remote(1).result(), handle.double.remote(4).result()
    (2, 8)
    >>> serve.delete("model")
    """

    def __init__(
        self,
        deployment_name: str,
        app_name: str,
        *,
        method_name: str = "__call__",
        stream: bool = False,
        multiplexed_model_id: str = "",
    ) -> None:
        self.deployment_name = deployment_name
        self.app_name = app_name
        self._method = method_name
        self._stream = stream
        self._model = multiplexed_model_id

    def options(
        self,
        *,
        method_name: str | None = None,
        stream: bool | None = None,
        multiplexed_model_id: str | None = None,
        **unknown: Any,
    ) -> DeploymentHandle:
        """A handle of the same deployment, with another method, as a stream, or for another model."""
        if unknown:
            raise TypeError(
                f"{', '.join(unknown)}: a handle's options here are method_name, stream and multiplexed_model_id. "
                "Ray Serve has more: on a Ray cluster, `from ray import serve` beside nbaccel."
            )
        return DeploymentHandle(
            self.deployment_name,
            self.app_name,
            method_name=self._method if method_name is None else method_name,
            stream=self._stream if stream is None else stream,
            multiplexed_model_id=self._model if multiplexed_model_id is None else multiplexed_model_id,
        )

    def __getattr__(self, name: str) -> DeploymentHandle:
        if name.startswith("_"):
            raise AttributeError(f"'DeploymentHandle' object has no attribute {name!r}", name=name, obj=self)
        return self.options(method_name=name)

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Call it. Returns a DeploymentResponse at once, or a DeploymentResponseGenerator with `stream=True`.

        A response or an ObjectRef among the arguments is replaced by its value.
        """
        call = _Call(self, args, kwargs)
        return DeploymentResponseGenerator(call) if self._stream else DeploymentResponse(call)

    def __reduce__(self) -> Any:
        return _handle, (self.deployment_name, self.app_name, self._method, self._stream, self._model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeploymentHandle) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__()[1])

    def __repr__(self) -> str:
        return f"DeploymentHandle(deployment='{self.deployment_name}', app='{self.app_name}')"

    def _repr_html_(self) -> str | None:
        """The card of its application, as the last line of a cell shows it."""
        from nbaccel.serve import schema, serving

        if self._call_would_block():
            return None
        try:
            return schema.as_html(serving.status(), self.app_name)
        except (RayServeException, RayError):
            return None  # the session has ended: the text is shown

    def _call_would_block(self) -> bool:
        return not nbaccel.is_initialized() or callers.current().is_here()


def _handle(deployment: str, app: str, method: str, stream: bool, model: str) -> DeploymentHandle:
    return DeploymentHandle(deployment, app, method_name=method, stream=stream, multiplexed_model_id=model)


class _Call:
    """One call of a handle: what is sent, and how to send it in the loop."""

    def __init__(self, handle: DeploymentHandle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        request = context.request.get(None)
        self.request_id = request.request_id if request is not None else secrets.token_hex(16)
        self._handle = handle
        self._awaited = any(map(_is_awaited, (*args, *kwargs.values())))
        self._given = (args, kwargs) if self._awaited else None
        self._body = b"" if self._awaited else self._pickled(args, kwargs)
        self.callers = callers.current()

    def _pickled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        return pickling.packed((args, kwargs))

    def _head(self, *, more: bool) -> bytes:
        handle = self._handle
        return encode(HandleCall(handle._method, self.request_id, handle._stream, more, handle._model))

    def _route(self) -> Route:
        return self.callers.route(self._handle.app_name, self._handle.deployment_name)

    def send_now(self) -> Sent | None:
        """Send it without a task, if a replica has room and there is nothing to wait for."""
        if self._given is not None or len(self._body) > LONGEST_BODY:
            return None
        route = self._route()
        replica = route.pick_now(self._handle._model)
        try:
            return None if replica is None else route.open(replica, self._head(more=False), self._body, None)
        except LinkLost:
            return None

    async def send(self, begun: tuple[Sent, Frame] | None = None) -> tuple[Sent, Frame]:
        """Have a replica take the call, unless it has `begun`; its first frame."""
        if self._given is not None:
            args, kwargs = self._given
            self._given = None
            self._body = self._pickled(
                tuple([await _value(each) for each in args]),
                {name: await _value(each) for name, each in kwargs.items()},
            )
        body = self._body
        more = len(body) > LONGEST_BODY
        upload = Upload(_slices(body)) if more else None
        return await self._route().send(
            self._head(more=more), body[:LONGEST_BODY], upload, begun=begun, model=self._handle._model
        )


def _is_awaited(value: Any) -> bool:
    return isinstance(value, (DeploymentResponse, ObjectRef))


async def _value(given: Any) -> Any:
    return await given if _is_awaited(given) else given


def _slices(body: bytes) -> Callable[[], Any]:
    """Reads the parts of a body after the first."""
    places = iter(range(LONGEST_BODY, len(body), LONGEST_BODY))

    async def read() -> bytes:
        start = next(places, None)
        return b"" if start is None else body[start : start + LONGEST_BODY]

    return read


def _loaded(frame: Frame, request_id: str) -> Any:
    """The value of an answer. Raises what the deployment raised."""
    if frame.kind is FrameKind.DONE:
        return pickle.loads(frame.body)
    if frame.kind is FrameKind.ERROR:
        raise _error(frame)
    raise RequestCancelledError(request_id)


def _error(frame: Frame) -> BaseException:
    try:
        error = pickle.loads(frame.body)
    except Exception as broken:  # a class of the user's that this process cannot build
        failure = decode_failure(frame.meta)
        return RayServeException(
            f"{failure.type}: {failure.message}\n{failure.traceback}\n(It cannot be unpickled: {broken})"
        )
    return error.as_instanceof_cause() if isinstance(error, RayTaskError) else error


class _Response:
    """What a response and a stream have in common."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    @property
    def request_id(self) -> str:
        return self._call.request_id

    def _must_not_block(self, name: str) -> None:
        if self._call.callers.is_here():
            raise RuntimeError(
                f"{name} would block the loop that brings its answer: use `await` in an async method, or make the "
                "method a plain `def`."
            )

    def __reduce__(self) -> Any:
        raise TypeError(
            "A response can be passed on as an argument of another .remote(...), where it is replaced by its value, "
            "but not inside of a list or dict, and not to a task. Await it, or pass response.result()."
        )


class DeploymentResponse(_Response, Generic[T]):
    """The future answer of `handle.remote(...)`: await it, or call `.result()`; in a cell both work."""

    def __init__(self, call: _Call) -> None:
        super().__init__(call)
        self._frame: futures.Future[Frame] = futures.Future()
        self._task: asyncio.Task[None] | None = None
        self._sent: Sent | None = None  # without a task
        self._cancelled = False
        self._has_value = False
        self._result: Any = None
        if call.callers.is_here():
            self._begin()
        else:
            call.callers.post(self._begin)

    def _begin(self) -> None:
        self._sent = None if self._cancelled else self._call.send_now()
        if self._sent is not None:
            self._sent.exchange.on_first = self._came
        else:
            self._begin_task(None)

    def _came(self, frame: Frame) -> None:
        """A short answer needs no task."""
        sent, self._sent = self._sent, None
        assert sent is not None
        if frame.kind is FrameKind.DONE or frame.kind is FrameKind.ERROR:
            sent.release()
            self._frame.set_result(frame)
        else:
            self._begin_task((sent, frame))

    def _begin_task(self, begun: tuple[Sent, Frame] | None) -> None:
        self._task = self._call.callers.loop.create_task(self._run(begun))
        self._task.add_done_callback(self._over)
        if self._cancelled:
            self._task.cancel()

    async def _run(self, begun: tuple[Sent, Frame] | None) -> None:
        try:
            sent, frame = await self._call.send(begun)
            try:
                frame = await whole(sent.exchange, frame)
            finally:
                sent.release()
        except asyncio.CancelledError:
            frame = Frame(FrameKind.CANCEL, 0, b"", b"")
        except BaseException as error:
            self._frame.set_exception(error)
            return
        self._frame.set_result(frame)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Its task has ended; one that was cancelled before it began has set nothing."""
        if not self._frame.done():
            self._frame.set_result(Frame(FrameKind.CANCEL, 0, b"", b""))

    def _value(self) -> T:
        if not self._has_value:
            self._result = _loaded(self._frame.result(), self.request_id)
            self._has_value = True
        return self._result  # type: ignore[no-any-return]

    def result(self, *, timeout_s: float | None = None) -> T:
        """Wait at most `timeout_s` for the value. Raises what the deployment raised, or GetTimeoutError."""
        self._must_not_block("result()")
        if not self._frame.done():
            self._wait(timeout_s)
        return self._value()

    def _wait(self, timeout_s: float | None) -> None:
        try:
            is_done = interruptible.until(partial(_is_done, self._frame), timeout_s)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if not is_done:
            raise GetTimeoutError(f"Timed out waiting for result of {self._call._handle!r} after {timeout_s:g} s.")

    def __await__(self) -> Any:
        return self._awaited().__await__()

    async def _awaited(self) -> T:
        if not self._frame.done():
            try:
                await self._arrival()
            except asyncio.CancelledError:
                self.cancel()
                raise
        return self._value()

    def _arrival(self) -> asyncio.Future[Any]:
        """Done when the answer is there, or an error; whoever cancels it cancels nothing else."""
        if not self._call.callers.is_here():
            return asyncio.shield(asyncio.wrap_future(self._frame))
        arrival = asyncio.get_running_loop().create_future()

        def arrived(frame: object) -> None:  # called in this loop
            if not arrival.done():
                arrival.set_result(None)

        self._frame.add_done_callback(arrived)
        return arrival

    def cancel(self) -> None:
        """Cancel the request: async code of the deployment gets a CancelledError."""
        self._cancelled = True
        if self._call.callers.is_here():
            self._stop()
        else:
            self._call.callers.post(self._stop)

    def _stop(self) -> None:
        sent, self._sent = self._sent, None
        if sent is not None:
            sent.exchange.on_first = None
            sent.release()
            self._frame.set_result(Frame(FrameKind.CANCEL, 0, b"", b""))
        elif self._task is not None:
            self._task.cancel()

    def cancelled(self) -> bool:
        """Whether cancel() was called before the answer came."""
        return self._cancelled and (not self._frame.done() or _kind(self._frame) is FrameKind.CANCEL)

    def __repr__(self) -> str:
        return f"DeploymentResponse({self._call._handle._method} of {self._call._handle!r}, request {self.request_id})"


def _is_done(future: futures.Future[Any], seconds: float | None) -> bool:
    """Wait, at most so long."""
    try:
        future.exception(seconds)
    except TimeoutError:
        return future.done()
    return True


def _kind(frame: futures.Future[Frame]) -> FrameKind | None:
    return None if frame.exception() is not None else frame.result().kind


class DeploymentResponseGenerator(_Response):
    """The items of a generator method, as it yields them: `for` and `async for` both work."""

    def __init__(self, call: _Call) -> None:
        super().__init__(call)
        self._sent: Sent | None = None
        self._ready: Frame | None = None  # the first frame, not read yet
        self._ended = False
        self._cancelled = False

    async def _next(self) -> tuple[bytes] | None:
        """The next item, pickled; None at the end. Runs in the loop."""
        if self._ended:
            return None
        if self._cancelled:
            raise RequestCancelledError(self.request_id)
        parts: list[bytes] = []
        while True:
            frame = await self._frame()
            if frame.kind is FrameKind.CHUNK:
                parts.append(frame.body)
                if frame.meta != PART:
                    return (b"".join(parts),)
                continue
            self._end()
            if frame.kind is FrameKind.ERROR:
                raise _error(frame)
            if frame.kind is not FrameKind.END:
                raise RayServeException(f"The stream was cut: {frame.meta.decode(errors='replace')}")
            return None

    async def _frame(self) -> Frame:
        if self._sent is None:
            self._sent, frame = await self._call.send()
            return frame
        return await self._sent.exchange.next()

    def _end(self) -> None:
        self._ended = True
        if self._sent is not None:
            self._sent.release()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._must_not_block("A for loop over a stream")
        item = self._call.callers.submit(self._next)
        try:
            interruptible.until(partial(_is_done, item), None)
        except KeyboardInterrupt:
            self.cancel()
            raise
        found = item.result()
        if found is None:
            raise StopIteration
        return pickle.loads(found[0])

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._call.callers.is_here():
            found = await self._next()
        else:
            found = await asyncio.wrap_future(self._call.callers.submit(self._next))
        if found is None:
            raise StopAsyncIteration
        return pickle.loads(found[0])

    def __await__(self) -> Any:
        raise TypeError("A stream cannot be awaited: use `async for item in ...`, or a handle without stream=True.")

    def cancel(self) -> None:
        """Stop the stream: the generator is closed."""
        self._cancelled = True
        if self._call.callers.is_here():
            self._end()
        else:
            self._call.callers.post(self._end)

    def cancelled(self) -> bool:
        return self._cancelled

    def __del__(self) -> None:
        if self._sent is not None and not self._ended and not self._call.callers.loop.is_closed():
            self._call.callers.post(self._end)
