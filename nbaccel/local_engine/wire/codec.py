"""Values to bytes and back: cloudpickle with out-of-band buffers, and a note of every ref met on the way.

```
  payload = 0 | pickle                                   no buffers
          = 1 | n (u32) | sizes (n+1 × u64) | pickle | pad to 64 | buffer | pad to 64 | …
          = 2 | the same; a size's highest bit says that its buffer is to be writable
```
The same bytes lie inline in a frame or in the arena; buffers are read in place, without a copy. An array that is itself
the value, or an argument, is read-only, as in Ray. Tensors, and arrays inside other objects, are writable, so each
reader of kind 2 has memory of its own: a copy of what is inline, and a private mapping of what is in the arena, whose
pages are copied as they are written.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any, NoReturn

from nbaccel.handles import unpicklable
from nbaccel.local_engine.memory import Range
from nbaccel.local_engine.wire.pickling import LARGE_BYTES, PROTOCOL, large_text, pickled

PLAIN, BUFFERS, PRIVATE = b"\x00", b"\x01", b"\x02"
ALIGN = 64
ALIGNED_BYTES = 1 << 20  # largest payload in a message that is copied to be aligned; only debug has larger
EMPTY = b""
SHORT = 1_000  # characters
_PLAIN = 0
_COPIED = 4_096  # bytes of a payload: to copy so few is cheaper than to look at them
_U32 = Struct("<I")
_WRITABLE = 1 << 63
_SIMPLE = frozenset({type(None), bool, int, float, str, bytes, complex})
_LOCAL = threading.local()
NONE = PLAIN + pickle.dumps(None, PROTOCOL)


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
    try:  # `try` begins before the first change, so that an interrupt cannot leave ours in place
        _LOCAL.refs = refs
        yield
    finally:
        _LOCAL.refs = before


def dump_simple(args: tuple[Any, ...]) -> bytes | None:
    """Arguments of a call, if they are a few simple values and small; None if they are to be looked at closely."""
    if not args:
        return EMPTY
    for value in args:
        kind = type(value)
        if kind not in _SIMPLE or ((kind is str or kind is bytes) and len(value) > SHORT):
            return None
    body = pickle.dumps((args, {}), PROTOCOL)
    return PLAIN + body if len(body) < LARGE_BYTES else None


def _is_simple(value: Any, depth: int = 3) -> bool:
    """Whether plain pickle gives what cloudpickle would (it is ten times faster), and nothing in it is large."""
    kind = type(value)
    if kind in _SIMPLE:
        return (kind is not bytes and kind is not str) or len(value) < LARGE_BYTES
    if depth == 0:
        return False
    if kind is tuple or kind is list:
        return len(value) <= 64 and all(_is_simple(item, depth - 1) for item in value)
    if kind is dict:
        return len(value) <= 64 and all(type(k) in _SIMPLE and _is_simple(v, depth - 1) for k, v in value.items())
    return False


class PayloadPieces:
    """A payload in pieces, so that large buffers are written where they belong without being joined first."""

    __slots__ = ("_pieces", "size")

    def __init__(self, pieces: list[Any], size: int) -> None:
        self._pieces = pieces
        self.size = size

    def pieces(self) -> list[Any]:
        """Buffers, one after the other; what lies on a device is copied to the host by the first call."""
        return [piece.view() if hasattr(piece, "view") else piece for piece in self._pieces]

    def joined(self) -> bytes:
        return b"".join(self.pieces())


def dump(value: Any, refs: list[bytes]) -> bytes | PayloadPieces:
    """Serialise a value; `refs` gets the ids of the refs inside it.

    Raises whatever the value's own pickling raises.
    """
    if value is None:
        return NONE
    kind = type(value)
    if kind in _SIMPLE:
        if kind is str and len(value) >= LARGE_BYTES:
            return _without_buffers(large_text(value))
        if kind is not bytes or len(value) < LARGE_BYTES:
            body = pickle.dumps(value, PROTOCOL)
            return PLAIN + body if len(body) < LARGE_BYTES else _without_buffers([body])
    if _is_simple(value):  # so there are no refs in it
        return _without_buffers([pickle.dumps(value, PROTOCOL)])
    with collecting(refs):
        if _is_array(value) and _lies_in_one_piece(value):
            buffers: list[pickle.PickleBuffer] = []
            array = pickle.dumps(value, PROTOCOL, buffer_callback=buffers.append)
            return _with_buffers([array], [(buffer.raw(), False) for buffer in buffers])
        parts = pickled(value)
    return _with_buffers(parts.chunks, parts.pieces) if parts.pieces else _without_buffers(parts.chunks)


class _ReadOnly:
    """An array that is itself an argument."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return read_only, (self._array,)


def read_only(array: Any) -> Any:
    """Unpickle an array that is itself an argument."""
    array.flags.writeable = False
    return array


def dump_arguments(plain: Sequence[Any], named: dict[str, Any], refs: list[bytes]) -> bytes | PayloadPieces:
    """Serialise the arguments of a call."""
    return dump(([_marked(value) for value in plain], {name: _marked(value) for name, value in named.items()}), refs)


def _marked(value: Any) -> Any:
    return _ReadOnly(value) if _is_array(value) and _lies_in_one_piece(value) else value


def _is_array(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ == "ndarray" and kind.__module__ == "numpy"


def dump_call(args: Sequence[Any]) -> bytes | None:
    """The payload of a call with these arguments and no others, if each of them is a small value without parts."""
    for value in args:
        kind = type(value)
        if kind is str or kind is bytes:
            if len(value) >= LARGE_BYTES:
                return None
        elif kind not in _SIMPLE:
            return None
    body = pickle.dumps((list(args), {}), PROTOCOL)
    return PLAIN + body if len(body) < LARGE_BYTES else None


def _lies_in_one_piece(array: Any) -> bool:
    return bool(array.flags.forc) and not array.dtype.hasobject


def _without_buffers(chunks: list[Any]) -> bytes | PayloadPieces:
    size = 1 + sum(map(len, chunks))
    return b"".join([PLAIN, *chunks]) if size <= LARGE_BYTES else PayloadPieces([PLAIN, *chunks], size)


def _with_buffers(chunks: list[Any], buffers: list[tuple[Any, bool]]) -> PayloadPieces:
    sizes = [sum(map(len, chunks)), *(piece.nbytes | (_WRITABLE if writable else 0) for piece, writable in buffers)]
    kind = PRIVATE if any(writable for _piece, writable in buffers) else BUFFERS
    head = kind + _U32.pack(len(buffers)) + Struct(f"<{len(sizes)}Q").pack(*sizes)
    pieces: list[Any] = [head, *chunks]
    size = len(head) + sizes[0]
    for piece, _writable in buffers:
        gap = -size % ALIGN
        if gap:
            pieces.append(bytes(gap))
        pieces.append(piece)
        size += gap + piece.nbytes
    return PayloadPieces(pieces, size)


def load(payload: Any) -> Any:
    """The value of a payload: bytes, or a range of the arena, whose buffers stay in place.

    Raises whatever the value's own unpickling raises, and RaySystemError where a range cannot be mapped.
    """
    if type(payload) is bytes and payload[0] == _PLAIN:  # the common case
        return pickle.loads(payload[1:] if len(payload) < _COPIED else memoryview(payload)[1:])
    if type(payload) is Range:
        private = payload.first() == PRIVATE
        return _loaded(payload.private() if private else payload.shared(), is_own=private)
    return _loaded_inline(payload)


def _loaded_inline(payload: bytes, *, all_writable: bool = False) -> Any:
    """Small arrays begin at a multiple of ALIGN, as those in the arena do: `bytes` never do, so they are copied."""
    view = memoryview(payload)
    if view[:1] == PLAIN or view.nbytes > ALIGNED_BYTES:
        return _loaded(view, is_own=False, all_writable=all_writable)
    room = bytearray(view.nbytes + ALIGN)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(room)) % ALIGN
    place = memoryview(room)[start : start + view.nbytes]
    place[:] = view
    return _loaded(place, is_own=True, all_writable=all_writable)


def _loaded(view: memoryview, *, is_own: bool, all_writable: bool = False) -> Any:
    """`is_own`: nobody else looks at this memory, so what is to be writable may be just that."""
    if view[:1] == PLAIN:
        return pickle.loads(view[1:])
    count = _U32.unpack_from(view, 1)[0]
    sizes = Struct(f"<{count + 1}Q").unpack_from(view, 5)
    start = 5 + 8 * (count + 1)
    body = view[start : start + sizes[0]]
    start += sizes[0]
    buffers = []
    for size in sizes[1:]:
        start += -start % ALIGN
        length = size & ~_WRITABLE
        buffer = view[start : start + length]
        start += length
        if all_writable or size & _WRITABLE:
            buffers.append(buffer if is_own else memoryview(bytearray(buffer)))
        else:
            buffers.append(buffer.toreadonly())
    return pickle.loads(body, buffers=buffers)


def dump_code(code: Any) -> bytes | PayloadPieces:
    """Serialise a function, a class or types, by value where a worker could not import them."""
    parts = pickled(code)
    return _with_buffers(parts.chunks, parts.pieces) if parts.pieces else _without_buffers(parts.chunks)


def code_bytes(code: Any) -> bytes:
    dumped = dump_code(code)
    return dumped if isinstance(dumped, bytes) else dumped.joined()


def load_code(blob: bytes) -> Any:
    """What dump_code has written. Arrays that a function captured are its own, and so writable."""
    return _loaded_inline(blob, all_writable=True)


def refuse_to_serialize(what: str, value: Any, error: Exception, advice: str = unpicklable.ADVICE) -> NoReturn:
    """Raise the error again, naming the part of `value` to blame."""
    unpicklable.refuse(what, value, error, can_pickle, advice)


def can_pickle(value: Any) -> bool:
    try:
        with collecting([]):
            pickled(value)
    except Exception:  # a user's __reduce__ may raise anything; the error is the answer
        return False
    return True
