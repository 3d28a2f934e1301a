"""Finds the part of an object that cannot be pickled: a captured variable, an attribute of an instance."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import cloudpickle


@dataclass(frozen=True, eq=False)
class FailureTuple:
    """An object that cannot be pickled although its parts can, or at which the search reached its depth."""

    obj: Any
    name: str
    parent: Any

    def __repr__(self) -> str:
        return f"FailTuple({self.name} [obj={self.obj!r}, parent={self.parent!r}])"


def inspect_serializability(
    base_obj: Any, name: str | None = None, depth: int = 3, print_file: TextIO | None = None
) -> tuple[bool, set[FailureTuple]]:
    """Whether `base_obj` can be pickled for a worker, and if not, which of its parts cannot, `depth` levels deep.

    Prints each step to `print_file` (default: stdout).

    >>> import threading
    >>> lock = threading.Lock()
    >>> serializable, failures = inspect_serializability(lambda: lock)
    >>> serializable, [failure.name for failure in failures]
    (False, ['lock'])
    """
    search = _UnpicklableSearch(print_file or sys.stdout)
    name = name or getattr(base_obj, "__qualname__", None) or repr(base_obj)
    search.say(0, f"Checking Serializability of {name}")
    if _error_of(base_obj) is None:
        search.say(0, "It can be serialized.")
        return True, set()
    search.look_into(base_obj, name, base_obj, depth, 0)
    search.say(0, "Not serializable: " + ", ".join(sorted(failure.name for failure in search.failures)))
    search.say(0, "Make these inside the task or actor, or keep them out of what it captures.")
    return False, search.failures


def _error_of(candidate: Any) -> Exception | None:
    try:
        cloudpickle.dumps(candidate)
    except Exception as error:  # __reduce__ is the user's code
        return error
    return None


class _UnpicklableSearch:
    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._seen: set[int] = set()
        self.failures: set[FailureTuple] = set()

    def say(self, level: int, text: str) -> None:
        print("    " * level + text, file=self._output)

    def look_into(self, culprit: Any, name: str, parent: Any, depth: int, level: int) -> None:
        """Find the causes in the parts of an object that cannot be pickled, or blame the object itself."""
        self._seen.add(id(culprit))
        self.say(level, f"!!! FAIL serialization of {name}: {_error_of(culprit)}")
        found = False
        for part_name, part in _parts(culprit) if depth > 0 else ():
            if id(part) not in self._seen and _error_of(part) is not None:
                found = True
                self.look_into(part, part_name, culprit, depth - 1, level + 1)
        if not found:
            self.failures.add(FailureTuple(culprit, name, parent))


def _parts(whole: Any) -> Iterator[tuple[str, Any]]:
    """The objects that are pickled together with `whole`, with their names in it."""
    if inspect.ismethod(whole):
        yield from (("self", whole.__self__), (whole.__name__, whole.__func__))
    elif inspect.isfunction(whole):
        captured = inspect.getclosurevars(whole)
        yield from {**captured.globals, **captured.nonlocals}.items()
        yield from ((f"default {index}", value) for index, value in enumerate(whole.__defaults__ or ()))
    elif isinstance(whole, dict):
        yield from ((f"[{key!r}]", value) for key, value in whole.items())
    elif isinstance(whole, list | tuple | set | frozenset):
        yield from ((f"[{index}]", value) for index, value in enumerate(whole))
    else:
        yield from vars(whole).items() if hasattr(whole, "__dict__") else ()
