"""Small arrays inside other objects are copied where they arrive, so that they may be written to.

Ray's memory is read-only for all who read it, and a copy of everything would double the memory of large values: those
stay read-only. An array that is itself the value is left to Ray.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

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
