"""Takes an exception of a user's class apart so that it can travel, and puts it together again.

This works for classes that show other `args` than Python keeps, forbid setting attributes, declare slots, or have a
constructor whose parameters are not the `args`.
"""

from __future__ import annotations

import contextlib
import copyreg
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsIndex

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
