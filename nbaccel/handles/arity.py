"""Checks that the arguments of a call fit its function, in the process that makes the call."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import msgspec

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
