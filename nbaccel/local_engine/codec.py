"""Values to bytes and back: cloudpickle with out-of-band buffers, and a note of every ref met on the way.

```
  payload = 0 | pickle                                   no buffers
          = 1 | n (u32) | sizes (n+1 × u64) | pickle | pad to 64 | buffer | pad to 64 | …
```
The same bytes lie inline in a frame or in the arena; buffers are read in place, without a copy.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any

import cloudpickle

PLAIN, BUFFERS = b"\x00", b"\x01"
ALIGN = 64
EMPTY = b""
_U32 = Struct("<I")
_SIMPLE = frozenset({type(None), bool, int, float, str, bytes, complex})
_LOCAL = threading.local()
_PROTOCOL = 5
NONE = PLAIN + pickle.dumps(None, _PROTOCOL)


def note_ref(id: bytes) -> bool:
    """Called by a ref (or actor handle) while it is pickled; False when nobody is collecting."""
    refs = getattr(_LOCAL, "refs", None)
    if refs is None:
        return False
    refs.append(id)
    return True


@contextmanager
def collecting(refs: list[bytes]) -> Iterator[None]:
    """Note the refs that are pickled inside this block, by this thread."""
    before = getattr(_LOCAL, "refs", None)
    try:  # before the first change: an interrupt in between must not leave ours in place
        _LOCAL.refs = refs
        yield
    finally:
        _LOCAL.refs = before


def _is_simple(value: Any, depth: int = 3) -> bool:
    """Whether plain pickle gives what cloudpickle would (it is ten times faster)."""
    kind = type(value)
    if kind in _SIMPLE:
        return True
    if depth == 0:
        return False
    if kind is tuple or kind is list:
        return len(value) <= 64 and all(_is_simple(item, depth - 1) for item in value)
    if kind is dict:
        return len(value) <= 64 and all(type(k) in _SIMPLE and _is_simple(v, depth - 1) for k, v in value.items())
    return False


def _pickled(value: Any, buffers: list[pickle.PickleBuffer]) -> bytes | memoryview:
    if _is_simple(value):
        return pickle.dumps(value, _PROTOCOL)
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and not value.dtype.hasobject:
        return pickle.dumps(value, _PROTOCOL, buffer_callback=buffers.append)
    out = io.BytesIO()
    cloudpickle.Pickler(out, _PROTOCOL, buffer_callback=buffers.append).dump(value)
    return out.getbuffer()


class Parts:
    """A payload in pieces, so that large buffers are written where they belong without being joined first."""

    __slots__ = ("pieces", "size")

    def __init__(self, pieces: list[Any], size: int) -> None:
        self.pieces = pieces
        self.size = size

    def joined(self) -> bytes:
        return b"".join(self.pieces)


def dump(value: Any, refs: list[bytes]) -> bytes | Parts:
    """Serialise a value; `refs` gets the ids of the refs inside it.

    Raises whatever the value's own pickling raises.
    """
    if value is None:
        return NONE
    buffers: list[pickle.PickleBuffer] = []
    if type(value) in _SIMPLE:
        body: Any = pickle.dumps(value, _PROTOCOL)
    else:
        with collecting(refs):
            body = _pickled(value, buffers)
    if not buffers:
        return PLAIN + body if len(body) < 65536 else Parts([PLAIN, body], len(body) + 1)
    return _with_buffers(body, [buffer.raw() for buffer in buffers])


def _with_buffers(body: Any, raws: list[memoryview]) -> Parts:
    sizes = [len(body), *(raw.nbytes for raw in raws)]
    head = BUFFERS + _U32.pack(len(raws)) + Struct(f"<{len(sizes)}Q").pack(*sizes)
    pieces: list[Any] = [head, body]
    size = len(head) + len(body)
    for raw in raws:
        gap = -size % ALIGN
        if gap:
            pieces.append(bytes(gap))
        pieces.append(raw)
        size += gap + raw.nbytes
    return Parts(pieces, size)


def load(payload: Any) -> Any:
    """The value of a payload (bytes or a memoryview of the arena, whose buffers stay in place)."""
    if payload[:1] == PLAIN:
        return pickle.loads(memoryview(payload)[1:])
    view = memoryview(payload)
    count = _U32.unpack_from(view, 1)[0]
    sizes = Struct(f"<{count + 1}Q").unpack_from(view, 5)
    start = 5 + 8 * (count + 1)
    body = view[start : start + sizes[0]]
    start += sizes[0]
    buffers = []
    for size in sizes[1:]:
        start += -start % ALIGN
        buffers.append(view[start : start + size])
        start += size
    return pickle.loads(body, buffers=[buffer.toreadonly() for buffer in buffers])


def load_code(blob: bytes) -> Any:
    """The function, class or types that dump_code (or cloudpickle) wrote."""
    return pickle.loads(blob)


def dump_code(code: Any) -> bytes:
    """Serialise a function or class, by value where a worker could not import it."""
    out = io.BytesIO()
    cloudpickle.Pickler(out, _PROTOCOL).dump(code)
    return out.getvalue()


def find_unpicklable(value: Any, name: str = "it") -> str:
    """Name the innermost part that cannot be pickled, as a path: "data['lock'] (a lock)"."""
    path, culprit = _search(value, name, set(), 4)
    return f"{path} ({type(culprit).__module__}.{type(culprit).__qualname__})"


def _search(value: Any, path: str, seen: set[int], depth: int) -> tuple[str, Any]:
    if depth == 0 or id(value) in seen:
        return path, value
    seen.add(id(value))
    for part, label in _parts_of(value, path):
        if not can_pickle(part):
            return _search(part, label, seen, depth - 1)
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
    return f"{label}, a {type(part).__name__}"


def can_pickle(value: Any) -> bool:
    try:
        with collecting([]):
            dump_code(value)
    except Exception:  # whatever a user's __reduce__ raises: that is the answer
        return False
    return True
