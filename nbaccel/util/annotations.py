"""Ray's decorators that mark how stable an API is. They add a note to the docstring and change nothing else."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def _mark(args: tuple[Any, ...], note: str) -> Any:
    """Both forms of a decorator: bare, and with options."""
    if len(args) == 1 and callable(args[0]):
        return _noted(args[0], note)
    return lambda thing: _noted(thing, note)


def _noted(thing: T, note: str) -> T:
    try:
        thing.__doc__ = f"{thing.__doc__ or ''}\n\n{note}".strip()
        thing._annotated = getattr(thing, "__name__", "")  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        pass  # a built-in, or an object with slots: there is no room for a note
    return thing


def PublicAPI(*args: Callable[..., Any], stability: str = "stable", api_group: str = "Others") -> Any:
    """Marks an API that users may rely on; `stability` is "stable", "beta" or "alpha"."""
    if stability not in ("stable", "beta", "alpha"):
        raise ValueError(f'stability is "stable", "beta" or "alpha", not {stability!r}.')
    return _mark(args, "" if stability == "stable" else f"This API is in {stability} and may change.")


def DeveloperAPI(*args: Callable[..., Any]) -> Any:
    """Marks an API for advanced users, which may change."""
    return _mark(args, "For developers: this API may change between minor releases.")


def Deprecated(*args: Callable[..., Any], message: str = "", warning: bool = False) -> Any:
    """Marks an API that will be removed. `message` names the replacement; with `warning` each call also warns."""
    words = f"Deprecated: {message or 'this will be removed.'}"
    if not warning:
        return _mark(args, words)
    return lambda function: _noted(_warning(function, words), words)


def _warning(function: Callable[..., Any], words: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"{function.__qualname__}: {words}", DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    return warned


__all__ = ["Deprecated", "DeveloperAPI", "PublicAPI"]
