"""Whether code has changed since it was last sent: a re-run cell or an edited module is seen by the next task.

The check compares code, once for each executed cell: the bytecode and constants of the function and of every function
and class of `__main__` that it reaches by name, with the plain values in defaults of arguments and in class bodies.
Captured data (a global list, a tensor in a closure) does not count: as in Ray, it stays as it was when the function was
first sent. A local module counts by the time of its file.
The check costs about 50 µs for a function that reaches five others, and one stat() for each local module.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import sysconfig
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from nbaccel import roots

_MOST_REACHED = 1_000
_MOST_ITEMS = 100
_DEEPEST = 5  # of containers in containers, which may hold themselves
_LONGEST_TEXT = 1_000
_PLAIN_TYPES = (int, float, complex, str, bytes, type(None), type(...))


def fingerprint(code: Any) -> bytes:
    """A digest of the code of a function or class and of what it reaches in `__main__`."""
    digest = blake2b(digest_size=16)
    seen: set[int] = set()
    pending = [code]
    while pending and len(seen) < _MOST_REACHED:
        thing = _plain(pending.pop())
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, type):
            digest.update(_constants(vars(thing)).encode())
            pending += filter(_is_of_main, thing.__bases__)
        for function in _functions_of(thing):
            _add(digest, function.__code__)
            digest.update(_plainly((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items())).encode())
            pending += _reached(function)
    return digest.digest()


def _plain(thing: Any) -> Any:
    """The function or class that a decorator of nbaccel wraps."""
    return getattr(thing, "_function", None) or getattr(thing, "_class", None) or thing


def _functions_of(thing: Any) -> list[FunctionType]:
    if isinstance(thing, FunctionType):
        return [thing]
    if isinstance(thing, type):
        members = [getattr(member, "__func__", getattr(member, "fget", member)) for member in vars(thing).values()]
        return [member for member in members if isinstance(member, FunctionType)]
    return []


def _constants(members: Mapping[str, Any]) -> str:
    """The plain values in the body of a class, including those of an Enum."""
    named = members.get("_member_map_") or members  # an Enum's members are made from what its body states
    stated = [(name, getattr(value, "_value_", value)) for name, value in named.items() if not name.startswith("__")]
    return "".join(f"{name}={_plainly(value)};" for name, value in stated)


def _plainly(value: Any, deep: int = _DEEPEST) -> str:
    """A number, a text or a small container of them as written; for anything else only its class."""
    if isinstance(value, (str, bytes)) and len(value) > _LONGEST_TEXT:
        return f"{type(value).__name__}{len(value)}#{hash(value)}"
    if isinstance(value, _PLAIN_TYPES):
        return repr(value)
    if deep and isinstance(value, (tuple, list, set, frozenset, dict)) and len(value) <= _MOST_ITEMS:
        items = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
        return f"({','.join(_plainly(item, deep - 1) for item in items)})"
    return type(value).__name__


def _add(digest: Any, code: CodeType) -> None:
    """Add bytecode, names and constants. Line numbers are left out, so that a moved function is the same function."""
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add(digest, constant)
        else:
            digest.update(repr(constant).encode())


def _reached(function: FunctionType) -> list[Any]:
    """The functions and classes of `__main__` that a function names, captures, or has as a default of an argument."""
    found = [function.__globals__.get(name) for name in _names(function.__code__)]
    found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    found += [thing.func for thing in found if isinstance(thing, functools.partial)]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
    return [thing for thing in map(_plain, found) if _is_of_main(thing)]


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_of_main(thing: Any) -> bool:
    return isinstance(thing, (FunctionType, type)) and thing.__module__ == "__main__"


class LocalModules:
    """The user's own modules that this process has loaded, with the times of their files, and that of the packages."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        paths = sysconfig.get_paths()
        installed = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        self._foreign = tuple({*installed, roots.PACKAGE, sys.prefix})
        self._packages = paths["purelib"]  # its time changes when a package is installed or removed
        self._times[self._packages] = _time(self._packages)

    def changed(self) -> bool:
        """Whether a file has changed since this process first saw it, or packages were installed or removed."""
        time = _time(self._packages)
        changed = time != self._times[self._packages]
        self._times[self._packages] = time
        for module in list(sys.modules.values()):
            path = self._file(module)
            if path is None:
                continue
            try:
                time = os.stat(path).st_mtime
            except OSError:
                continue  # the file is gone: the loaded module stays in use
            changed |= self._times.setdefault(path, time) != time
            self._times[path] = time
        return changed

    def _file(self, module: ModuleType | None) -> str | None:
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not path.endswith(".py") or path.startswith(self._foreign):
            return None
        return path


def _time(path: str) -> float:
    """When a file or folder was changed; 0 if it is not there."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


# ---- hashing without OpenSSL: `hashlib` has the same function, and loads that library, 3 MB and some milliseconds


try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
