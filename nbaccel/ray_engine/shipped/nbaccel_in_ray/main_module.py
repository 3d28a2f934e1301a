"""What lives in the user's `__main__` and Ray sends by value: with its slots and its source, and found by its name.

The local engine has the same in wire/main_module.py. Ray's own pickler is given these steps, in a driver whose workers
all have this package, and in those workers; a Ray that the program has started itself is left alone.
"""

from __future__ import annotations

import linecache
import sys
from functools import _lru_cache_wrapper, lru_cache
from types import CodeType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from ray.cloudpickle import cloudpickle as theirs

from nbaccel_in_ray import internals

_MAIN = "__main__"
_sends = [False]
_of_driver: list[ModuleType] = []  # in a worker: the module that stands for the driver's `__main__`
_replaced: list[ModuleType] = []  # the process's own one, whose functions still run
_texts: dict[str, tuple[object, str]] = {}  # file -> (what linecache has, the same as one text)
_rays_override = theirs.Pickler.reducer_override
_rays_code = theirs._code_reduce


def send(wanted: bool) -> None:
    """Have this process send what is in `__main__` so, or as Ray does."""
    _sends[0] = wanted
    theirs.Pickler.reducer_override = _override if wanted else _rays_override
    theirs.Pickler._dispatch_table[CodeType] = _reduced_code if wanted else _rays_code
    if wanted:
        theirs.Pickler._dispatch_table[_lru_cache_wrapper] = _reduced_cache
    else:
        theirs.Pickler._dispatch_table.pop(_lru_cache_wrapper, None)


# ---- where it is pickled


def _override(pickler: Any, thing: Any) -> Any:
    made = _rays_override(pickler, thing)
    if not isinstance(made, tuple) or len(made) != 6:
        return made
    build, arguments, *between, restore = made
    if build is theirs._make_skeleton_class:
        arguments = _with_slots(arguments, thing)
    restore = _RESTORES.get(restore, restore) if thing.__module__ == _MAIN else restore
    return build, arguments, *between, restore


def _with_slots(arguments: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    if "__slots__" not in kind.__dict__:
        return arguments
    constructor, name, bases, keywords, *others = arguments
    slots = [each for each, member in kind.__dict__.items() if _is_slot(each, member)]
    return constructor, name, bases, {**keywords, "__slots__": tuple("".join(each) for each in slots)}, *others


def _is_slot(name: str, member: Any) -> bool:
    is_made_by_slots = name in ("__dict__", "__weakref__") and isinstance(member, GetSetDescriptorType)
    return isinstance(member, MemberDescriptorType) or is_made_by_slots


def _reduced_code(code: CodeType) -> Any:
    build, parts = _rays_code(code)
    source = _source_of(code.co_filename)
    return (received_code, (parts, "".join(code.co_filename), source)) if source else (build, parts)


def _source_of(filename: str) -> str:
    """What linecache has of a file that is none, such as a cell. It is one object, so that a pickle has it once."""
    entry: Any = linecache.cache.get(filename, ())
    if len(entry) != 4 or entry[1] is not None:  # a real file has a time of change
        return ""
    known = _texts.get(filename)
    if known is None or known[0] is not entry[2]:
        known = _texts[filename] = entry[2], "".join(entry[2])
    return known[1]


def _reduced_cache(wrapper: Any) -> Any:
    if wrapper.__module__ != _MAIN:
        return wrapper.__reduce__()
    parameters = wrapper.cache_parameters()
    return received_cache, (wrapper.__wrapped__, parameters["maxsize"], parameters["typed"])


# ---- where it arrives


def received_code(parts: tuple[Any, ...], filename: str, source: str) -> CodeType:
    """Unpickle a function's code, and keep the source of its cell for inspect, tracebacks and debuggers."""
    if linecache.cache.get(filename, (0,))[0] != len(source):
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return CodeType(*parts)


def received_function(function: Any, state: Any) -> None:
    """Unpickle what a function holds, as Ray does."""
    theirs._function_setstate(function, state)
    _found_by_name(function)


def received_class(kind: type, state: Any) -> Any:
    """Unpickle the members of a class, as Ray does."""
    made = theirs._class_setstate(kind, state)
    _found_by_name(kind)
    return made


def received_cache(function: Any, maxsize: int | None, typed: bool) -> Any:
    """Unpickle a function with an empty cache."""
    made = lru_cache(maxsize=maxsize, typed=typed)(function)
    _found_by_name(made)
    return made


_RESTORES = {theirs._function_setstate: received_function, theirs._class_setstate: received_class}


def _found_by_name(thing: Any) -> None:
    """In a worker: have `__main__` give this thing for its name, unless a decorator's result has the name."""
    if not internals.is_worker():
        return
    if not _of_driver:
        _replaced.append(sys.modules[_MAIN])
        _of_driver.append(ModuleType(_MAIN))
        sys.modules[_MAIN] = _of_driver[0]
        send(True)
    names, name = vars(_of_driver[0]), thing.__qualname__
    within = getattr(names.get(name), "__wrapped__", None)
    if name.isidentifier() and (within is None or within is not getattr(thing, "__wrapped__", thing)):
        names[name] = thing


def name_again(code: Any) -> None:
    """In a worker: have `__main__` give what this function reaches, since other functions have the same names."""
    if not _of_driver or code is _named_last[0]:
        return
    _named_last[0] = code
    for thing in [*getattr(code, "__globals__", {}).values(), code]:
        if isinstance(thing, (type(name_again), type, _lru_cache_wrapper)) and thing.__module__ == _MAIN:
            _found_by_name(thing)


_named_last: list[Any] = [None]
