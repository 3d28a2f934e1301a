"""prepare_data_loader: each rank reads its own part of the data, and its batches are on its device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from nbaccel.train.session import current
from nbaccel.train.torch.choosing import get_device, needs_torch

try:
    import torch
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        DistributedSampler,
        IterableDataset,
        RandomSampler,
        SequentialSampler,
    )
except ModuleNotFoundError as error:
    raise needs_torch(error) from None

# All that a DataLoader is made with, but for what the sampler replaces.
_FIELDS = (
    "num_workers",
    "collate_fn",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
    "prefetch_factor",
    "persistent_workers",
    "pin_memory_device",
    "in_order",
)


def prepare_data_loader(
    data_loader: DataLoader[Any],
    add_dist_sampler: bool = True,
    move_to_device: bool | torch.device = True,
    auto_transfer: bool = True,
) -> DataLoader[Any]:
    """Return a loader for this rank's part of the data, with batches on this worker's device.

    add_dist_sampler  with several ranks, a DistributedSampler; the data are shuffled if they were. Each pass over the
                      loader is shuffled anew, unless you call `loader.sampler.set_epoch(epoch)` yourself
    move_to_device    True, False, or a device
    auto_transfer     memory is pinned and copies do not block, on CUDA

    All other options of the loader are kept (Ray Train drops some). Raises ValueError for your own batch sampler,
    because its batches cannot be divided among ranks.

    >>> def train_func():
    ...     from torch.utils.data import DataLoader
    ...     loader = train.torch.prepare_data_loader(DataLoader(list(range(8)), batch_size=2))
    ...     train.report({"batches": len(list(loader))})
    >>> TorchTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'batches': 2}
    """
    session = current("prepare_data_loader")
    device = move_to_device if isinstance(move_to_device, torch.device) else get_device() if move_to_device else None
    divides = (
        add_dist_sampler
        and session.seat.world_size > 1
        and not isinstance(data_loader.dataset, IterableDataset)
        and not isinstance(data_loader.sampler, DistributedSampler)
    )
    options = {name: getattr(data_loader, name) for name in _FIELDS if hasattr(data_loader, name)}
    if device is not None and device.type == "cuda" and auto_transfer:
        options["pin_memory"] = True
    if not divides:
        data_loader.pin_memory = options["pin_memory"]
        return _Prepared(data_loader, device, auto_transfer)
    sampler = _Sampler(
        data_loader.dataset, session.seat.world_size, session.seat.rank, shuffle=_is_shuffled(data_loader)
    )
    return _Prepared(
        DataLoader(data_loader.dataset, sampler=sampler, **_batches(data_loader), **options), device, auto_transfer
    )


def _is_shuffled(loader: DataLoader[Any]) -> bool:
    if not isinstance(loader.sampler, (RandomSampler, SequentialSampler)):
        warnings.warn(
            f"prepare_data_loader() replaces the sampler {type(loader.sampler).__name__} by a DistributedSampler that "
            "shuffles. Divide the data yourself and pass add_dist_sampler=False to keep it.",
            UserWarning,
            stacklevel=3,
        )
    return not isinstance(loader.sampler, SequentialSampler)


def _batches(loader: DataLoader[Any]) -> dict[str, Any]:
    if loader.batch_sampler is None:
        return {"batch_size": None}
    if type(loader.batch_sampler) is not BatchSampler:
        raise ValueError(
            f"prepare_data_loader() cannot divide a batch sampler of your own, {type(loader.batch_sampler).__name__}: "
            "let it read its rank from get_context().get_world_rank(), and pass add_dist_sampler=False."
        )
    return {"batch_size": loader.batch_sampler.batch_size, "drop_last": loader.batch_sampler.drop_last}


class _Sampler(DistributedSampler[Any]):
    """A sampler that counts its passes until the program sets the epoch."""

    def __init__(self, dataset: Any, num_replicas: int, rank: int, *, shuffle: bool) -> None:
        super().__init__(dataset, num_replicas, rank, shuffle=shuffle)
        self._passes = 0
        self._is_told = False

    def set_epoch(self, epoch: int) -> None:
        self._is_told = True
        super().set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        if not self._is_told:
            self.epoch = self._passes
            self._passes += 1
        return super().__iter__()


class _Prepared(DataLoader[Any]):
    """The loader itself, with its own way to iterate."""

    def __init__(self, loader: DataLoader[Any], device: torch.device | None, auto_transfer: bool) -> None:
        self.__dict__.update(loader.__dict__)
        self.__dict__["_to"] = (device, auto_transfer)

    def __iter__(self) -> Any:
        device, blocks_not = self.__dict__["_to"]
        batches = super().__iter__()
        return batches if device is None else (moved(batch, device, blocks_not) for batch in batches)


def moved(batch: Any, device: torch.device, non_blocking: bool) -> Any:
    """The batch, with its tensors on the device; containers keep their type."""
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, Mapping):
        values = {key: moved(value, device, non_blocking) for key, value in batch.items()}
        return values if type(batch) is dict else type(batch)(values)  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(moved(value, device, non_blocking) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(moved(value, device, non_blocking) for value in batch)
    return batch
