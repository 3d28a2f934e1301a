"""Pickling a value without copying what is large in it: what numpy, torch, Arrow and others hold stays where it is.

```
  value ──► cloudpickle ──┬──► chunks    the pickle; bytes of 64 KiB and more are among them as they are
                          └──► pieces    buffers out of band, to be read in place
```
Libraries are known by their modules, which are looked up among the loaded ones for each value: nothing is imported
here, and a library that is loaded later counts from then on. What a user has registered for a class comes first.
"""

from __future__ import annotations

import copyreg
import ctypes
import pickle
import sys
from functools import partial
from pickle import PickleBuffer
from struct import Struct
from types import CodeType, SimpleNamespace
from typing import Any

import cloudpickle

from nbaccel.exceptions import RayTaskError
from nbaccel.local_engine.memory import view_of
from nbaccel.local_engine.wire import main_module

PROTOCOL = 5
LARGE_BYTES = 1 << 16  # pickle passes bytes of this size on without a copy
_U64 = Struct("<Q")
_TEXT_FOLLOWS = pickle.PROTO + bytes([PROTOCOL]) + pickle.BINUNICODE8


class Pickled:
    """A value as a pickle in chunks, and its buffers with whether each is to be writable where it arrives."""

    __slots__ = ("chunks", "pieces")

    def __init__(self, chunks: list[Any], pieces: list[tuple[Any, bool]]) -> None:
        self.chunks = chunks
        self.pieces = pieces


def pickled(value: Any) -> Pickled:
    """Raises whatever the value's own pickling raises."""
    chunks: list[Any] = []
    buffers: list[pickle.PickleBuffer] = []
    tensors = _outgoing_tensors()
    _Pickler(chunks.append, buffers.append, _reducers(tensors)).dump(value)
    spans = tensors.by_buffer if tensors is not None else {}
    pieces = [(spans[id(buffer)].piece(), True) if id(buffer) in spans else _piece(buffer.raw()) for buffer in buffers]
    return Pickled(chunks, pieces)


def _piece(view: memoryview) -> tuple[Any, bool]:
    return view, not view.readonly


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Cloudpickle's, with reducers of our own."""

    def __init__(self, write: Any, keep: Any, reducers: dict[type, Any]) -> None:
        self.dispatch_table = reducers  # before the base class starts: pickle reads the table once
        super().__init__(SimpleNamespace(write=write), PROTOCOL, buffer_callback=keep)

    def reducer_override(self, thing: Any) -> Any:
        """Called for nearly every object; only functions and classes are not left to their own reducers."""
        made = super().reducer_override(thing)
        return made if made is NotImplemented else main_module.reduced(made, thing)


def _outgoing_tensors() -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "UntypedStorage") or not hasattr(torch, "_utils"):
        return None  # torch is not loaded, or only in part: no tensor exists
    from nbaccel.local_engine.wire import tensors

    return tensors.Outgoing(torch)


def _reducers(tensors: Any) -> dict[type, Any]:
    ours: dict[type, Any] = tensors.reducers() if tensors is not None else {}
    numpy: Any = sys.modules.get("numpy")
    if hasattr(numpy, "ndarray"):  # else it is not loaded, or only in part: no array exists
        ours[numpy.ndarray] = _reduced_array
    if "pyarrow" in sys.modules or "polars" in sys.modules:
        ours.update(_table_reducers())
    users = copyreg.dispatch_table
    table = {**ours, **main_module.REDUCERS, **users, **cloudpickle.Pickler._dispatch_table}
    table[memoryview] = users.get(memoryview, _reduced_view)  # cloudpickle would copy it into bytes
    table[CodeType] = partial(_reduced_code, main_module.Sources())  # cloudpickle 3.1.3 would leave out the file
    _leave_to_themselves(table)
    return table


def _leave_to_themselves(table: dict[type, Any]) -> None:
    """Errors of tasks say how they are pickled, with their chains: no reducer of all exceptions knows better."""
    for_all = table.get(BaseException)
    if for_all is not None:  # tblib's, which Dask installs
        kinds: list[type] = [RayTaskError, *RayTaskError.__subclasses__()]
        for kind in kinds:
            if table.get(kind) is for_all:
                del table[kind]


# ---- code


def _reduced_code(sources: main_module.Sources, code: CodeType) -> tuple[Any, ...]:
    _, parts = cloudpickle.Pickler._dispatch_table[CodeType](code)
    filename = "".join(code.co_filename)  # a text of its own, so that equal code has equal bytes
    return received_code, (parts, filename, sources.of(code.co_filename))


def received_code(parts: tuple[Any, ...], filename: str, source: str) -> CodeType:
    """Unpickle a function's code with the file or cell that it is from: tracebacks show its lines by this name."""
    main_module.received_source(filename, source)
    return CodeType(*parts).replace(co_filename=filename)


# ---- arrays inside other objects


def _reduced_array(array: Any) -> Any:
    """Writable where it arrives, also if it is read-only here because it came from the store."""
    function, arguments, *rest = array.__reduce_ex__(PROTOCOL)
    if arguments and type(arguments[0]) is pickle.PickleBuffer and not array.flags.writeable:
        arguments = pickle.PickleBuffer(view_of(array.ctypes.data, array.nbytes, array)), *arguments[1:]
    return function, arguments, *rest


# ---- bytes of another object


def _reduced_view(view: memoryview) -> tuple[Any, ...]:
    if not view.c_contiguous:
        return received_view, (pickle.PickleBuffer(view.tobytes()), view.format, view.shape)
    return received_view, (pickle.PickleBuffer(view), view.format, view.shape)


def received_view(data: Any, format: str, shape: tuple[int, ...]) -> memoryview:
    """Unpickle a memoryview; where the items' format is none of Python's own, their bytes."""
    view = memoryview(data).toreadonly().cast("B")
    try:
        return view.cast(format, shape) if view.nbytes else view.cast(format)  # type: ignore[call-overload, no-any-return]
    except ValueError:
        return view


# ---- text


def large_text(text: str) -> list[Any]:
    """The pickle of a long string in pieces, of which the text itself is not copied where it is ASCII."""
    data: Any = _text_in_place(text) if text.isascii() else text.encode("utf-8", "surrogatepass")
    return [_TEXT_FOLLOWS + _U64.pack(len(data)), data, pickle.STOP]


def _text_in_place(text: str) -> memoryview:
    """The characters of an ASCII string, where Python keeps them."""
    size = ctypes.c_ssize_t()
    address = _as_utf8(text, ctypes.byref(size))
    return view_of(address, size.value, text).toreadonly()


_as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
_as_utf8.restype = ctypes.c_void_p
_as_utf8.argtypes = [ctypes.py_object, ctypes.c_void_p]

# ---- Arrow's tables and polars' frames
#
# Arrow pickles its buffers out of band by itself, but of a slice it sends all that the slice is cut from; and polars
# copies a frame into one string of bytes. So a slice is written anew, as a stream of Arrow's own format, and a large
# frame goes as the Arrow table that it is inside. For that polars loads pyarrow; a frame below a megabyte, for which it
# would not pay, and types that Arrow does not have go polars' own way.

LARGE_FRAME_BYTES = 1 << 20
SLACK_BYTES = 1 << 16  # a table whose buffers exceed its visible rows by more is copied


def _table_reducers() -> dict[type, Any]:
    """For a pickler's dispatch table: what is loaded of the two."""
    from importlib.util import find_spec

    table: dict[type, Any] = {}
    arrow, polars = sys.modules.get("pyarrow"), sys.modules.get("polars")
    for name in ("Table", "RecordBatch", "ChunkedArray"):
        if hasattr(arrow, name):
            table[getattr(arrow, name)] = _reduced_arrow
    if hasattr(polars, "DataFrame") and hasattr(polars, "Series") and find_spec("pyarrow"):
        assert polars is not None
        table[polars.DataFrame] = _reduced_frame
        table[polars.Series] = _reduced_series
    return table


def _reduced_arrow(data: Any) -> Any:
    if data.get_total_buffer_size() <= 2 * data.nbytes + SLACK_BYTES:
        return data.__reduce_ex__(5)
    import pyarrow

    table = pyarrow.table([data], names=[""]) if isinstance(data, pyarrow.ChunkedArray) else data
    out = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write(table)
    return received_stream, (type(data).__name__, PickleBuffer(out.getvalue()))


def received_stream(kind: str, data: Any) -> Any:
    """Unpickle a slice: its columns lie where the stream was written."""
    import pyarrow

    with pyarrow.ipc.open_stream(pyarrow.py_buffer(data)) as reader:
        if kind == "RecordBatch":
            return reader.read_next_batch()
        table = reader.read_all()
    return table.column(0) if kind == "ChunkedArray" else table


def _reduced_frame(frame: Any) -> Any:
    table = _as_arrow(frame)
    return frame.__reduce_ex__(5) if table is None else (received_frame, (_Inside(table),))


def _reduced_series(series: Any) -> Any:
    table = _as_arrow(series.to_frame())
    return series.__reduce_ex__(5) if table is None else (received_series, (_Inside(table),))


class _Inside:
    """A frame's table: pyarrow may have been loaded in this moment, when the pickler's table had been made."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __reduce__(self) -> Any:
        return _reduced_arrow(self._table)


def _as_arrow(frame: Any) -> Any:
    """The frame as an Arrow table without a copy; None where it is small, or Arrow has no such type."""
    if frame.estimated_size() < LARGE_FRAME_BYTES:
        return None
    polars = sys.modules["polars"]
    try:
        table = frame.to_arrow(compat_level=polars.CompatLevel.newest())
        return table if polars.from_arrow(table).schema == frame.schema else None  # a view only
    except Exception:  # pyarrow and polars raise different errors for an unknown type
        return None


def received_frame(table: Any) -> Any:
    import polars

    return polars.from_arrow(table, rechunk=False)


def received_series(table: Any) -> Any:
    import polars

    frame: Any = polars.from_arrow(table, rechunk=False)
    return frame.to_series(0)
