"""Every error that nbaccel raises, under Ray Core's names.

    RayError
    ├── RayTaskError                    user code raised; also an instance of what it raised, see as_instanceof_cause
    ├── TaskCancelledError
    ├── WorkerCrashedError
    ├── LocalRayletDiedError
    ├── NodeDiedError
    ├── RayActorError
    │   ├── ActorDiedError
    │   └── ActorUnavailableError
    ├── GetTimeoutError                 also TimeoutError
    ├── ObjectLostError
    │   ├── ObjectFetchTimedOutError
    │   ├── ReferenceCountingAssertionError   also AssertionError
    │   ├── ObjectFreedError
    │   ├── OwnerDiedError
    │   └── ObjectReconstructionFailedError
    ├── ObjectStoreFullError
    ├── OutOfDiskError
    ├── OutOfMemoryError
    ├── PlasmaObjectNotAvailable
    ├── ObjectRefStreamEndOfStreamError
    ├── RuntimeEnvSetupError
    ├── TaskUnschedulableError
    ├── ActorUnschedulableError
    ├── TaskPlacementGroupRemoved
    ├── ActorPlacementGroupRemoved
    ├── PendingCallsLimitExceeded
    ├── AsyncioActorExit
    ├── ActorAlreadyExistsError         also ValueError
    ├── ActorHandleNotFoundError        also ValueError
    ├── UserCodeException
    ├── UnserializableException
    ├── OufOfBandObjectRefSerializationException
    ├── CrossLanguageError
    ├── AuthenticationError
    ├── RpcError
    └── RaySystemError
        ├── EngineError                 ours: an engine could not do what was asked of it
        │   └── HeadDiedError           ours: the local engine's head process is gone
        ├── RayChannelError
        │   └── RayChannelTimeoutError  also TimeoutError
        ├── RayCgraphCapacityExceeded
        ├── RayDirectTransportError
        └── StreamingGeneratorReplayInconsistentError

Every error survives plain pickle, whatever its constructor asks for.
"""

from __future__ import annotations

import contextlib
import copyreg
import pickle
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex


class RayError(Exception):
    """The root of all errors that nbaccel itself reports: `except RayError` catches them."""

    def __reduce__(self) -> Reduced:
        return _rebuild, (type(self), args_of(self), self.__dict__)

    def __reduce_ex__(self, protocol: Any) -> Reduced:
        # Without this, a user class's own __reduce_ex__ would win in RayTaskError(UserError) and lose our half.
        return self.__reduce__()


def _rebuild(kind: type[BaseException], args: tuple[Any, ...], state: Mapping[str, Any]) -> BaseException:
    """An exception as it was, without calling its __init__, whose parameters need not be `args`."""
    error = kind.__new__(kind, *args)
    set_args(error, args)
    error.__dict__.update(state)
    return error


# --- what user code raised -------------------------------------------------------------------------------------


class RayTaskError(RayError):
    """A task or actor method raised an exception; `str()` is the traceback of the process where it happened.

    `get` raises `error.as_instanceof_cause()`, which `except ValueError` also catches if the task raised one.

    - `cause`: the user's exception; the innermost one if the task failed because a task that it waited for failed.
    - `__cause__`, `__context__`: those of the user's exception, as exceptions; `cause` has them too.
    - `function_name`, `task_id`, `pid`, `device_ids` (`{"GPU": ["0"]}`), `cell`, `actor` (its class): where.
    - `traceback_str`: the remote traceback, of all the tasks on the way.
    """

    _takes_its_chain = True  # when it is pickled

    def __init__(
        self,
        function_name: str,
        traceback_str: str,
        cause: BaseException | None,
        *,
        task_id: str | None = None,
        pid: int | None = None,
        device_ids: Mapping[str, Sequence[str]] | None = None,
        cell: str | None = None,
        actor: str | None = None,
    ) -> None:
        inner_text = str(cause) if isinstance(cause, RayTaskError) else ""
        if inner_text and inner_text not in traceback_str:
            traceback_str = f"{inner_text}\n\n{traceback_str}"
        super().__init__(function_name, traceback_str)
        self.function_name = function_name
        self.traceback_str = traceback_str
        self.cause: BaseException | None = cause.cause if isinstance(cause, RayTaskError) else cause
        if cause is not None:
            copy_ties(cause, self)
        self.task_id = task_id
        self.pid = pid
        self.device_ids = {name: list(ids) for name, ids in (device_ids or {}).items()}
        self.cell = cell
        self.actor = actor

    def __setattr__(self, name: str, value: Any) -> None:
        # Without this, a class of the user's that lets nobody set an attribute would not even let the error be raised.
        BaseException.__setattr__(self, name, value)

    def __str__(self) -> str:
        return f"{self._heading()}\n{self.traceback_str}"

    def _heading(self) -> str:
        facts = [f"pid={self.pid}"] if self.pid is not None else []
        facts += [f"{name}={','.join(ids)}" for name, ids in self.device_ids.items() if ids]
        name = f"{self.actor}.{self.function_name}" if self.actor else self.function_name
        return f"ray::{name}()" + (f" ({', '.join(facts)})" if facts else "")

    def as_instanceof_cause(self) -> RayTaskError:
        """This error as an instance of `RayTaskError(X)`, a subclass of RayTaskError and of X, the cause's class.

        It has the cause's `args` and attributes. A cause whose class cannot have subclasses gives the plain error. A
        KeyboardInterrupt or asyncio's CancelledError that a task raised by itself must not stop the caller: X is
        TaskCancelledError then.
        """
        cause = self.cause
        if isinstance(cause, (KeyboardInterrupt, _asyncios_cancelled())):
            cause = TaskCancelledError(f"The task stopped itself: it raised {type(cause).__name__}.")
        if cause is None or isinstance(cause, (SystemExit, GeneratorExit)) or isinstance(self, type(cause)):
            return self
        both = _class_of_both(type(cause))
        if both is None:
            return self
        try:
            return _fused(both, self, cause)
        except Exception:  # a user class's own __new__ ran, and anything may happen there
            return self

    def derive(self, excs: Sequence[Any]) -> Any:
        """A part of the exception group that a task raised, for `except*` and `split`."""
        if not isinstance(self.cause, BaseExceptionGroup):
            raise TypeError(f"{type(self.cause).__name__} is not an exception group, it has no parts.")
        return self.cause.derive(excs)

    def __reduce__(self) -> Reduced:
        facts = {name: self.__dict__[name] for name in _FACTS}
        notes = self.__dict__.get("__notes__")
        cause = self.__dict__["cause"]  # the user's class may mean something else by this name
        told = {*_FACTS, "cause", "__notes__", *getattr(cause, "__dict__", ())}
        added = {name: value for name, value in self.__dict__.items() if name not in told}
        chain = Chain([self, *([cause] if cause is not None else [])], RayTaskError) or None
        return _rebuild_task_error, (facts, packed(cause), notes, type(self) is not RayTaskError, added, chain)


def stand_in(error: BaseException, words: str) -> RayError:
    """A plain error in the place of one that cannot travel, raised from what that one was raised from."""
    made = RayError(words)
    copy_ties(error, made)
    return made


_FACTS = ("function_name", "traceback_str", "task_id", "pid", "device_ids", "cell", "actor")

# Weak in both directions: a notebook that redefines its exception class does not pile up old ones.
_classes_of_both: weakref.WeakKeyDictionary[type, weakref.ref[type[RayTaskError]]] = weakref.WeakKeyDictionary()


def _asyncios_cancelled() -> type[BaseException]:
    """asyncio's CancelledError, without an import of asyncio where nobody else has need of it."""
    return getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", KeyboardInterrupt)


def _class_of_both(kind: type[BaseException]) -> type[RayTaskError] | None:
    """The class `RayTaskError(kind)`, the same one each time; None when `kind` allows no such class."""
    try:
        known = _classes_of_both.get(kind)
        both = known() if known is not None else None
        if both is None:
            name = f"RayTaskError({kind.__name__})"
            both = type(name, (RayTaskError, kind), {"__module__": __name__, "__qualname__": name})
            _classes_of_both[kind] = weakref.ref(both)
        return both
    except Exception:  # layout conflict, metaclass, or an __init_subclass__ of the user's that refuses
        return None


def _fused(both: type[RayTaskError], task_error: RayTaskError, cause: BaseException) -> RayTaskError:
    try:
        error: RayTaskError = both.__new__(both, *args_of(cause))
    except TypeError:  # MemoryError's own __new__ refuses classes of two bases
        error = BaseException.__new__(both, *args_of(cause))
    set_args(error, args_of(cause))
    copy_slots(cause, error)
    error.__dict__.update(cause.__dict__)
    error.__dict__.update(task_error.__dict__)
    copy_ties(task_error, error)
    return error


def _rebuild_task_error(
    facts: Mapping[str, Any],
    cause: BaseException | Packed | None,
    notes: list[str] | None,
    fused: bool,
    added: Mapping[str, Any],
    chain: Chain | PackedChain | None = None,
) -> RayTaskError:
    if isinstance(cause, Packed):  # copy.copy calls this with what __reduce__ gave, not pickled in between
        cause = cause.cause
    error = RayTaskError(cause=cause, **facts)
    if chain is not None:
        chain.tie([error, *([cause] if cause is not None else [])], UnserializableException)
    for note in notes or []:
        error.add_note(note)
    made = error.as_instanceof_cause() if fused else error
    made.__dict__.update(added)
    return made


# --- tasks, workers, nodes -------------------------------------------------------------------------------------


class TaskCancelledError(RayError):
    """The task was cancelled before it ended; a cancelled task is never retried."""

    def __init__(self, message: str = "This task was cancelled.", *, task_id: str | None = None) -> None:
        super().__init__(message)
        self.task_id = task_id


class WorkerCrashedError(RayError):
    """The process that ran the task ended before it returned: a signal, `os._exit`, a segmentation fault."""

    def __init__(
        self,
        message: str = "The worker process ended before its task returned.",
        *,
        pid: int | None = None,
        exit_code: int | None = None,
        signal_number: int | None = None,
    ) -> None:
        super().__init__(message)
        self.pid = pid
        self.exit_code = exit_code
        self.signal_number = signal_number


class LocalRayletDiedError(RayError):
    """The scheduler of the task's node died (Ray engine)."""


class NodeDiedError(RayError):
    """The node of the task or actor is gone."""


class TaskUnschedulableError(RayError):
    """No node can ever provide the resources of the task."""


class TaskPlacementGroupRemoved(RayError):
    """The placement group that the task was to run in was removed."""


class GetTimeoutError(RayError, TimeoutError):
    """`get(..., timeout=)` ended before the value was ready; the task goes on."""


# --- actors ----------------------------------------------------------------------------------------------------


class RayActorError(RayError):
    """An actor cannot answer. If its constructor raised an error, `cause` is that error.

    `preempted` is true if the cluster's provider took the node back.
    """

    def __init__(
        self,
        message: str = "The actor cannot answer.",
        *,
        actor_id: str | None = None,
        actor_init_failed: bool = False,
        cause: BaseException | None = None,
        preempted: bool = False,
    ) -> None:
        super().__init__(message)
        self.actor_id = actor_id
        self.actor_init_failed = actor_init_failed
        self.preempted = preempted
        self.cause = cause

    @property
    def error_msg(self) -> str:
        """Ray's name for the text."""
        return str(self)


class ActorDiedError(RayActorError):
    """The actor has ended and will not be restarted: its process died, it was killed, or its constructor raised."""


class ActorUnavailableError(RayActorError):
    """The actor is temporarily unreachable, for example while it restarts; the call may have run or not."""


class ActorUnschedulableError(RayError):
    """No node can ever provide the resources of the actor."""


class ActorPlacementGroupRemoved(RayError):
    """The placement group that the actor was to live in was removed."""


class PendingCallsLimitExceeded(RayError):
    """The actor already has `max_pending_calls` calls waiting."""


class AsyncioActorExit(RayError):
    """Raised inside an asyncio actor to end it."""


class ActorAlreadyExistsError(ValueError, RayError):
    """The namespace already has an actor of this name."""


class ActorHandleNotFoundError(ValueError, RayError):
    """There is no actor of this name, or the handle belongs to another cluster."""


# --- objects ---------------------------------------------------------------------------------------------------


class ObjectLostError(RayError):
    """Every copy of the object is gone."""

    def __init__(
        self, message: str = "Every copy of the object is gone.", *, object_ref_hex: str | None = None
    ) -> None:
        super().__init__(message)
        self.object_ref_hex = object_ref_hex


class ObjectFetchTimedOutError(ObjectLostError):
    """The object is said to exist on another node, but could not be brought here in time."""


class ReferenceCountingAssertionError(ObjectLostError, AssertionError):
    """The object was released although something still refers to it."""


class ObjectFreedError(ObjectLostError):
    """The object was freed by hand while something still referred to it."""


class OwnerDiedError(ObjectLostError):
    """The process that owned the object has ended, and nobody else knows where the object is."""


class ObjectReconstructionFailedError(ObjectLostError):
    """The object was lost, and the task that made it cannot be run again."""


class ObjectStoreFullError(RayError):
    """The object fits neither into shared memory nor into the free space of the spill directory."""


class OutOfDiskError(RayError):
    """The disk that objects are spilled to is full."""


class OutOfMemoryError(RayError):
    """The worker was ended because the machine's memory ran out."""


class PlasmaObjectNotAvailable(RayError):
    """The object is not in the store of this node."""


class ObjectRefStreamEndOfStreamError(RayError):
    """The stream has ended: its task yields no further item."""


# --- code and data that cannot travel ------------------------------------------------------------------------------


class RuntimeEnvSetupError(RayError):
    """The environment that `runtime_env` describes could not be created; the message has the tool's output."""


class UserCodeException(RayError):
    """Replaces an exception of user code that cannot be shown."""


class UnserializableException(RayError):
    """Replaces an exception of user code that cannot be pickled; the message has its traceback."""


class OufOfBandObjectRefSerializationException(RayError):
    """An ObjectRef was pickled outside of nbaccel, where it cannot be counted."""


class CrossLanguageError(RayError):
    """A task in another language failed (Ray engine)."""


# --- the system ------------------------------------------------------------------------------------------------


class AuthenticationError(RayError):
    """The cluster or head refused the token that was shown to it."""


class RpcError(RayError):
    """A message to another process of the cluster failed."""

    def __init__(self, message: str, rpc_code: int | None = None) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code


class RaySystemError(RayError):
    """nbaccel or Ray itself failed, or was used before it was started."""


class EngineError(RaySystemError):
    """An engine could not carry out a request."""


class HeadDiedError(EngineError):
    """The process of the local engine's head has ended; values that had not been fetched are lost."""


class RayChannelError(RaySystemError):
    """A channel between actors failed (Ray engine)."""


class RayChannelTimeoutError(RayChannelError, TimeoutError):
    """A channel between actors delivered nothing in time (Ray engine)."""


class RayCgraphCapacityExceeded(RaySystemError):
    """A compiled graph has too many executions in flight (Ray engine)."""


class RayDirectTransportError(RaySystemError):
    """Moving an object directly between devices failed (Ray engine)."""


class StreamingGeneratorReplayInconsistentError(RaySystemError):
    """A streaming task ran again after a loss and yielded a different number of items."""


# ---- takes along the exceptions that an error was raised from (`__cause__`) or raised beside (`__context__`)
#
# ```   error ── __cause__ ──► link ── __context__ ──► link …     plain pickle forgets all but the error   Chain ──
# pickled ──► PackedChain ── tie ──► the same, around an error that has travelled otherwise ``` Each link is pickled by
# itself: one that cannot be pickled, or that its reader cannot rebuild, leaves its words in its place and costs
# neither the error nor another link.


MOST_LINKS = 32  # a function that calls itself in an `except` makes hundreds; the traceback has them all
MOST_BYTES = 1 << 20  # of one link: errors travel in messages
_LONGEST_WORDS = 1_000

Tie = tuple[
    int, int, bool
]  # the places of the cause and of the context, -1 without one; whether a cause hides the latter
Link = tuple[bytes, str]  # the pickle of an exception, b"" if there is none; its words, or why there is none
StandIn = Callable[[str], BaseException]


class Chain:
    """The links of some errors, which travel by themselves.

    errors  the errors
    whole   a class of exceptions that take their own chains along
    """

    def __init__(self, errors: Sequence[BaseException], whole: type[BaseException]) -> None:
        self._whole = whole
        self._nodes = [node for error in errors for node in _with_parts(error)]
        self._own = len(self._nodes)  # these are the errors', those behind them the links'
        self._links: list[BaseException] = []
        looked_at = 0
        while looked_at < len(self._nodes):
            self._follow(self._nodes[looked_at], is_own=looked_at < self._own)
            looked_at += 1

    def __bool__(self) -> bool:
        return bool(self._links)

    def _follow(self, node: BaseException, *, is_own: bool) -> None:
        if isinstance(node, self._whole) and not is_own:
            return
        for link in (CAUSE.__get__(node), CONTEXT.__get__(node)):
            if link is not None and self._place(link) < 0 and len(self._links) < MOST_LINKS:
                self._links.append(link)
                self._nodes += _with_parts(link)

    def _place(self, link: BaseException | None) -> int:
        return next((place for place, node in enumerate(self._nodes) if node is link), -1)

    def _tie(self, node: BaseException, *, is_own: bool) -> Tie | None:
        if isinstance(node, self._whole) and not is_own:
            return None
        cause, context = self._place(CAUSE.__get__(node)), self._place(CONTEXT.__get__(node))
        return cause, context, SUPPRESSES.__get__(node)

    def __reduce__(self) -> Reduced:
        ties = [self._tie(node, is_own=place < self._own) for place, node in enumerate(self._nodes)]
        return PackedChain, ([_packed_link(link) for link in self._links], ties)

    def tie(self, errors: Sequence[BaseException], stand_in: StandIn) -> None:
        """Nothing has been pickled (`copy.copy`): the errors are tied as they were."""


class PackedChain:
    """A chain that has travelled."""

    def __init__(self, links: list[Link], ties: list[Tie | None]) -> None:
        self._links = links
        self._ties = ties

    def __reduce__(self) -> Reduced:
        return PackedChain, (self._links, self._ties)

    def tie(self, errors: Sequence[BaseException], stand_in: StandIn) -> None:
        """Tie the links to the errors, which are in the same order as before. `stand_in` takes a lost link's place."""
        links = [_loaded(link, stand_in) for link in self._links]
        nodes = [node for error in (*errors, *links) for node in _with_parts(error)]
        for node, tie in zip(nodes, self._ties, strict=False):  # a class of the user's may have lost parts
            if tie is not None:
                cause, context, suppresses = tie
                set_ties(node, _at(nodes, cause), _at(nodes, context), suppresses)


def _at(nodes: list[BaseException], place: int) -> BaseException | None:
    return nodes[place] if 0 <= place < len(nodes) else None


def _with_parts(error: BaseException) -> list[BaseException]:
    """The error, and the parts of a group, in an order that survives pickling."""
    found = [error]
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            found += _with_parts(part)
    return found


def _packed_link(link: BaseException) -> Link:
    import cloudpickle

    words = _words(link)
    try:
        data = cloudpickle.dumps(packed(link))
    except Exception as problem:  # whatever a user's __reduce__ raises
        return b"", f"{words} (the exception itself could not be pickled: {_words(problem)})"
    if len(data) > MOST_BYTES:
        return b"", f"{words} (the exception itself is too large to travel: {len(data) / 1e6:.1f} MB)"
    return data, words


def _loaded(link: Link, stand_in: StandIn) -> BaseException:
    data, words = link
    if not data:
        return stand_in(words)
    try:
        found = pickle.loads(data)
    except Exception as problem:  # its module is missing here, or whatever a user's class raises
        return stand_in(f"{words} (the exception itself could not be rebuilt: {_words(problem)})")
    return found if isinstance(found, BaseException) else stand_in(words)


def _words(error: BaseException) -> str:
    """Its class and message, in characters that can be encoded; a user's __str__ may raise as well."""
    try:
        said = str(error)[:_LONGEST_WORDS].encode("utf-8", "backslashreplace").decode()
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


# ---- takes an exception of a user's class apart so that it can travel, and puts it together again
#
# This works for classes that show other `args` than Python keeps, forbid setting attributes, declare slots, or have a
# constructor whose parameters are not the `args`.


Reduced = tuple[Any, ...]  # what __reduce__ returns


def args_of(error: BaseException) -> tuple[Any, ...]:
    """The `args` that Python keeps for the error, even if the user's class shows something else under this name."""
    kept: tuple[Any, ...] = _ARGS.__get__(error)
    return kept


def set_args(error: BaseException, args: tuple[Any, ...]) -> None:
    _ARGS.__set__(error, args)


_ARGS: Any = vars(BaseException)["args"]


def copy_slots(source: BaseException, target: BaseException) -> None:
    """Copies the state outside `__dict__`: `__slots__` of user classes, and C fields such as `OSError.errno`."""
    for kind in type(source).__mro__:
        if kind is BaseException:
            return
        for name, slot in vars(kind).items():
            if isinstance(slot, types.MemberDescriptorType | types.GetSetDescriptorType) and name != "__dict__":
                with contextlib.suppress(AttributeError, TypeError):  # unset, or read-only: then __new__ has set it
                    slot.__set__(target, slot.__get__(source, type(source)))


_FIELDS: Any = vars(BaseException)  # a user's class may mean something else by these names
CAUSE, CONTEXT, SUPPRESSES = _FIELDS["__cause__"], _FIELDS["__context__"], _FIELDS["__suppress_context__"]


def copy_ties(source: BaseException, target: BaseException) -> None:
    """Let `target` have been raised from what `source` was raised from."""
    set_ties(target, CAUSE.__get__(source), CONTEXT.__get__(source), SUPPRESSES.__get__(source))


@contextlib.contextmanager
def untied(error: BaseException) -> Iterator[None]:
    """Inside the block, the error was raised from nothing: its own text has the whole chain, with frames."""
    kept = Exception()
    copy_ties(error, kept)
    set_ties(error, None, None, False)
    try:
        yield
    finally:
        copy_ties(kept, error)


def set_ties(
    error: BaseException, cause: BaseException | None, context: BaseException | None, suppresses: bool
) -> None:
    CAUSE.__set__(error, cause)
    CONTEXT.__set__(error, context)
    SUPPRESSES.__set__(error, suppresses)  # last: to set a cause sets it, too


class Packed:
    """Pickles as an exception that can be unpickled even where its class cannot be called with its `args`."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause

    def __reduce__(self) -> Reduced:
        cause = self.cause
        args = args_of(cause)
        if isinstance(cause, BaseExceptionGroup):
            args = (args[0], [packed(inner) for inner in cause.exceptions])
        return unpacked, (type(cause), args, cause.__dict__, _user_slots(cause))


class PackedItsWay(Packed):
    """Pickles as an exception in the way that its own class describes, whatever is registered for all exceptions."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.cause.__reduce_ex__(protocol)


class PackedByReducer(Packed):
    """Pickles as an exception in the way that is registered for it, but without its traceback and its chain."""

    def __init__(self, cause: BaseException, reducer: Callable[[BaseException], Any]) -> None:
        super().__init__(cause)
        self._reducer = reducer

    def __reduce__(self) -> Any:
        traceback = self.cause.__traceback__
        with untied(self.cause):
            self.cause.__traceback__ = None
            try:
                return self._reducer(self.cause)
            finally:
                self.cause.__traceback__ = traceback


def packed(cause: BaseException | None) -> Any:
    """What to pickle in the place of the exception, so that it arrives without what it was raised from."""
    kind = type(cause)
    reducer, for_all = copyreg.dispatch_table.get(kind), copyreg.dispatch_table.get(BaseException)
    if cause is None or (reducer is not None and reducer is not for_all):
        return cause  # register_serializer says how
    if (
        kind.__reduce__ is BaseException.__reduce__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__getstate__ is object.__getstate__
    ):
        return Packed(cause)
    if reducer is None:
        return cause
    # One of all exceptions. Dask installs tblib's, which knows classes that pickle does not, and takes the chain along.
    return PackedItsWay(cause) if getattr(kind, "_takes_its_chain", False) else PackedByReducer(cause, reducer)


def _user_slots(cause: BaseException) -> dict[str, Any]:
    """The values of `__slots__` that classes in Python declare; pickle forgets them for exceptions."""
    declared = [slot for kind in type(cause).__mro__ if "__slots__" in vars(kind) for slot in vars(kind).items()]
    slots = {name: slot for name, slot in declared if isinstance(slot, types.MemberDescriptorType)}
    return {name: getattr(cause, name) for name in slots if hasattr(cause, name)}


def unpacked(
    kind: type[BaseException], args: tuple[Any, ...], state: Mapping[str, Any], slots: Mapping[str, Any]
) -> BaseException:
    try:
        cause = kind(*args)
    except Exception:  # an __init__ of the user's that wants something else than args
        cause = kind.__new__(kind, *args)
    set_args(cause, args)
    cause.__dict__.update(state)
    for name, value in slots.items():
        BaseException.__setattr__(cause, name, value)
    return cause
