"""What a training function of torch calls: its devices, models and data loaders. Names as in Ray Train.

`prepare_model` wraps a model so that all ranks train the same one; with `prepare_data_loader` each rank reads its own
part of the data, with batches on its device.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from nbaccel.train.session import current
from nbaccel.train.torch.config import choose, loaded_torch, needs_torch

try:
    import torch
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        DistributedSampler,
        IterableDataset,
        RandomSampler,
        SequentialSampler,
        default_collate,
    )
except ModuleNotFoundError as error:
    raise needs_torch(error) from None

_FULLY_SHARD = {
    "mesh",
    "reshard_after_forward",
    "shard_placement_fn",
    "mp_policy",
    "offload_policy",
    "ignored_params",
}


def get_devices() -> list[torch.device]:
    """The torch devices of this worker, in the order of their numbers; [cpu] without one.

    A worker sees the GPUs of all workers of its node, as in Ray Train: the second of two workers with two GPUs each has
    cuda:2 and cuda:3. Raises SessionMisuseError outside of a training function, and RuntimeError for a real device that
    this build of torch cannot use.
    """
    session = current("get_device")
    torch = loaded_torch()
    if not session.seat.facts.node_id:  # num_workers=0: whatever this process can use
        return [torch.device("cuda:0" if torch.cuda.is_available() else "cpu")]
    return [torch.device(name) for name in choose(torch, session.seat, session.device_kinds).devices]


def get_device() -> torch.device:
    """The first of `get_devices()`.

    >>> def train_func():
    ...     train.report({"device": str(train.torch.get_device())})
    >>> TorchTrainer(train_func).fit().metrics
    {'device': 'cpu'}
    """
    return get_devices()[0]


def prepare_model(
    model: torch.nn.Module,
    move_to_device: bool | torch.device = True,
    parallel_strategy: str | None = "ddp",
    parallel_strategy_kwargs: dict[str, Any] | None = None,
) -> torch.nn.Module:
    """Move the model to this worker's device and wrap it for training by several ranks.

    move_to_device            True, False, or a device
    parallel_strategy         "ddp": DistributedDataParallel. "fsdp": `fully_shard`, or FullyShardedDataParallel if the
                              kwargs are arguments of that. None: no wrapper
    parallel_strategy_kwargs  arguments of the wrapper

    A single rank needs no wrapper and gets none. Raises ValueError for another strategy (Ray Train takes it for FSDP),
    RuntimeError for "fsdp" on CPUs.
    """
    if parallel_strategy not in ("ddp", "fsdp", None):
        raise ValueError(f"prepare_model(parallel_strategy={parallel_strategy!r}) must be 'ddp', 'fsdp' or None.")
    session = current("prepare_model")
    device = move_to_device if isinstance(move_to_device, torch.device) else get_device()
    if move_to_device:
        model = model.to(device)
    if parallel_strategy is None or session.seat.world_size <= 1:
        return model
    given = dict(parallel_strategy_kwargs or {})
    return _data_parallel(model, device, given) if parallel_strategy == "ddp" else _sharded(model, device, given)


def _data_parallel(model: torch.nn.Module, device: torch.device, given: dict[str, Any]) -> torch.nn.Module:
    if device.type != "cpu":
        given = {"device_ids": [device], "output_device": device, **given}
    wrapped: torch.nn.Module = torch.nn.parallel.DistributedDataParallel(model, **given)
    return wrapped


def _sharded(model: torch.nn.Module, device: torch.device, given: dict[str, Any]) -> torch.nn.Module:
    if device.type == "cpu":
        raise RuntimeError(
            "prepare_model(parallel_strategy='fsdp') needs an accelerator, and this worker computes on the CPU. Use "
            "'ddp' here."
        )
    from torch.distributed import fsdp

    if hasattr(fsdp, "fully_shard") and set(given) <= _FULLY_SHARD:
        fsdp.fully_shard(model, **given)  # in place
        return model
    wrapped: torch.nn.Module = fsdp.FullyShardedDataParallel(model, **given)
    return wrapped


# ---- enable_reproducibility: makes a repeated run give the same numbers, as far as torch guarantees it


def enable_reproducibility(seed: int = 0) -> None:
    """Seed torch, random and (if it is loaded) numpy, and allow only torch's deterministic algorithms.

    Call it first in the training function. Training becomes slower, and an operation without a deterministic algorithm
    raises an error.
    """
    torch = loaded_torch()
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS needs this to be deterministic; see torch's notes
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


# ---- prepare_data_loader: each rank reads its own part of the data, and its batches are on its device


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

    add_dist_sampler  with several ranks, use a DistributedSampler. It shuffles if the loader did, anew in each pass
                      unless you call `loader.sampler.set_epoch(epoch)` yourself
    move_to_device    True, False, or a device
    auto_transfer     on CUDA, pin memory and copy without blocking

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


# ---- batches of a dataset's rows as tensors


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
