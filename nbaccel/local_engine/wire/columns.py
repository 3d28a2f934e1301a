"""Arrow's tables and polars' frames on their way through the store.

Arrow pickles its buffers out of band by itself, but of a slice it sends all that the slice is cut from; and polars
copies a frame into one string of bytes. So a slice is written anew, as a stream of Arrow's own format, and a large
frame goes as the Arrow table that it is inside. For that polars loads pyarrow; a frame below a megabyte, for which it
would not pay, and types that Arrow does not have go polars' own way.
"""

from __future__ import annotations

import importlib.util
import sys
from pickle import PickleBuffer
from typing import Any

LARGE_FRAME_BYTES = 1 << 20
SLACK_BYTES = 1 << 16  # a table whose buffers exceed its visible rows by more is copied


def reducers() -> dict[type, Any]:
    """For a pickler's dispatch table: what is loaded of the two."""
    table: dict[type, Any] = {}
    arrow, polars = sys.modules.get("pyarrow"), sys.modules.get("polars")
    for name in ("Table", "RecordBatch", "ChunkedArray"):
        if hasattr(arrow, name):
            table[getattr(arrow, name)] = _reduced_arrow
    if hasattr(polars, "DataFrame") and hasattr(polars, "Series") and importlib.util.find_spec("pyarrow"):
        assert polars is not None
        table[polars.DataFrame] = _reduced_frame
        table[polars.Series] = _reduced_series
    return table


# ---- Arrow


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


# ---- polars


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
