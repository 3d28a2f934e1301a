"""prepare_model: moves a model to its device and wraps it, so that all ranks train the same model."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from nbaccel.train.session import current
from nbaccel.train.torch.choosing import get_device, loaded_torch, needs_torch

try:
    import torch
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


def prepare_model(
    model: torch.nn.Module,
    move_to_device: bool | torch.device = True,
    parallel_strategy: str | None = "ddp",
    parallel_strategy_kwargs: dict[str, Any] | None = None,
) -> torch.nn.Module:
    """Move the model to this worker's device and wrap it for training by several ranks.

    move_to_device            True, False, or a device
    parallel_strategy         "ddp": DistributedDataParallel. "fsdp": `fully_shard`, or FullyShardedDataParallel where
                              the kwargs are of that one. None: not wrapped
    parallel_strategy_kwargs  for the wrapper

    One rank alone is not wrapped. Raises ValueError for another strategy (Ray Train takes any for FSDP), RuntimeError
    for "fsdp" on CPUs, as Ray Train.
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
    """Seed torch, random and (if it is loaded) numpy, and let torch use only algorithms that are deterministic.

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
