"""How Ray's workers read and write values, beside what Ray does.

Small arrays inside other objects are copied where they arrive, so that they may be written to. Ray's memory is
read-only for all who read it, and a copy of everything would double the memory of large values: those stay read-only.
An array that is itself the value is left to Ray.

What lives in the user's `__main__` and Ray sends by value has its slots and its source, and is found by its name. The
local engine has the same in wire/main_module.py. Ray's own pickler is given these steps, in a driver whose workers all
have this package, and in those workers; a Ray that the program has started itself is left alone.

The error of a returned value that cannot be pickled names the part to blame, on nodes that have nbaccel.
"""

from __future__ import annotations

import linecache
import sys
import threading
from contextlib import suppress
from functools import _lru_cache_wrapper, lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any

import ray
from ray.cloudpickle import cloudpickle as theirs

import nbaccel_in_ray
from nbaccel_in_ray import class_parts, internals
from nbaccel_in_ray.internals import serialization

LARGEST_COPIED_BYTES = 1 << 20  # of one array
HINT = (
    "An array that is itself the result of get() or an argument of a task is read-only, and so is a large one inside "
    "another object: all processes of a node read the same memory. Copy it before you write: array = array.copy()."
)
_EXTENSIONS = frozenset(b"\xc7\xc8\xc9\xd4\xd5\xd6\xd7\xd8")  # of msgpack: a value that is no container of msgpack's
_rays_split = serialization.split_buffer
_rays_unpack = serialization.unpack_pickle5_buffers
_now = threading.local()


def copy_small(wanted: bool) -> None:
    """Have this process copy small arrays inside the objects that it reads, or leave them as Ray does."""
    serialization.split_buffer = _split if wanted else _rays_split
    serialization.unpack_pickle5_buffers = _unpacked if wanted else _rays_unpack


def add_hint(error: BaseException) -> None:
    """Have numpy's error about a read-only array say what to do."""
    if isinstance(error, ValueError) and error.args and "read-only" in str(error.args[0]):
        with suppress(Exception):  # the class may refuse notes
            error.add_note(HINT)


def _split(data: Any) -> tuple[Any, Any]:
    """The containers of a value, which msgpack has written, and a pickled list of the objects inside."""
    containers, pickled = _rays_split(data)
    _now.is_one_object = memoryview(containers)[0] in _EXTENSIONS
    return containers, pickled


def _unpacked(data: Any) -> tuple[Any, list[Any]]:
    pickled, buffers = _rays_unpack(data)
    is_one_object, _now.is_one_object = getattr(_now, "is_one_object", False), False
    if not buffers or (is_one_object and _is_an_array(pickled)):
        return pickled, buffers
    return pickled, [bytearray(each) if memoryview(each).nbytes <= LARGEST_COPIED_BYTES else each for each in buffers]


def _is_an_array(pickled: Any) -> bool:
    """Whether a pickled list begins with the function that makes an array, after 11 bytes of framing."""
    start = bytes(memoryview(pickled)[11:64])
    return start.startswith(b"]\x94\x8c") and b"_frombuffer" in start


SerializationContext: Any = internals.serialization.SerializationContext
_rays_serialize = SerializationContext.serialize


def name_culprits() -> None:
    """In a worker. What its code submits or puts is looked at where that is done."""
    if internals.is_worker():
        SerializationContext.serialize = _serialize


def _serialize(context: Any, value: Any) -> Any:
    try:
        return _rays_serialize(context, value)
    except Exception as error:  # whatever the value's pickling raises
        room = nbaccel_in_ray.nbaccel_here() if _is_called_by_ray(sys._getframe().f_back) else None
        if room is not None:
            room.refuse_returned(ray.get_runtime_context().get_task_name(), value, error)
        raise


def _is_called_by_ray(frame: FrameType | None) -> bool:
    """Whether the frames are those of a worker's loop alone: Ray's compiled code has none of its own."""
    return frame is None or frame.f_code.co_name == "main_loop"


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
        arguments = class_parts.with_slots(arguments, thing)
    if thing.__module__ != _MAIN:
        return class_parts.by_name(thing) or (build, arguments, *between, restore)
    return build, arguments, *between, _RESTORES.get(restore, restore)


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
