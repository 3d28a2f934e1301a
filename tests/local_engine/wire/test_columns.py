"""Frames of pandas, Arrow's tables and polars' frames: equal where they arrive, and read where they were written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import nbaccel
from nbaccel.local_engine.wire import codec
from tests.census import Place
from tests.local_engine import holding_tensors

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")

ROWS = 100_000
COLUMNS = {f"column {number}": numpy.arange(ROWS) * (number + 0.5) for number in range(4)}
MADE = {"pandas": pandas.DataFrame, "pyarrow": pyarrow.table, "polars": polars.DataFrame}


def addresses(frame: Any) -> Iterator[int]:
    """Where the columns' values lie."""
    if isinstance(frame, pandas.DataFrame):
        yield from (frame[name].to_numpy().ctypes.data for name in frame.columns)
        return
    table = frame if isinstance(frame, pyarrow.Table) else frame.to_arrow()
    for column in table.columns:
        yield from (chunk.buffers()[-1].address for chunk in column.chunks)


def equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one.equals(other))


def payload(value: Any) -> bytes:
    dumped = codec.dump(value, [])
    return dumped if isinstance(dumped, bytes) else dumped.joined()


@pytest.mark.parametrize("library", MADE)
def test_a_frame_is_written_from_where_it_is_and_read_where_it_was_written(library: str) -> None:
    frame = MADE[library](COLUMNS)
    sent = [piece for piece in codec.dump([frame], []).pieces() if len(piece) >= ROWS * 8]
    there = [numpy.frombuffer(piece, dtype="u1") for piece in sent]
    assert sum(map(len, there)) == ROWS * 8 * 4
    assert all(any(len(part) + part.ctypes.data > at >= part.ctypes.data for part in there) for at in addresses(frame))
    received = payload([frame])
    mapping = memoryview(bytearray(received))  # as a private one of the arena is
    (back,) = codec._loaded(mapping, is_own=True)
    start = numpy.frombuffer(mapping, dtype="u1").ctypes.data
    assert all(start < at < start + len(received) for at in addresses(back))
    assert equal(back, frame)


@pytest.mark.parametrize("library", MADE)
def test_a_frame_goes_through_the_store_and_through_tasks(cluster: Place, library: str) -> None:
    frame = MADE[library](COLUMNS)
    back = nbaccel.get(nbaccel.put({"frame": frame}))
    assert equal(back["frame"], frame)
    assert equal(nbaccel.get(holding_tensors.same.remote(frame)), frame)


def test_a_slice_sends_its_own_rows_only() -> None:
    table, frame = pyarrow.table(COLUMNS), polars.DataFrame(COLUMNS | {"large": numpy.zeros(ROWS)})
    words = pyarrow.chunked_array([[f"word {number}" for number in range(20_000)]])
    for whole in (table, table.to_batches()[0], words, frame):
        part = whole.slice(5_000, 1_000)
        assert len(payload(part)) < 60_000
        assert equal(codec.load(payload(part)), part)
    part = frame.slice(60_000, 40_000)  # large enough to go as Arrow's
    assert len(payload(part)) < 1_700_000
    assert equal(codec.load(payload(part)), part)


def test_tables_of_every_kind_of_column_come_back_equal() -> None:
    table = pyarrow.table(
        {
            "text": ["a", None, "ccc"],
            "list": [[1], [], None],
            "struct": [{"x": 1}, {"x": None}, None],
            "dictionary": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
            "time": pyarrow.array([1, 2, None], pyarrow.timestamp("us", "UTC")),
        },
        metadata={"whose": "the user's"},
    )
    for value in (table, table.slice(1, 1), table.to_batches()[0], table["text"], table["list"][1:], table["text"][0]):
        assert equal(codec.load(payload(value)), value)
    assert codec.load(payload(table)).schema.metadata == {b"whose": b"the user's"}


def test_polars_types_that_arrow_has_not_go_polars_own_way() -> None:
    many = 200_000
    columns = {
        "wide": polars.Series([2**100, -1] * (many // 2), dtype=polars.Int128),
        "few": polars.Series(["a", "b"] * (many // 2), dtype=polars.Categorical),
        "fixed": polars.Series(["a", "b"] * (many // 2), dtype=polars.Enum(["a", "b"])),
        "text": polars.Series(["a", None] * (many // 2)),
        "truth": polars.Series([True, None] * (many // 2)),
    }
    for name, column in columns.items():
        for value in (column, polars.DataFrame({name: column}), polars.DataFrame({name: column[:3]})):
            back = codec.load(payload(value))
            assert equal(back, value)
            assert (back if isinstance(back, polars.Series) else back.to_series()).dtype == column.dtype


def test_a_frame_of_text_and_numbers_with_an_index_comes_back_from_pandas() -> None:
    frame = pandas.DataFrame({"n": range(20_000), "t": ["text"] * 20_000, "o": [{"an": "object"}] * 20_000})
    frame = frame.set_index("n")
    pandas.testing.assert_frame_equal(codec.load(payload(frame)), frame)
    pandas.testing.assert_frame_equal(codec.load(payload(frame[100:110])), frame[100:110])


def test_pyarrow_is_not_loaded_for_a_small_frame() -> None:
    program = (
        "import sys, polars\n"
        "from nbaccel.local_engine.wire import codec\n"
        "codec.load(codec.dump([polars.DataFrame({'a': range(1_000)})], []))\n"
        "print('pyarrow' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
