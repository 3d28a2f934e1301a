"""What lives in the user's `__main__` and travels by value: its source goes along, and a worker finds it by its name.

```
  code of a cell ──► its bytes, its file's name, the cell's source (once in each pickle) ──► linecache of the reader
  class, function ─► cloudpickle's own steps ─► and in a worker: an attribute of its `__main__`
```
With the name, plain pickle works in a worker as it does in the notebook: torch.save, joblib.dump, a forked Pool. With
the source, so do inspect.getsource and torch.jit.script, and tracebacks show lines. A driver's own `__main__` is never
changed.
"""

from __future__ import annotations

import linecache
import sys
from functools import _lru_cache_wrapper, lru_cache
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle.cloudpickle as theirs

from nbaccel import class_parts

_MAIN = "__main__"
_of_driver: list[ModuleType] = []  # in a worker: the module that stands for the driver's `__main__`
_by_name = [False]
_replaced: list[ModuleType] = []  # the process's own one, whose functions still run


def stand_in_for_main() -> None:
    """Give this worker a `__main__` for what was sent by value, in the place of the program that started the worker."""
    _replaced.append(sys.modules[_MAIN])
    sys.modules[_MAIN] = ModuleType(_MAIN)
    _of_driver.append(sys.modules[_MAIN])


def stays_here(wanted: bool) -> None:
    """In the debug engine's process, which reads what it writes: functions of `__main__` are pickled by their names."""
    _by_name[0] = wanted


# ---- where it is pickled


def reduced(made: Any, thing: Any) -> Any:
    """What cloudpickle has made of a function or class, so that a worker will find the thing by its name."""
    if not isinstance(made, tuple) or len(made) != 6:
        return made
    build, arguments, *between, restore = made
    if build is theirs._make_skeleton_class:
        arguments = class_parts.with_slots(arguments, thing)
    if thing.__module__ != _MAIN:
        return class_parts.by_name(thing) or (build, arguments, *between, restore)
    if _by_name[0] and vars(sys.modules[_MAIN]).get(thing.__qualname__, made) is thing:
        return thing.__qualname__
    return build, arguments, *between, _RESTORES.get(restore, restore)


def reduced_cache(wrapper: Any) -> Any:
    """A function under functools.cache or lru_cache; results that are cached stay behind."""
    if wrapper.__module__ != _MAIN:
        return wrapper.__reduce__()
    parameters = wrapper.cache_parameters()
    return received_cache, (wrapper.__wrapped__, parameters["maxsize"], parameters["typed"])


class Sources:
    """The sources that one pickle carries: a text that is met again is the same object, and pickle writes it once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, filename: str) -> str:
        """What linecache has of a file that is none, such as a cell; "" for real files."""
        if filename not in self._texts:
            entry: Any = linecache.cache.get(filename, ())
            is_only_here = len(entry) == 4 and entry[1] is None  # it has no time of change
            self._texts[filename] = "".join(entry[2]) if is_only_here else ""
        return self._texts[filename]


# ---- where it arrives


def received_source(filename: str, source: str) -> None:
    """Keep the source of a cell for inspect, tracebacks, warnings and debuggers."""
    if source and linecache.cache.get(filename, (0,))[0] != len(source):
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def received_function(function: Any, state: Any) -> None:
    """Unpickle what a function holds, as cloudpickle does."""
    theirs._function_setstate(function, state)
    found_by_name(function)


def received_class(kind: type, state: Any) -> Any:
    """Unpickle the members of a class, as cloudpickle does."""
    made = theirs._class_setstate(kind, state)
    found_by_name(kind)
    return made


def received_cache(function: Any, maxsize: int | None, typed: bool) -> Any:
    """Unpickle a function with an empty cache."""
    made = lru_cache(maxsize=maxsize, typed=typed)(function)
    found_by_name(made)
    return made


_RESTORES = {theirs._function_setstate: received_function, theirs._class_setstate: received_class}


def found_by_name(thing: Any) -> None:
    """In a worker: `__main__` gives this function or class for its name, unless a decorator's result has the name."""
    if not _of_driver:
        return
    names = vars(_of_driver[0])
    name = thing.__qualname__
    within = getattr(names.get(name), "__wrapped__", None)
    if name.isidentifier() and (within is None or within is not getattr(thing, "__wrapped__", thing)):
        names[name] = thing  # a cached function that calls itself is made twice, and the first one is kept


def forget(code: Any) -> None:
    """In a worker: `__main__` has no longer what only came with this function or class."""
    if not _of_driver:
        return
    names, reached = vars(_of_driver[0]), _globals_of(code)
    for name, thing in list(names.items()):
        if thing is code or (reached is not None and _globals_of(thing) is reached):
            names.pop(name, None)


def _globals_of(code: Any) -> dict[str, Any] | None:
    """The dict of globals of a function or of a class's methods: cloudpickle makes one for all of a pickle."""
    code = getattr(code, "__wrapped__", code) if isinstance(code, _lru_cache_wrapper) else code
    members = [code] if isinstance(code, FunctionType) else list(vars(code).values()) if isinstance(code, type) else []
    return next((each.__globals__ for each in members if isinstance(each, FunctionType)), None)


def name_again(code: Any) -> None:
    """In a worker: have `__main__` give what this function or class reaches, since other code has the same names."""
    for thing in [*(_globals_of(code) or {}).values(), code]:
        if isinstance(thing, (FunctionType, type, _lru_cache_wrapper)) and thing.__module__ == _MAIN:
            found_by_name(thing)


REDUCERS = {_lru_cache_wrapper: reduced_cache}
