"""Remote functions, actor classes and actor handles (refs are in refs.py).

All of them are thin: they check a call and pass it to the current engine.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import GenericAlias, MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

import msgspec

from nbaccel import engine as engines
from nbaccel.handles.ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID, WorkerID
from nbaccel.handles.option_checks import streams_only_generators
from nbaccel.handles.options import ActorOptions, MethodOptions, TaskOptions, as_given, falling_back
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.handles.signatures import AnythingElse, Code, P, R, Submitted, T

if TYPE_CHECKING:
    from nbaccel.dag import ClassMethodNode, ClassNode, FunctionNode
    from nbaccel.handles.signatures import ActorOptionsCall, Call, MethodOptionsCall, Q, RayCall, TaskOptionsCall, X

_POSITIONAL_ONLY, _POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_VAR_POSITIONAL, _VAR_KEYWORD = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
_KINDS = (_POSITIONAL_ONLY, _POSITIONAL, _VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY, _VAR_KEYWORD)
Parameters = tuple[tuple[str, int, bool], ...]  # name, kind, whether it has a default: facts that a handle can carry


class Arity(msgspec.Struct, frozen=True):
    """The arguments that a function takes, for a check that mostly costs nothing. None: they are unknown."""

    least: int
    most: int
    parameters: Parameters | None = None

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
        """Raise the TypeError that a direct call would raise, with the function's name and signature."""
        if not kwargs and self.least <= len(args) <= self.most:
            return
        if self.parameters is not None:
            signature = signature_of(self.parameters)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}{str(signature).replace('=None', '=…')}: {error}") from None


@functools.lru_cache(1024)
def signature_of(parameters: Parameters) -> inspect.Signature:
    """A signature that binds like the function's own, without its default values, which may not be picklable."""
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(name, _KINDS[kind], default=None if has else empty) for name, kind, has in parameters]
    )


def arity_of(function: Any, *, skip_first: bool = False) -> Arity:
    """The arity of a function, or of a method without its self."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Arity(0, 1 << 30)
    if skip_first and parameters and parameters[0].kind in (_POSITIONAL_ONLY, _POSITIONAL):
        parameters = parameters[1:]
    known = tuple((p.name, _KINDS.index(p.kind), p.default is not p.empty) for p in parameters)
    if any(p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return Arity(1, 0, known)  # nothing passes without a look
    positional = [p for p in parameters if p.kind in (_POSITIONAL_ONLY, _POSITIONAL)]
    least = sum(p.default is p.empty for p in positional)
    endless = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    return Arity(least, 1 << 30 if endless else len(positional), known)


def constructor_arity(cls: type) -> Arity:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        new: Any = cls.__new__  # of a tuple, a Path, ...
        return Arity(0, 0, ()) if new is object.__new__ else arity_of(new, skip_first=True)
    return arity_of(cls.__init__, skip_first=True)  # type: ignore[misc]


__all__ = [
    "ActorClass",
    "ActorClassInheritanceException",
    "ActorHandle",
    "ActorID",
    "ActorMethod",
    "JobID",
    "MethodSpec",
    "NodeID",
    "ObjectRef",
    "ObjectRefGenerator",
    "PlacementGroupID",
    "RemoteFunction",
    "TaskID",
    "WorkerID",
]


Anyone = TypeVar("Anyone", bound=Callable[..., Any])


def _dag() -> Any:
    return importlib.import_module("nbaccel.dag")  # for the few who bind


Given = Sequence[Any] | None  # positional arguments as `_remote` takes them
Named = Mapping[str, Any] | None


def yields(function: Any) -> bool:
    """Whether a function is a generator function, plain or asynchronous."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


class RemoteFunction(Generic[P, R, Submitted]):
    """A remote function, made by `@nbaccel.remote`. Call it with `.remote(...)`."""

    __class_getitem__: Any = classmethod(GenericAlias)  # for annotations: RemoteFunction[[int], str]

    def __init__(self, function: Callable[..., Any], options: TaskOptions) -> None:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
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
        self._declared = options
        streams_only_generators(options.num_returns, self._is_generator, self._name)
        self._arity = arity_of(function)
        self._fallback: Callable[..., Any] | None = None
        self._cache: dict[Any, Any] = {}  # the engine's own notes on this function
        functools.update_wrapper(self, function, updated=())

    @property
    def _function_name(self) -> str:
        return f"{self._module}.{self._short_name}"

    @property
    def _default_options(self) -> dict[str, Any]:
        """What @remote was given, as Ray keeps it."""
        return as_given(self._declared)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{self._module}.{self._name}()', "
            f"try '{self._module}.{self._name}.remote()'."
        )

    if TYPE_CHECKING:

        @property
        def remote(self) -> Call[P, Submitted]:
            """Submit a call and return its ref immediately (a list of refs if num_returns > 1)."""

        @property
        def options(self) -> TaskOptionsCall[P, R, Submitted]:
            """The same function with other options; they apply to calls of the returned object."""

    else:

        def remote(self, /, *args, **kwargs):
            """Submit a call and return its ref immediately (a list of refs if num_returns > 1)."""
            self._arity.check(args, kwargs, self._short_name)
            return engines.current().submit(self, self._declared, args, kwargs)

        def options(self, **given):
            """The same function with other options; they apply to calls of the returned object."""
            return _BoundFunction(self, self._declared.merged(**given))

    def _remote(self, args: Given = None, kwargs: Named = None, **options: Any) -> Any:
        """The older spelling of `.options(**options).remote(*args, **kwargs)`."""
        return (self.options(**options) if options else self).remote(*(args or ()), **(kwargs or {}))

    def bind(self, /, *args: Any, **kwargs: Any) -> FunctionNode:
        """The call as a step of a graph, see nbaccel.dag."""
        return _dag().FunctionNode(self, args, kwargs)  # type: ignore[no-any-return]

    def fallback(self, function: Anyone) -> Anyone:
        """Decorator: run the decorated function instead when a fallback choice is taken (the CPU if none is named)."""
        if isinstance(function, (RemoteFunction, ActorClass)) or not callable(function):
            raise TypeError(
                f"@{self._name}.fallback takes a plain function, but got {function!r}. Leave out @remote there: the "
                f"fallback runs as the task {self._name}."
            )
        self._fallback = function
        self._declared = falling_back(self._declared)
        self._cache.clear()
        return function

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_cache"] = {}
        return state

    def __repr__(self) -> str:
        return f"RemoteFunction({self._module}.{self._name})"


class _BoundFunction(Generic[P, R, Submitted]):
    """A remote function with options of its own."""

    def __init__(self, function: RemoteFunction[P, R, Any], options: TaskOptions) -> None:
        streams_only_generators(options.num_returns, function._is_generator, function._name)
        self._remote_function = function
        self._options = options

    if TYPE_CHECKING:

        @property
        def remote(self) -> Call[P, Submitted]: ...
        @property
        def options(self) -> TaskOptionsCall[P, R, Submitted]: ...

    else:

        def remote(self, /, *args, **kwargs):
            self._remote_function._arity.check(args, kwargs, self._remote_function._short_name)
            return engines.current().submit(self._remote_function, self._options, args, kwargs)

        def options(self, **given):
            return _BoundFunction(self._remote_function, self._options.merged(**given))

    def bind(self, /, *args: Any, **kwargs: Any) -> FunctionNode:
        return _dag().FunctionNode(self, args, kwargs)  # type: ignore[no-any-return]


class MethodSpec(msgspec.Struct):
    """The facts about a method that the actor's handle knows."""

    name: str
    options: MethodOptions
    arity: Arity
    is_async: bool = False
    is_generator: bool = False
    max_pending: int = -1  # of its actor, from one process; -1: no limit
    internal: bool = False  # its actor is nbaccel's own; see internal_work


BUILT_IN_METHODS = ("__ray_terminate__", "__ray_ready__", "__ray_call__")
_NOT_CALLED = {"__init__", "__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__del__"}


def methods_of(cls: type) -> dict[str, MethodSpec]:
    """The methods that a handle of this class offers."""
    specs: dict[str, MethodSpec] = {}
    for name, _member in inspect.getmembers(cls, callable):
        plain = inspect.getattr_static(cls, name)
        if name in _NOT_CALLED or plain is inspect.getattr_static(object, name, None):
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
            yields(function),
        )
    for name in BUILT_IN_METHODS:
        specs[name] = MethodSpec(name, MethodOptions(), Arity(0, 1 << 30))
    return specs


class ActorClassInheritanceException(TypeError):
    """A class derives from an actor class. Derive from the plain class and decorate the result."""


class ActorClass(Generic[T, Code]):
    """An actor class, made by `@nbaccel.remote`. Start an actor with `.remote(...)`."""

    __class_getitem__: Any = classmethod(GenericAlias)  # for annotations: ActorClass[Counter]

    def __init__(self, cls: type, options: ActorOptions) -> None:
        self._class = cls
        self._name = self._short_name = cls.__name__
        self._module = cls.__module__
        self._declared = options
        self._arity = constructor_arity(cls)
        self._methods = methods_of(cls)
        self._is_async = any(spec.is_async for spec in self._methods.values()) or inspect.iscoroutinefunction(
            cls.__init__  # type: ignore[misc]
        )
        self._fallback: type | None = None
        self._cache: dict[Any, Any] = {}
        self.__doc__ = cls.__doc__
        self.__name__ = cls.__name__
        self.__qualname__ = cls.__qualname__
        self.__module__ = cls.__module__

    @property
    def __ray_actor_class__(self) -> type:
        """The plain class, for example to test an instance of it without an actor."""
        return self._class

    @property
    def __ray_metadata__(self) -> SimpleNamespace:
        """`modified_class` is the class itself, as in Ray."""
        return SimpleNamespace(modified_class=self._class, class_name=self._name)

    @property
    def _default_options(self) -> dict[str, Any]:
        """What @remote was given, as Ray keeps it."""
        return as_given(self._declared)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The plain class, so that isinstance(Counter, PlainCounter) holds, as in Ray; type(Counter) is ActorClass."""
        return self.__dict__.get("_class", ActorClass)  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        """The names of the plain class and of the actor class: libraries bind workers by these names."""
        return sorted({*dir(self._class), *(name for name in dir(ActorClass) if name not in _NOT_SHOWN)})

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise ActorClassInheritanceException(
            f"Inheriting from the actor class {self._name} is not supported: derive from the undecorated class and "
            "decorate the derived one, e.g. nbaccel.remote(Derived)."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Actors cannot be instantiated directly. Instead of '{self._name}()', use '{self._name}.remote()'."
        )

    if TYPE_CHECKING:

        @property
        def remote(self: ActorClass[Any, Callable[Q, X]]) -> Call[Q, ActorHandle[X]]:
            """Start an actor and return its handle immediately."""

        @property
        def options(self) -> ActorOptionsCall[T, Code]:
            """The same class with other options; they apply to actors that the returned object starts."""

    else:

        def remote(self, /, *args, **kwargs):
            """Start an actor and return its handle immediately."""
            self._check_call(args, kwargs)
            return engines.current().create_actor(self, self._declared, args, kwargs)

        def options(self, **given):
            """The same class with other options; they apply to actors that the returned object starts."""
            return _BoundActorClass(self, self._declared.merged(**given))

    def _remote(self, args: Given = None, kwargs: Named = None, **options: Any) -> ActorHandle:
        """The older spelling of `.options(**options).remote(*args, **kwargs)`."""
        made: Any = self.options(**options) if options else self
        return made.remote(*(args or ()), **(kwargs or {}))  # type: ignore[no-any-return]

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise the TypeError that a direct call of the class would raise."""
        if inspect.isabstract(self._class):
            missing = ", ".join(sorted(getattr(self._class, "__abstractmethods__", ())))
            raise TypeError(f"Can't instantiate abstract class {self._name}: it does not define {missing}.")
        self._arity.check(args, kwargs, self._name)

    def bind(self, /, *args: Any, **kwargs: Any) -> ClassNode:
        """The actor as a step of a graph, see nbaccel.dag."""
        return _dag().ClassNode(self, args, kwargs)  # type: ignore[no-any-return]

    def fallback(self, cls: Anyone) -> Anyone:
        """Decorator: use the decorated class instead when a fallback choice is taken, as for functions."""
        if not isinstance(cls, type):
            raise TypeError(
                f"@{self._name}.fallback takes a plain class, but got {cls!r}. Leave out @remote there: the fallback "
                f"is made as the actor {self._name}."
            )
        self._fallback = cls
        self._declared = falling_back(self._declared)
        self._cache.clear()
        return cls

    def __getattr__(self, name: str) -> Any:
        """The plain class's attributes: its constants and static methods work here, without an actor.

        Plain methods are bound to the actor class, not to an instance. Dunders and a notebook's display methods are
        left to the instances.
        """
        if name.startswith(("__", "_repr_", "_ipython_")) or "_class" not in self.__dict__:
            raise AttributeError(f"'ActorClass' object has no attribute '{name}'")
        value = getattr(self._class, name)
        is_method = inspect.isfunction(inspect.getattr_static(self._class, name, None))
        return MethodType(value, self) if is_method else value

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty_actor_class, (), self.__dict__ | {"_cache": {}}

    def __repr__(self) -> str:
        return f"ActorClass({self._name})"


_NOT_SHOWN = {"__class__", "__mro_entries__", "_check_call"}


def _empty_actor_class() -> ActorClass:
    """An empty actor class for pickle to fill; pickle alone would make an instance of the plain class."""
    return object.__new__(ActorClass)


class _BoundActorClass(Generic[T, Code]):
    """An actor class with options of its own."""

    def __init__(self, actor_class: ActorClass, options: ActorOptions) -> None:
        self._actor_class = actor_class
        self._options = options

    if TYPE_CHECKING:

        @property
        def remote(self: _BoundActorClass[Any, Callable[Q, X]]) -> Call[Q, ActorHandle[X]]: ...
        @property
        def options(self) -> ActorOptionsCall[T, Code]: ...

    else:

        def remote(self, /, *args, **kwargs):
            self._actor_class._check_call(args, kwargs)
            return engines.current().create_actor(self._actor_class, self._options, args, kwargs)

        def options(self, **given):
            return _BoundActorClass(self._actor_class, self._options.merged(**given))

    def bind(self, /, *args: Any, **kwargs: Any) -> ClassNode:
        return _dag().ClassNode(self, args, kwargs)  # type: ignore[no-any-return]


class ActorHandle(SafeFinalizer, Generic[T], AnythingElse):  # type: ignore[misc]
    """A handle of an actor: `handle.method.remote(...)`. The actor ends when its last handle is gone."""

    __class_getitem__: Any = classmethod(GenericAlias)  # for annotations: ActorHandle[Counter]

    if TYPE_CHECKING:

        @property
        def __ray_call__(self) -> RayCall[T]: ...

    def __init__(
        self,
        actor_id: bytes,
        class_name: str,
        methods: dict[str, MethodSpec],
        engine: engines.Engine,
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
        if counted:
            self.__del__ = partial(engine.ref_gone, actor_id)

    @property
    def _id_now(self) -> bytes:
        """The actor's id if it is known already, to ask about it; otherwise b""."""
        return self._actor_id_bytes

    @property
    def _actor_id(self) -> ActorID:
        return ActorID(self._actor_id_bytes)

    @property
    def _ray_actor_id(self) -> ActorID:
        return ActorID(self._actor_id_bytes)

    @property
    def _ray_method_signatures(self) -> dict[str, list[inspect.Parameter]]:
        """The parameters of each method, as far as the class is known in this process."""
        return {
            name: list(signature_of(spec.arity.parameters or ()).parameters.values())
            for name, spec in self._method_specs.items()
        }

    def __getattr__(self, name: str) -> ActorMethod[..., Any, Any]:
        try:
            spec = self.__dict__["_method_specs"][name]
        except KeyError:  # of either: a handle that is being unpickled has no methods yet
            class_name = self.__dict__.get("_class_name", "")
            raise AttributeError(
                f"'ActorHandle' object has no attribute '{name}': {class_name} has no such method, and attributes of "
                "an actor cannot be reached through its handle. Add a method that returns it."
            ) from None
        return ActorMethod(self, spec, spec.options)  # not kept: a cycle would hide the end of the last handle

    def __dir__(self) -> list[str]:
        return [*self._method_specs]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorHandle) and other._actor_id_bytes == self._actor_id_bytes

    def __hash__(self) -> int:
        return hash(self._actor_id_bytes)

    def __repr__(self) -> str:
        return f"Actor({self._class_name}, {self._actor_id_bytes.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._engine.reduce_actor(self)


class ActorMethod(msgspec.Struct, Generic[P, R, Submitted], eq=False):  # a Struct, because each call makes one
    """One method of one actor."""

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    handle: ActorHandle
    _spec: MethodSpec
    _options: MethodOptions

    @property
    def _short_name(self) -> str:
        return f"{self.handle._class_name}.{self._spec.name}"

    @property
    def _method_name(self) -> str:
        return self._spec.name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self._spec.name
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{name}()', try "
            f"'object.{name}.remote()'."
        )

    if TYPE_CHECKING:

        @property
        def remote(self) -> Call[P, Submitted]:
            """Submit a call. Calls from one process run in the order in which they were made."""

        @property
        def options(self) -> MethodOptionsCall[P, R, Submitted]: ...

    else:

        def remote(self, /, *args, **kwargs):
            """Submit a call. Calls from one process run in the order in which they were made."""
            arity = self._spec.arity
            if kwargs or not arity.least <= len(args) <= arity.most:
                arity.check(args, kwargs, self._short_name)
            return self.handle._engine.call(self, self._options, args, kwargs)

        def options(self, **given):
            options = self._options.merged(**given)
            streams_only_generators(options.num_returns, self._spec.is_generator, self._short_name)
            return ActorMethod(self.handle, self._spec, options)

    def _remote(
        self, args: Given = None, kwargs: Named = None, name: str = "", num_returns: Any = None, **options: Any
    ) -> Any:
        """The older spelling of `.options(**options).remote(*args, **kwargs)`; "" and None leave an option as it is."""
        options |= {"name": name or None, "num_returns": num_returns}
        given = {option: value for option, value in options.items() if value is not None}
        return (self.options(**given) if given else self).remote(*(args or ()), **(kwargs or {}))

    def bind(self, /, *args: Any, **kwargs: Any) -> ClassMethodNode:
        """The call as a step of a graph, see nbaccel.dag."""
        return _dag().ClassMethodNode(self, args, kwargs)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"ActorMethod({self.handle._class_name}.{self._spec.name})"
