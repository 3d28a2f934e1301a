# mypy: disable-error-code="overload-overlap"
"""The types of remote code, for type checkers: what a call takes, and what it gives.

    @remote  f(x: int) -> str             RemoteFunction[[int], str]     f.remote(1)        ObjectRef[str]
    @remote  g() -> Iterator[int]         RemoteFunction[[], …]          g.remote()         ObjectRefGenerator[int]
    remote(Counter)                       ActorClass                     .remote(1)         ActorHandle[Counter]
    @method  incr(self, by: int) -> int   through ActorProxy[Counter]    .incr.remote(1)    ObjectRef[int]

Nothing here costs a running program anything: it sees only type variables. docs/types.md says what checkers find, and
decision 56 why a call is written with a ParamSpec and overloads for refs.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, Literal, Never, Protocol, Self, Unpack, overload

from typing_extensions import ParamSpec, TypeVar  # known to every checker; no dependency of ours

from nbaccel.dag import ClassMethodNode
from nbaccel.handles.keywords import ActorKeywords, CallKeywords, TaskKeywords
from nbaccel.handles.refs import DynamicObjectRefGenerator, ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorMethod, RemoteFunction, _BoundActorClass, _BoundFunction

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any, covariant=True)
Submitted = TypeVar("Submitted", default=ObjectRef[R], covariant=True)  # what .remote() returns
T = TypeVar("T", default=Any, covariant=True)
Code = TypeVar("Code", default=Any, covariant=True)  # of an actor class: the class with its constructor
Out = TypeVar("Out", default=Any, covariant=True)

# A base of handles: checkers then let one stand for an ActorProxy[Counter], which to them is a Counter.
AnythingElse = Any

Q = ParamSpec("Q")
X = TypeVar("X")
Y = TypeVar("Y")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
H = TypeVar("H")
AnyClass = TypeVar("AnyClass", bound=type[Any])
Refs = list[ObjectRef[Any]]
Stream = ObjectRefGenerator[Any]
Dynamic = ObjectRef[DynamicObjectRefGenerator]

class Call(Generic[P, Out]):
    """`.remote`: arguments as the function takes them; the first eight positional ones may be refs instead.

    If one is, checkers do not compare all of those before it; what comes after it they do.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Out: ...
    @overload
    def __call__(self: Call[Concatenate[A, Q], Out], a: ObjectRef[A], /, *args: Q.args, **kwargs: Q.kwargs) -> Out: ...
    @overload
    def __call__(
        self: Call[Concatenate[A, B, Q], Out],
        a: A | ObjectRef[Any], b: ObjectRef[B], /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: ObjectRef[C], /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, D, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: C | ObjectRef[Any], d: ObjectRef[D], /,
        *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, D, E, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: C | ObjectRef[Any], d: D | ObjectRef[Any],
        e: ObjectRef[E], /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, D, E, F, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: C | ObjectRef[Any], d: D | ObjectRef[Any],
        e: E | ObjectRef[Any], f: ObjectRef[F], /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, D, E, F, G, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: C | ObjectRef[Any], d: D | ObjectRef[Any],
        e: E | ObjectRef[Any], f: F | ObjectRef[Any], g: ObjectRef[G], /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip
    @overload
    def __call__(
        self: Call[Concatenate[A, B, C, D, E, F, G, H, Q], Out],
        a: A | ObjectRef[Any], b: B | ObjectRef[Any], c: C | ObjectRef[Any], d: D | ObjectRef[Any],
        e: E | ObjectRef[Any], f: F | ObjectRef[Any], g: G | ObjectRef[Any], h: ObjectRef[H], /,
        *args: Q.args, **kwargs: Q.kwargs,
    ) -> Out: ...  # fmt: skip

class TaskDecorator(Protocol[Out]):
    """`@remote(num_returns=…, …)`: for functions, whose calls give what `num_returns` names."""

    def __call__(self, code: Callable[Q, X], /) -> RemoteFunction[Q, X, Out]: ...

class ActorDecorator(Protocol):
    """`@remote(max_restarts=…)` and other options of actors alone."""

    def __call__(self, code: AnyClass, /) -> ActorClass[Any, AnyClass]: ...

class RemoteDecorator(Protocol):
    """`@remote(num_gpus=…)`, for a function or a class."""

    @overload
    def __call__(self, code: AnyClass, /) -> ActorClass[Any, AnyClass]: ...
    @overload
    def __call__(self, code: Callable[Q, Never], /) -> RemoteFunction[Q, Any]: ...
    @overload
    def __call__(self, code: Callable[Q, Iterator[Y]], /) -> RemoteFunction[Q, Iterator[Y], ObjectRefGenerator[Y]]: ...
    @overload
    def __call__(self, code: Callable[Q, X], /) -> RemoteFunction[Q, X]: ...

class MarkedMethod(Generic[P, R, Submitted]):
    """A method that @method marks: an ordinary method inside its class, `.remote` and `.options` on a handle."""

    def __call__(self, instance: Any, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(self, instance: None, owner: type[Any], /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any], /) -> BoundMethod[P, R, Submitted]: ...

class TaskOptionsCall(Generic[P, R, Submitted]):
    """The `.options` of a remote function."""

    @overload
    def __call__(
        self, *, num_returns: None = None, **given: Unpack[TaskKeywords]
    ) -> _BoundFunction[P, R, Submitted]: ...
    @overload
    def __call__(self, *, num_returns: Literal[0], **given: Unpack[TaskKeywords]) -> _BoundFunction[P, R, None]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal[1], **given: Unpack[TaskKeywords]
    ) -> _BoundFunction[P, R, ObjectRef[R]]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal["streaming"], **given: Unpack[TaskKeywords]
    ) -> _BoundFunction[P, R, Stream]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal["dynamic"], **given: Unpack[TaskKeywords]
    ) -> _BoundFunction[P, R, Dynamic]: ...
    @overload
    def __call__(self, *, num_returns: int, **given: Unpack[TaskKeywords]) -> _BoundFunction[P, R, Refs]: ...

class ActorOptionsCall(Generic[T, Code]):
    """The `.options` of an actor class."""

    def __call__(self, **given: Unpack[ActorKeywords]) -> _BoundActorClass[T, Code]: ...

class RayCall(Generic[T]):
    """`handle.__ray_call__.remote(function, *args)` calls the function with the actor's instance."""

    def remote(
        self, function: Callable[Concatenate[T, Q], X], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> ObjectRef[X]: ...

class MethodOptionsCall(Generic[P, R, Submitted]):
    """The `.options` of a method of an actor."""

    @overload
    def __call__(self, *, num_returns: None = None, **given: Unpack[CallKeywords]) -> ActorMethod[P, R, Submitted]: ...
    @overload
    def __call__(self, *, num_returns: Literal[0], **given: Unpack[CallKeywords]) -> ActorMethod[P, R, None]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal[1], **given: Unpack[CallKeywords]
    ) -> ActorMethod[P, R, ObjectRef[R]]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal["streaming"], **given: Unpack[CallKeywords]
    ) -> ActorMethod[P, R, Stream]: ...
    @overload
    def __call__(
        self, *, num_returns: Literal["dynamic"], **given: Unpack[CallKeywords]
    ) -> ActorMethod[P, R, Dynamic]: ...
    @overload
    def __call__(self, *, num_returns: int, **given: Unpack[CallKeywords]) -> ActorMethod[P, R, Refs]: ...

class BoundMethod(Generic[P, R, Submitted]):
    """What `self.incr` and `handle.incr` are to a checker, which cannot know one from the other."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode: ...
    @property
    def remote(self) -> Call[P, Submitted]: ...
    @property
    def options(self) -> MethodOptionsCall[P, R, Submitted]: ...

class MethodDecorator(Protocol):
    """`@method(concurrency_group=…)`; what a call gives follows from the method."""

    @overload
    def __call__(self, method: Callable[Concatenate[Any, Q], Never], /) -> MarkedMethod[Q, Any]: ...
    @overload
    def __call__(
        self, method: Callable[Concatenate[Any, Q], Coroutine[Any, Any, X]], /
    ) -> MarkedMethod[Q, Coroutine[Any, Any, X], ObjectRef[X]]: ...
    @overload
    def __call__(
        self, method: Callable[Concatenate[Any, Q], Iterator[Y]], /
    ) -> MarkedMethod[Q, Iterator[Y], ObjectRefGenerator[Y]]: ...
    @overload
    def __call__(
        self, method: Callable[Concatenate[Any, Q], AsyncIterator[Y]], /
    ) -> MarkedMethod[Q, AsyncIterator[Y], ObjectRefGenerator[Y]]: ...
    @overload
    def __call__(self, method: Callable[Concatenate[Any, Q], X], /) -> MarkedMethod[Q, X]: ...

class ReturningMethodDecorator(Protocol[Out]):
    """`@method(num_returns=…)`."""

    def __call__(self, method: Callable[Concatenate[Any, Q], X], /) -> MarkedMethod[Q, X, Out]: ...
