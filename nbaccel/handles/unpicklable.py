"""Names the part of a value, or of what a function has captured, that cannot be pickled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from nbaccel.handles.option_checks import with_article

CanPickle = Callable[[Any], bool]  # each engine has its own pickler
ADVICE = "Make it inside the task, or pass what is needed to make it: a path instead of an open file."
ADVICE_TO_RETURN = "Return plain data, or keep the object in an actor."


def refuse(what: str, value: Any, error: Exception, can_pickle: CanPickle, advice: str = ADVICE) -> NoReturn:
    """Raise the error again, naming the part of `value` to blame: in the message of one of Python's own exceptions, in
    a note of any other, which only its class knows how to make."""
    words = f"Could not serialize {what}: {find(value, 'it', can_pickle)} cannot be pickled"
    kind = TypeError if isinstance(error, TypeError) else type(error)
    is_pythons = kind.__module__ in ("builtins", "_pickle")
    if is_pythons and (kind is TypeError or [type(each) for each in error.args] == [str]):
        raise kind(f"{words} ({type(error).__name__}: {error}). {advice}".rstrip()) from error
    with suppress(Exception):  # the user's class may take no notes
        error.add_note(f"{words}. {advice}".rstrip())
    raise error


def refuse_code(name: str, code: Any, error: Exception, can_pickle: CanPickle) -> NoReturn:
    """Raise a TypeError that names what a function or class has captured and cannot be pickled."""
    raise TypeError(
        f"Could not serialize {name}: {find(code, name, can_pickle)} cannot be pickled ({error}). "
        "Create it inside the function, or pass what is needed to make it."
    ) from error


def refuse_argument(
    name: str, plain: Sequence[Any], named: Mapping[str, Any], error: Exception, can_pickle: CanPickle
) -> None:
    """Raise the error again, naming the argument to blame. Returns if each of them can be pickled."""
    places = [(f"argument {index}", value) for index, value in enumerate(plain)]
    places += [(f"argument {key!r}", value) for key, value in named.items()]
    for what, value in places:
        if not can_pickle(value):
            refuse(f"{what} of {name}", value, error, can_pickle)


def find(value: Any, name: str, can_pickle: CanPickle) -> str:
    """Name the innermost part that cannot be pickled, as a path: "data['lock'] (a lock)"."""
    path, culprit = _search(value, name, can_pickle, set(), 4)
    return f"{path} ({type(culprit).__module__}.{type(culprit).__qualname__})"


def _search(value: Any, path: str, can_pickle: CanPickle, seen: set[int], depth: int) -> tuple[str, Any]:
    if depth == 0 or id(value) in seen:
        return path, value
    seen.add(id(value))
    for part, label in _parts_of(value, path):
        if not can_pickle(part):
            return _search(part, label, can_pickle, seen, depth - 1)
    return path, value


def _parts_of(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, dict):
        yield from ((part, f"{path}[{key!r}]") for key, part in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((part, f"{path}[{i}]") for i, part in enumerate(value))
    elif hasattr(value, "__code__"):
        yield from _captured_by(value, path)
    elif isinstance(value, type):
        members = [(key, part) for key, part in vars(value).items() if callable(part) or not key.startswith("__")]
        yield from ((part, f"{path}.{key}") for key, part in members)
    elif hasattr(value, "__dict__"):
        yield from ((part, f"{path}.{key}") for key, part in vars(value).items())
    else:
        yield from _slots_of(value, path)


def _slots_of(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for key in (slots,) if isinstance(slots, str) else slots:
            with suppress(AttributeError):  # a slot without a value
                yield object.__getattribute__(value, key), f"{path}.{key}"


def _captured_by(function: Any, path: str) -> Iterator[tuple[Any, str]]:
    code = function.__code__
    for cell_name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield cell.cell_contents, f"{cell_name} (captured by {path})"
        except ValueError:  # an empty cell
            continue
    for global_name in code.co_names:
        if global_name in function.__globals__:
            yield function.__globals__[global_name], f"{global_name} (a global used by {path})"


def largest_captured(code: Any, name: str) -> str:
    """Name what makes a function or class large."""
    parts = list(_parts_of(code, name))
    if not parts:
        return f"{name} itself"
    part, label = max(parts, key=lambda pair: getattr(pair[0], "nbytes", sys.getsizeof(pair[0], 0)))
    return f"{label}, {with_article(type(part).__name__)}"
