"""The programs of the guide on scaling a training run, as they were written for Ray Train."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import train

CONFIGS = {
    "eight": ("ScalingConfig(num_workers=8)", {"CPU": 8}),
    "eight with a GPU": ("ScalingConfig(num_workers=8, use_gpu=True)", {"GPU": 8}),
    "a type": ('ScalingConfig(num_workers=1, use_gpu=True, accelerator_type="A100")', {"GPU": 1}),
    "two GPUs each": (
        'ScalingConfig(num_workers=8, resources_per_worker={"CPU": 4, "GPU": 2}, use_gpu=True)',
        {"CPU": 32, "GPU": 16},
    ),
    "half a GPU each": (
        'ScalingConfig(num_workers=8, resources_per_worker={"CPU": 4, "GPU": 0.5}, use_gpu=True)',
        {"CPU": 32, "GPU": 4},
    ),
    "no trainer resources": (
        'ScalingConfig(num_workers=4, resources_per_worker={"CPU": 2}, trainer_resources={"CPU": 0})',
        {"CPU": 8},
    ),
}

ONE_GPU = """
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, get_device

def train_func():
    assert torch.cuda.is_available()
    device = get_device()
    assert device == torch.device("cuda:0")

trainer = TorchTrainer(train_func, scaling_config=ScalingConfig(num_workers=1, use_gpu=True))
result = trainer.fit()
"""

TWO_GPUS = """
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, get_device, get_devices

def train_func():
    assert torch.cuda.is_available()
    device = get_device()
    devices = get_devices()
    assert device == torch.device("cuda:0")
    assert devices == [torch.device("cuda:0"), torch.device("cuda:1")]

trainer = TorchTrainer(
    train_func,
    scaling_config=ScalingConfig(num_workers=1, use_gpu=True, resources_per_worker={"GPU": 2})
)
result = trainer.fit()
"""

BACKEND = """
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, get_device

def train_func():
    import torch
    return torch.distributed.get_backend(), str(get_device())

trainer = TorchTrainer(
    train_func,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    torch_config=TorchConfig(backend="gloo"),
)
result = trainer.fit()
"""

INTERFACE = """
import os
import ray
from ray.train import ScalingConfig
from ray.train.data_parallel_trainer import DataParallelTrainer

runtime_env = {"env_vars": {"NCCL_SOCKET_IFNAME": "ens5"}}
ray.init(runtime_env=runtime_env, num_cpus=2)

def train_func():
    ray.train.report({"interface": os.environ["NCCL_SOCKET_IFNAME"]})

trainer = DataParallelTrainer(train_func, scaling_config=ScalingConfig(num_workers=2))
print(trainer.fit().metrics)
"""


def changed(program: str) -> str:
    """With nbaccel in Ray's place."""
    return program.replace("import ray\n", "import nbaccel as ray\n").replace("from ray.", "from nbaccel.")


def in_a_cell(program: str) -> dict[str, Any]:
    """Run it as a notebook runs its cells; its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(changed(program), names)
    return names


def size() -> tuple[int, dict[str, Any]]:
    """Of the worker group, and what this worker holds; it needs no torch."""
    return train.get_context().get_world_size(), nbaccel.get_runtime_context().get_assigned_resources()


def interface(config: dict[str, str]) -> None:
    """Notes the interface that NCCL is told of in this rank; it needs no torch."""
    rank = train.get_context().get_world_rank()
    Path(config["folder"], str(rank)).write_text(os.environ["NCCL_SOCKET_IFNAME"])
