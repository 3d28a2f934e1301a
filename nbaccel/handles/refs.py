"""Refs to values, and streams of refs: a call returns them before its work is done."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from nbaccel.exceptions import GetTimeoutError, OufOfBandObjectRefSerializationException
from nbaccel.handles.ids import JobID, TaskID
from nbaccel.handles.safe_finalizer import SafeFinalizer

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from typing_extensions import TypeVar  # known to every checker; no dependency of ours

    from nbaccel.engine import Engine

    T = TypeVar("T", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)


class ObjectRef(SafeFinalizer, Generic[T]):
    """A reference to a value that is, or will be, in the cluster. Refs are compared and hashed by id.

    `await ref` waits for the value in asyncio code, and `ref.future()` returns a `concurrent.futures.Future`.
    Cancelling either never cancels the task.

    >>> nbaccel.put(3).future().result()
    3
    """

    __slots__ = ("__weakref__", "_cell", "_engine", "_id", "_inner")
    _is_stream = False

    def __init__(self, id: bytes, engine: Engine, inner: Any = None, cell: bytes | None = None) -> None:
        self._id = id
        self._engine = engine
        self._inner = inner  # another library's ref, which that library counts
        self._cell = cell  # the notebook message whose cell submitted the task; None for other refs
        if inner is None:
            self.__del__ = partial(engine.ref_gone, id)

    def hex(self) -> str:
        """The id, 56 hex digits."""
        return self._id.hex()

    def binary(self) -> bytes:
        return self._id

    def is_nil(self) -> bool:
        return self._id == b"\xff" * len(self._id)

    @classmethod
    def nil(cls) -> ObjectRef[Any]:
        return cls(b"\xff" * 28, _NO_ENGINE)

    @classmethod
    def from_random(cls) -> ObjectRef[Any]:
        import os

        return cls(os.urandom(28), _NO_ENGINE)

    @classmethod
    def size(cls) -> int:
        return 28

    def task_id(self) -> TaskID:
        """The id of the task that makes the value."""
        return TaskID(self._id[:24])

    def job_id(self) -> JobID:
        return JobID(self._id[20:24])

    def call_site(self) -> str:
        return ""

    def owner_address(self) -> bytes:
        return b""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"ObjectRef({self._id.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._engine.reduce_ref(self)

    def __copy__(self) -> ObjectRef[T]:
        return self

    def __deepcopy__(self, memo: Any) -> ObjectRef[T]:
        return self

    def future(self) -> Future[T]:
        """A `concurrent.futures.Future` of the value. Stop in a wait for it cancels the task, as it does in `get`."""
        from nbaccel.waits.ref_future import RefFuture  # with concurrent.futures, which not every process needs

        future = RefFuture(self)
        self._engine.fill(future, self)
        return future

    def as_future(self) -> asyncio.Future[T]:
        """An asyncio future of the value, in the running loop."""
        import asyncio  # not at the top: it is a third of the time that importing nbaccel takes

        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        waiting.add_done_callback(self._note_cancelled)
        _stop_may_end(waiting, self)

        def finish() -> None:
            if waiting.done():
                return
            try:
                waiting.set_result(self._engine.get([self], 0)[0])
            except BaseException as error:
                waiting.set_exception(_settable(error))

        def ready() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(finish)

        self._engine.call_when_ready(self, ready)
        return waiting

    def _note_cancelled(self, future: asyncio.Future[T]) -> None:
        if not future.cancelled():
            return
        self._engine.was_awaited(self)
        if self._cell is not None:
            from nbaccel.waits import stopping

            stopping.await_was_cancelled(self)

    def __await__(self) -> Generator[Any, None, T]:
        return self.as_future().__await__()

    def _on_completed(self, callback: Callable[[Any], None]) -> None:
        self.future().add_done_callback(lambda future: callback(future.exception() or future.result()))


def _stop_may_end(future: asyncio.Future[Any], thing: Any) -> None:
    """Let Stop end this await; in the main thread it does anyway."""
    from nbaccel import engine

    if engine.cell_source is not None and threading.current_thread() is not threading.main_thread():
        from nbaccel.waits import stopping

        stopping.await_in_thread(future, [thing])


def _settable(error: BaseException) -> BaseException:
    """Wrap a StopIteration, which asyncio refuses as a future's exception."""
    if isinstance(error, StopIteration):
        return RuntimeError(f"the task raised {error!r}")
    return error


class _NoEngine:
    """The engine of refs that name no object."""

    @staticmethod
    def ref_gone(id: bytes) -> None:
        pass

    @staticmethod
    def reduce_ref(ref: ObjectRef[Any]) -> tuple[Any, ...]:
        return ObjectRef, (ref._id, _NoEngine)


_NO_ENGINE: Any = _NoEngine  # it keeps that part of the promise which a ref to nothing needs


_ALLOWED_BY_HAND = "RAY_allow_out_of_band_object_ref_serialization"  # Ray's name for it


def check_pickled_by_hand(id: bytes) -> None:
    """Raises OufOfBandObjectRefSerializationException if the user forbids pickling refs outside of values."""
    if os.environ.get(_ALLOWED_BY_HAND, "1").lower() in ("1", "true"):
        return
    raise OufOfBandObjectRefSerializationException(
        f"It is not allowed to serialize ray.ObjectRef {id.hex()} by hand, outside of a task's arguments or a value, "
        "because RAY_allow_out_of_band_object_ref_serialization is off. A ref that is pickled by hand keeps its object "
        "for the whole session. Pass the ref itself, or set RAY_allow_out_of_band_object_ref_serialization=1."
    )


class ObjectRefGenerator(Generic[T]):
    """The refs of a streaming task, one for each yielded value. Iterate it with `for` or `async for`.

    >>> @nbaccel.remote
    ... def count():
    ...     yield from range(3)
    >>> [nbaccel.get(ref) for ref in count.remote()]
    [0, 1, 2]
    """

    _is_stream = True

    def __init__(self, task_id: bytes, engine: Engine, inner: Any = None, cell: bytes | None = None) -> None:
        self._task_id = task_id
        self._cell = cell
        self._engine = engine
        self._inner = inner
        self._taken = 0
        self._finished = False

    def __iter__(self) -> Iterator[ObjectRef[T]]:
        return self

    def __next__(self) -> ObjectRef[T]:
        return self._next_sync(None)

    def _next_sync(self, timeout_s: float | None = None) -> ObjectRef[T]:
        """The next ref. As in Ray, the nil ref if there is none in time."""
        try:
            ref = self._next(timeout_s)
        except GetTimeoutError:
            return ObjectRef.nil()
        except KeyboardInterrupt:
            from nbaccel.waits import stopping

            stopping.waiting_was_stopped([self])
            raise
        if ref is None:
            self._finished = True
            raise StopIteration
        return ref

    def _next(self, timeout_s: float | None) -> ObjectRef[Any] | None:
        from nbaccel import engine

        if engine.cell_source is None or threading.current_thread() is threading.main_thread():
            return self._engine.next_item(self, timeout_s)
        from nbaccel.waits import stopping

        return stopping.wait_in_thread(lambda: self._engine.next_item(self, timeout_s), [self])

    def __aiter__(self) -> AsyncIterator[ObjectRef[T]]:
        return self

    async def __anext__(self) -> ObjectRef[T]:
        import asyncio

        loop = asyncio.get_running_loop()
        there: asyncio.Future[None] = loop.create_future()
        _stop_may_end(there, self)

        def finish() -> None:
            if not there.done():
                there.set_result(None)

        def arrived() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(finish)

        self._engine.when_next_item(self, arrived)
        try:
            await there
        except asyncio.CancelledError:
            if self._cell is not None:
                from nbaccel.waits import stopping

                stopping.await_was_cancelled(self)
            raise
        ref = self._engine.next_item(self, 0)
        if ref is None:
            self._finished = True
            raise StopAsyncIteration
        return ref

    def completed(self) -> ObjectRef[Any]:
        """A ref that becomes ready when the task ends; `get` of it raises the error of the task."""
        return self._engine.stream_end(self)

    def next_ready(self) -> bool:
        """Whether the next ref is available without waiting."""
        return self._engine.stream_ready(self)

    def is_finished(self) -> bool:
        return self._finished

    def task_id(self) -> TaskID:
        return TaskID(self._task_id)

    def __del__(self) -> None:
        try:
            self._engine.close_stream(self)
        except AttributeError:
            pass  # half made, or the interpreter is ending

    def __repr__(self) -> str:
        return f"ObjectRefGenerator({self._task_id.hex()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("An ObjectRefGenerator cannot be passed on: iterate it here and pass its refs.")

    def _unsupported(self, *args: Any) -> NoReturn:
        raise NotImplementedError("A stream of refs only goes forwards: iterate it.")

    send = throw = close = asend = athrow = aclose = _unsupported


class DynamicObjectRefGenerator:
    """The value of a task with `num_returns="dynamic"`: an iterable with one ref for each yielded value."""

    def __init__(self, refs: list[ObjectRef[Any]]) -> None:
        self._refs = refs

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        return iter(self._refs)

    def __len__(self) -> int:
        return len(self._refs)
