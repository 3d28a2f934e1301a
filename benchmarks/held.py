"""The values that people hold, 100 MB each: how each is made, and how a reader knows that it is what was sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SIZE_BYTES = 100_000_000
_COLUMNS = 8
_LAYERS = 20


@dataclass(frozen=True, slots=True)
class Kind:
    """`ends` gives both ends of a value, the first of which `make` was told. `reads_in_place`: get makes no copy."""

    title: str
    make: Callable[[int], Any]
    ends: Callable[[Any], tuple[Any, Any]]
    reads_in_place: bool = True


def _numpy(first: int) -> Any:
    import numpy

    array = numpy.arange(SIZE_BYTES // 8, dtype="float64")
    array[0] = first
    return array


def _torch(first: int) -> Any:
    import torch

    return torch.from_numpy(_numpy(first))


def _half(first: int) -> Any:
    import torch

    tensor = torch.ones(SIZE_BYTES // 4, dtype=torch.bfloat16)
    tensor[0] = first
    return tensor


def _state(first: int) -> Any:
    import torch

    return {f"layer {number}": torch.full((SIZE_BYTES // 4 // _LAYERS,), float(first)) for number in range(_LAYERS)}


def _columns(first: int) -> dict[str, Any]:
    parts = _numpy(first).reshape(_COLUMNS, -1)
    parts[:, 0] = first
    return {f"column {number}": part for number, part in enumerate(parts)}


def _pandas(first: int) -> Any:
    import pandas

    return pandas.DataFrame(_columns(first))


def _arrow(first: int) -> Any:
    import pyarrow

    return pyarrow.table(_columns(first))


def _polars(first: int) -> Any:
    import polars

    return polars.DataFrame(_columns(first))


def _bytes(first: int) -> bytes:
    return bytes([first]) + bytes(SIZE_BYTES - 1)


def _text(first: int) -> str:
    return chr(first) + "x" * (SIZE_BYTES - 1)


KINDS = {
    "numpy": Kind("numpy array", _numpy, lambda array: (int(array[0]), int(array[-1]))),
    "torch": Kind("torch tensor", _torch, lambda tensor: (int(tensor[0]), int(tensor[-1]))),
    "half": Kind("torch tensor, bfloat16, 50 MB", _half, lambda tensor: (int(tensor[0]), int(tensor[-1]))),
    "state": Kind("dict of 20 torch tensors", _state, lambda state: (int(state["layer 0"][0]), len(state))),
    "pandas": Kind("pandas, 8 columns", _pandas, lambda frame: (int(frame.iat[0, 0]), len(frame))),
    "arrow": Kind("Arrow table, 8 columns", _arrow, lambda table: (int(table[0][0].as_py()), len(table))),
    "polars": Kind("polars, 8 columns", _polars, lambda frame: (int(frame[0, 0]), len(frame))),
    "view": Kind("memoryview", lambda first: memoryview(_bytes(first)), lambda view: (view[0], len(view))),
    "bytes": Kind("bytes", _bytes, lambda data: (data[0], len(data)), reads_in_place=False),
    "bytearray": Kind(
        "bytearray", lambda first: bytearray(_bytes(first)), lambda data: (data[0], len(data)), reads_in_place=False
    ),
    "text": Kind("str", _text, lambda text: (ord(text[0]), len(text)), reads_in_place=False),
}
