"""Batches of a dataset's rows as tensors."""

from __future__ import annotations

from typing import Any

from nbaccel.train.torch.choosing import get_device, needs_torch
from nbaccel.train.torch.loading import moved

try:
    import torch
    from torch.utils.data import default_collate
except ModuleNotFoundError as error:
    raise needs_torch(error) from None


def as_tensors(batch: Any, dtypes: Any = None) -> Any:
    """A dict of columns, an array or a list of items as tensors. Raises TypeError for texts, which have no tensor."""
    if isinstance(batch, dict):
        return {
            name: _tensor(column, dtypes.get(name) if isinstance(dtypes, dict) else dtypes)
            for name, column in batch.items()
        }
    if isinstance(batch, list) and batch and isinstance(batch[0], (tuple, list, torch.Tensor)):
        return default_collate(batch)
    return _tensor(batch, None if isinstance(dtypes, dict) else dtypes)


def _tensor(column: Any, dtype: Any) -> torch.Tensor:
    if isinstance(column, torch.Tensor):
        return column.to(dtype) if dtype is not None else column
    if isinstance(column, list):
        found = default_collate(column)
        if not isinstance(found, torch.Tensor):
            kind = type(column[0]).__name__
            raise TypeError(f"Items of the type {kind} have no tensor: pass iter_torch_batches(collate_fn=...).")
        return found.to(dtype) if dtype is not None else found
    if getattr(column, "flags", None) is not None and not column.flags.writeable:
        column = column.copy()  # torch writes into what it is given
    return torch.as_tensor(column, dtype=dtype)


def on_device(batch: Any, device: Any) -> Any:
    """The batch on a device; "auto" is this worker's."""
    return moved(batch, get_device() if device == "auto" else torch.device(device), False)
