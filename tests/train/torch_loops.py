"""Training functions with torch, for real workers."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from nbaccel import train
from nbaccel.train import Checkpoint
from nbaccel.train.torch import enable_reproducibility, get_device, get_devices, prepare_data_loader, prepare_model

TORCHRUN = [
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK"),
    *("ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "ACCELERATE_TORCH_DEVICE"),
    *("TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID"),
    "TORCHELASTIC_USE_AGENT_STORE",
]


def data() -> TensorDataset:
    """Forty rows with a line in them."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(40, 3, generator=generator)
    return TensorDataset(inputs, inputs @ torch.tensor([[1.0], [2.0], [3.0]]))


def losses(model: torch.nn.Module, batches: Any, epochs: int, mean: Any) -> list[float]:
    """Train; the loss of each epoch, over all ranks."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for _ in range(epochs):
        total = torch.zeros(())
        for inputs, wanted in batches:
            loss = torch.nn.functional.mse_loss(model(inputs), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = total + loss.detach() / len(batches)
        found.append(float(mean(total)))
    return found


def new_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Linear(3, 1)


def alone() -> list[float]:
    """What one process computes from all the data."""
    return losses(new_model(), DataLoader(data(), batch_size=40), 4, lambda total: total)


def together(config: dict[str, Any]) -> dict[str, Any]:
    """The same over all ranks: each has its part of every batch."""
    size = train.get_context().get_world_size()

    def mean(total: torch.Tensor) -> torch.Tensor:
        torch.distributed.all_reduce(total)
        return total / size

    model = prepare_model(new_model())
    loader = prepare_data_loader(DataLoader(data(), batch_size=40 // size))
    found = losses(model, loader, 4, mean)
    state = {"model": model.state_dict()} if train.get_context().get_world_rank() == 0 else None
    for loss in found:
        train.report({"loss": loss}, checkpoint=Checkpoint.save(state) if state else None)
    return {
        "losses": found,
        "kind": type(model).__name__,
        "backend": torch.distributed.get_backend(),
        "threads": torch.get_num_threads(),
        "variables": {name: os.environ.get(name) for name in TORCHRUN},
        "device": str(get_device()),
        "devices": list(map(str, get_devices())),
    }


def epochs_of_a_loader() -> list[Any]:
    """Which rows this rank sees in two passes, and what is left of the loader's options."""
    rows = TensorDataset(torch.arange(8))
    given = DataLoader(rows, batch_size=2, shuffle=True, drop_last=True, num_workers=1, prefetch_factor=3)
    loader = prepare_data_loader(given)
    passes = [sorted(int(row) for (batch,) in loader for row in batch) for _ in range(2)]
    orders = [[int(row) for (batch,) in loader for row in batch] for _ in range(2)]
    return [passes, orders[0] != orders[1], (loader.drop_last, loader.num_workers, loader.prefetch_factor), len(loader)]


def plain_torch_distributed() -> int:
    """A program that was written for torchrun: it makes its group from the variables alone."""
    torch.distributed.init_process_group("gloo")
    total = torch.tensor(torch.distributed.get_rank() + 1)
    torch.distributed.all_reduce(total)
    return int(total)


def closes_the_group_first() -> int:
    torch.distributed.destroy_process_group()
    return plain_torch_distributed()


def one_closes_its_group() -> list[int]:
    """Programs for torchrun end so, though not always in every rank."""
    ranks = [torch.distributed.get_rank(), torch.distributed.get_world_size()]
    torch.distributed.barrier()
    if ranks[0] == 0:
        torch.distributed.destroy_process_group()
    return ranks


def seeded() -> list[float]:
    enable_reproducibility(7)
    return torch.rand(3).tolist()


def one_fails_in_step_two(config: dict[str, Any]) -> None:
    """The others wait in a collective operation for the one that fails."""
    for step in range(3):
        if step == 2 and train.get_context().get_world_rank() == 1:
            raise ValueError("expected 32 rows, got 31")
        train.report({"step": step})
        torch.distributed.barrier()


def nobody_comes(config: dict[str, Any]) -> None:
    """Rank 0 waits for rank 1, which waits for a file."""
    import time
    from pathlib import Path

    rank = train.get_context().get_world_rank()
    Path(config["folder"], f"there-{rank}").touch()
    if rank == 0:
        torch.distributed.all_reduce(torch.zeros(1))
    while True:
        time.sleep(3600)
