"""Training on a real NVIDIA GPU: which device and backend a rank gets, and what NCCL says to two ranks on one card."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.accelerators import Device

pytestmark = pytest.mark.gpu


@pytest.fixture
def torch_session(gpus: list[Device]) -> Iterator[Any]:
    """nbaccel with the real devices, where torch can use them."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    import nbaccel

    nbaccel.init(num_cpus=4)
    yield nbaccel
    nbaccel.shutdown()


def sum_of_ranks(config: dict[str, Any]) -> None:
    """Add 1 + the rank of all workers up, on the device of each, and report what connected them."""
    import torch

    from nbaccel import train
    from nbaccel.train.torch import get_device

    here = get_device()
    total = torch.tensor([1.0 + train.get_context().get_world_rank()], device=here)
    torch.distributed.all_reduce(total)
    train.report(
        {
            "sum": float(total.cpu()),
            "device": str(here),
            "backend": torch.distributed.get_backend(),
            "visible": os.environ["CUDA_VISIBLE_DEVICES"],
        }
    )


def fit(tmp_path: Path, workers: int, share: float, backend: str | None = None) -> dict[str, Any]:
    from nbaccel.train import RunConfig, ScalingConfig
    from nbaccel.train.torch import TorchConfig, TorchTrainer

    scaling = ScalingConfig(num_workers=workers, use_gpu=True, resources_per_worker={"CPU": 1, "GPU": share})
    trainer = TorchTrainer(
        sum_of_ranks,
        scaling_config=scaling,
        run_config=RunConfig(storage_path=str(tmp_path)),
        torch_config=TorchConfig(backend=backend, timeout_s=120),
    )
    metrics: dict[str, Any] = trainer.fit().metrics
    return metrics


def test_a_rank_with_a_card_of_its_own_is_connected_by_nccl(torch_session: Any, tmp_path: Path) -> None:
    told = fit(tmp_path, workers=1, share=1)
    assert (told["sum"], told["device"], told["backend"]) == (1.0, "cuda:0", "nccl")


def test_two_ranks_on_one_card_are_connected_by_gloo(torch_session: Any, tmp_path: Path) -> None:
    told = fit(tmp_path, workers=2, share=0.5)
    assert (told["sum"], told["device"], told["backend"]) == (3.0, "cuda:0", "gloo")


def test_nccl_itself_refuses_two_ranks_on_one_card(torch_session: Any, tmp_path: Path) -> None:
    """The reason for the rule: where NCCL is asked for in spite of it, its own error is what the run fails with."""
    from nbaccel.train import TrainingFailedError

    with pytest.raises(TrainingFailedError, match=r"(?i)duplicate GPU|nccl"):
        fit(tmp_path, workers=2, share=0.5, backend="nccl")


def test_ranks_on_whole_cards_are_connected_by_nccl(torch_session: Any, gpus: list[Device], tmp_path: Path) -> None:
    if len(gpus) < 2:
        pytest.skip("this machine has one GPU")
    told = fit(tmp_path, workers=2, share=1)
    assert (told["sum"], told["device"], told["backend"]) == (3.0, "cuda:0", "nccl")
    assert told["visible"].count(",") == 1, "each rank sees the devices of the whole worker group"
