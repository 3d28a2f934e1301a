"""What users hold: refs to values, streams of refs, remote functions, actor classes and actor handles.

All of them are thin: they check the call and hand it to the current engine.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import msgspec

from nbaccel import engine as engines
from nbaccel.options import ActorOptions, MethodOptions, TaskOptions

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

T = TypeVar("T")


class ObjectRef(Generic[T]):
    """A value that is or will be somewhere in the cluster. Equal and hashed by its id.

    `await ref` waits for the value in asyncio code, `ref.future()` gives a `concurrent.futures.Future`; cancelling
    either never cancels the task.
    """

    __slots__ = ("__weakref__", "_engine", "_id", "_inner")

    def __init__(self, id: bytes, engine: Any, inner: Any = None) -> None:
        self._id = id
        self._engine = engine
        self._inner = inner

    def __del__(self) -> None:
        try:
            self._engine.ref_gone(self._id)
        except AttributeError:
            pass  # half made, or the interpreter is ending

    def hex(self) -> str:
        """The id, 56 hex digits."""
        return self._id.hex()

    def binary(self) -> bytes:
        return self._id

    def is_nil(self) -> bool:
        return self._id == b"\xff" * len(self._id)

    @classmethod
    def nil(cls) -> ObjectRef[Any]:
        return cls(b"\xff" * 28, _NoEngine)

    @classmethod
    def from_random(cls) -> ObjectRef[Any]:
        import os

        return cls(os.urandom(28), _NoEngine)

    @classmethod
    def size(cls) -> int:
        return 28

    def task_id(self) -> TaskID:
        """The task that makes the value."""
        return TaskID(self._id[:24])

    def job_id(self) -> JobID:
        return JobID(self._id[20:24])

    def call_site(self) -> str:
        return ""

    def owner_address(self) -> bytes:
        return b""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._id == other._id  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"ObjectRef({self._id.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._engine.reduce_ref(self)  # type: ignore[no-any-return]

    def __copy__(self) -> ObjectRef[T]:
        return self

    def __deepcopy__(self, memo: Any) -> ObjectRef[T]:
        return self

    def future(self) -> Future[T]:
        """A `concurrent.futures.Future` of the value."""
        return self._engine.future(self)  # type: ignore[no-any-return]

    def as_future(self) -> asyncio.Future[T]:
        """An asyncio future of the value, in the running loop."""
        import asyncio  # not at the top: it is a third of the time that importing nbaccel takes

        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()

        def finish() -> None:
            if waiting.done():
                return
            try:
                waiting.set_result(self._engine.get([self], 0)[0])
            except BaseException as error:
                waiting.set_exception(_settable(error))

        def ready() -> None:
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:
                pass  # the loop was closed: nobody waits any more

        self._engine.call_when_ready(self, ready)
        return waiting

    def __await__(self) -> Generator[Any, None, T]:
        return self.as_future().__await__()

    def _on_completed(self, callback: Callable[[Any], None]) -> None:
        self.future().add_done_callback(lambda future: callback(future.exception() or future.result()))


def _settable(error: BaseException) -> BaseException:
    """asyncio refuses a StopIteration as a future's exception."""
    if isinstance(error, StopIteration):
        return RuntimeError(f"the task raised {error!r}")
    return error


class _NoEngine:
    """Of refs that name no object."""

    @staticmethod
    def ref_gone(id: bytes) -> None:
        pass

    @staticmethod
    def reduce_ref(ref: ObjectRef[Any]) -> tuple[Any, ...]:
        return ObjectRef, (ref._id, _NoEngine)


class _Id:
    """An id as an object, with Ray's methods."""

    _size = 0

    def __init__(self, id: bytes) -> None:
        self._bytes = id

    def hex(self) -> str:
        return self._bytes.hex()

    def binary(self) -> bytes:
        return self._bytes

    def is_nil(self) -> bool:
        return self._bytes == b"\xff" * len(self._bytes)

    @classmethod
    def from_hex(cls, text: str) -> Any:
        return cls(bytes.fromhex(text))

    @classmethod
    def nil(cls) -> Any:
        return cls(b"\xff" * cls._size)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._bytes == other._bytes  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._bytes.hex()})"


class TaskID(_Id):
    """Of a task, 24 bytes."""

    _size = 24


class ActorID(_Id):
    """Of an actor, 16 bytes."""

    _size = 16


class JobID(_Id):
    """Of a driver's session, 4 bytes."""

    _size = 4


class NodeID(_Id):
    """Of a node, 28 bytes."""

    _size = 28


class WorkerID(_Id):
    """Of a worker, 28 bytes."""

    _size = 28


class PlacementGroupID(_Id):
    """Of a placement group, 18 bytes."""

    _size = 18


class ObjectRefGenerator:
    """The refs of a streaming task, one for each value that it yields; iterate it, also with `async for`."""

    def __init__(self, task_id: bytes, engine: Any, inner: Any = None) -> None:
        self._task_id = task_id
        self._engine = engine
        self._inner = inner
        self._taken = 0
        self._finished = False

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        return self

    def __next__(self) -> ObjectRef[Any]:
        return self._next_sync(None)

    def _next_sync(self, timeout_s: float | None = None) -> ObjectRef[Any]:
        ref = self._engine.next_item(self, timeout_s)
        if ref is None:
            self._finished = True
            raise StopIteration
        return ref  # type: ignore[no-any-return]

    def __aiter__(self) -> AsyncIterator[ObjectRef[Any]]:
        return self

    async def __anext__(self) -> ObjectRef[Any]:
        import asyncio

        loop = asyncio.get_running_loop()
        there = asyncio.Event()
        self._engine.when_next_item(self, lambda: loop.call_soon_threadsafe(there.set))
        await there.wait()
        ref = self._engine.next_item(self, 0)
        if ref is None:
            self._finished = True
            raise StopAsyncIteration
        return ref  # type: ignore[no-any-return]

    def completed(self) -> ObjectRef[Any]:
        """A ref that is ready when the task has ended; `get` of it raises what the task raised."""
        return self._engine.stream_end(self)  # type: ignore[no-any-return]

    def next_ready(self) -> bool:
        """Whether the next ref is there without waiting."""
        return self._engine.stream_ready(self)  # type: ignore[no-any-return]

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


class Arity(msgspec.Struct, frozen=True):
    """What positional arguments a function takes, for a check that costs nothing."""

    least: int
    most: int
    signature: inspect.Signature | None = None

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise the TypeError that a direct call would raise."""
        if not kwargs and self.least <= len(args) <= self.most:
            return
        if self.signature is not None:
            self.signature.bind(*args, **kwargs)


def arity_of(function: Any, *, skip_first: bool = False) -> Arity:
    """The arity of a function; of a method without its self."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return Arity(0, 1 << 30)
    parameters = list(signature.parameters.values())
    if skip_first and parameters and parameters[0].kind in (_POSITIONAL_ONLY, _POSITIONAL):
        parameters = parameters[1:]
        signature = signature.replace(parameters=parameters)
    if any(p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return Arity(1, 0, signature)  # nothing passes without a look
    positional = [p for p in parameters if p.kind in (_POSITIONAL_ONLY, _POSITIONAL)]
    least = sum(p.default is p.empty for p in positional)
    endless = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    return Arity(least, 1 << 30 if endless else len(positional), signature)


_POSITIONAL_ONLY, _POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class RemoteFunction:
    """What `@nbaccel.remote` makes of a function: call it with `.remote(...)`."""

    def __init__(self, function: Callable[..., Any], options: TaskOptions) -> None:
        if inspect.iscoroutinefunction(function):
            raise ValueError(
                f"'async def' cannot be used for the remote task {function.__name__}: make it an async method of an "
                "actor, or wrap it: def task(): return asyncio.run(coroutine())."
            )
        self._function = function
        self._name = (
            getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
        )
        self._short_name = getattr(function, "__name__", self._name)
        self._module = getattr(function, "__module__", None) or "__main__"
        self._is_generator = inspect.isgeneratorfunction(function)
        self._default_options = options
        self._arity = arity_of(function)
        self._fallback: Callable[..., Any] | None = None
        self._cache: dict[Any, Any] = {}  # the engine's own notes on this function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{self._module}.{self._name}()', "
            f"try '{self._module}.{self._name}.remote()'."
        )

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Submit a call; returns its ref (a list of refs for num_returns > 1) at once."""
        self._arity.check(args, kwargs)
        return engines.current().submit(self, self._default_options, args, kwargs)

    def options(self, **given: Any) -> _BoundFunction:
        """The same function with other options for the calls made through what this returns."""
        return _BoundFunction(self, self._default_options.merged(**given))

    def fallback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: run this function instead when a fallback choice is taken."""
        self._fallback = function
        self._cache.clear()
        return function

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_cache"] = {}
        return state

    def __repr__(self) -> str:
        return f"RemoteFunction({self._module}.{self._name})"


class _BoundFunction:
    """A remote function with options of its own."""

    def __init__(self, function: RemoteFunction, options: TaskOptions) -> None:
        self._remote_function = function
        self._options = options

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        self._remote_function._arity.check(args, kwargs)
        return engines.current().submit(self._remote_function, self._options, args, kwargs)

    def options(self, **given: Any) -> _BoundFunction:
        return _BoundFunction(self._remote_function, self._options.merged(**given))


class MethodSpec(msgspec.Struct):
    """What a handle knows of a method of its actor."""

    name: str
    options: MethodOptions
    arity: Arity
    is_async: bool = False
    is_generator: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        arity = Arity(self.arity.least, self.arity.most)  # a signature may hold defaults that cannot be pickled
        return MethodSpec, (self.name, self.options, arity, self.is_async, self.is_generator)


BUILT_IN_METHODS = ("__ray_terminate__", "__ray_ready__", "__ray_call__")


def methods_of(cls: type) -> dict[str, MethodSpec]:
    """The methods that a handle of this class offers."""
    specs: dict[str, MethodSpec] = {}
    for name, member in inspect.getmembers(cls, callable):
        plain = inspect.getattr_static(cls, name)
        if name.startswith("__") and name != "__call__" and not hasattr(member, "__nbaccel_method__"):
            continue
        function = getattr(plain, "__func__", plain)
        if not inspect.isroutine(function):
            continue
        is_plain = not isinstance(plain, (staticmethod, classmethod))
        specs[name] = MethodSpec(
            name,
            getattr(function, "__nbaccel_method__", MethodOptions()),
            arity_of(function, skip_first=is_plain or isinstance(plain, classmethod)),
            inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function),
            inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function),
        )
    for name in BUILT_IN_METHODS:
        specs[name] = MethodSpec(name, MethodOptions(), Arity(0, 1 << 30))
    return specs


class ActorClassInheritanceException(TypeError):
    """A class derived from an actor class: derive from the plain class and decorate that."""


class ActorClass:
    """What `@nbaccel.remote` makes of a class: start an actor with `.remote(...)`."""

    def __init__(self, cls: type, options: ActorOptions) -> None:
        self._class = cls
        self._name = cls.__name__
        self._module = cls.__module__
        self._default_options = options
        self._arity = _constructor_arity(cls)
        self._methods = methods_of(cls)
        self._is_async = any(spec.is_async for spec in self._methods.values())
        self._fallback: type | None = None
        self._cache: dict[Any, Any] = {}
        self.__doc__ = cls.__doc__
        self.__name__ = cls.__name__
        self.__qualname__ = cls.__qualname__
        self.__module__ = cls.__module__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise ActorClassInheritanceException(
            f"Inheriting from the actor class {self._name} is not supported: derive from the undecorated class and "
            "decorate the derived one, e.g. nbaccel.remote(Derived)."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Actors cannot be instantiated directly. Instead of '{self._name}()', use '{self._name}.remote()'."
        )

    def remote(self, *args: Any, **kwargs: Any) -> ActorHandle:
        """Start an actor; returns its handle at once."""
        self._arity.check(args, kwargs)
        return engines.current().create_actor(self, self._default_options, args, kwargs)

    def options(self, **given: Any) -> _BoundActorClass:
        return _BoundActorClass(self, self._default_options.merged(**given))

    def fallback(self, cls: type) -> type:
        """Decorator: make an instance of this class instead when a fallback choice is taken."""
        self._fallback = cls
        self._cache.clear()
        return cls

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_cache"] = {}
        return state

    def __repr__(self) -> str:
        return f"ActorClass({self._name})"


def _constructor_arity(cls: type) -> Arity:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return Arity(0, 0, inspect.Signature())
    return arity_of(cls.__init__, skip_first=True)  # type: ignore[misc]


class _BoundActorClass:
    """An actor class with options of its own."""

    def __init__(self, actor_class: ActorClass, options: ActorOptions) -> None:
        self._actor_class = actor_class
        self._options = options

    def remote(self, *args: Any, **kwargs: Any) -> ActorHandle:
        self._actor_class._arity.check(args, kwargs)
        return engines.current().create_actor(self._actor_class, self._options, args, kwargs)

    def options(self, **given: Any) -> _BoundActorClass:
        return _BoundActorClass(self._actor_class, self._options.merged(**given))


class ActorHandle:
    """A handle of an actor: `handle.method.remote(...)`. When the last handle goes, the actor ends."""

    def __init__(
        self,
        actor_id: bytes,
        class_name: str,
        methods: dict[str, MethodSpec],
        engine: Any,
        *,
        counted: bool,
        inner: Any = None,
    ) -> None:
        self._actor_id_bytes = actor_id
        self._class_name = class_name
        self._method_specs = methods
        self._engine = engine
        self._counted = counted
        self._inner = inner
        self._cache: dict[Any, Any] = {}

    @property
    def _actor_id(self) -> ActorID:
        return ActorID(self._actor_id_bytes)

    @property
    def _ray_actor_id(self) -> ActorID:
        return ActorID(self._actor_id_bytes)

    def __getattr__(self, name: str) -> ActorMethod:
        specs = self.__dict__.get("_method_specs", {})
        spec = specs.get(name)
        if spec is None:
            raise AttributeError(
                f"'{self.__dict__.get('_class_name', 'ActorHandle')}' object has no attribute '{name}'"
            )
        return ActorMethod(self, spec)  # not kept: a cycle would hide the end of the last handle

    def __dir__(self) -> list[str]:
        return [*self._method_specs]

    def __del__(self) -> None:
        try:
            if self._counted:
                self._engine.ref_gone(self._actor_id_bytes)
        except AttributeError:
            pass  # half made, or the interpreter is ending

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorHandle) and other._actor_id_bytes == self._actor_id_bytes

    def __hash__(self) -> int:
        return hash(self._actor_id_bytes)

    def __repr__(self) -> str:
        return f"Actor({self._class_name}, {self._actor_id_bytes.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._engine.reduce_actor(self)  # type: ignore[no-any-return]


class ActorMethod:
    """One method of one actor."""

    __slots__ = ("_options", "_spec", "handle")

    def __init__(self, handle: ActorHandle, spec: MethodSpec, options: MethodOptions | None = None) -> None:
        self.handle = handle
        self._spec = spec
        self._options = options or spec.options

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self._spec.name
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{name}()', try 'object.{name}.remote()'."
        )

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Submit a call; calls from one place run in the order in which they were made."""
        self._spec.arity.check(args, kwargs)
        return self.handle._engine.call(self, self._options, args, kwargs)

    def options(self, **given: Any) -> ActorMethod:
        return ActorMethod(self.handle, self._spec, self._options.merged(**given))

    def __repr__(self) -> str:
        return f"ActorMethod({self.handle._class_name}.{self._spec.name})"
