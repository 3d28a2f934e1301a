"""The programs of the guide on scaling a training run, written for Ray Train: only their import lines are changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import train
from nbaccel.train import Result
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.census import Place
from tests.heads import assert_idle, inside

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


@pytest.fixture(scope="module")
def sixteen() -> Iterator[Place]:
    """A machine that seems to have 16 GPUs, to torch as well."""
    pytest.importorskip("torch")
    place = Place()
    with inside(place):
        preload = ["torch", "tests.train.cuda_stand_in"]
        nbaccel.init(num_cpus=32, simulate="nvidia:16xA100", preload=preload)
        yield place
        assert_idle()


@pytest.fixture(autouse=True)
def runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's programs name no folder."""
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path))


def size() -> tuple[int, dict[str, Any]]:
    """Of the gang, and what this worker holds; it needs no torch."""
    return train.get_context().get_world_size(), nbaccel.get_runtime_context().get_assigned_resources()


@pytest.mark.filterwarnings("ignore:ScalingConfig.trainer_resources:DeprecationWarning")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_gang_of_each_config_holds_what_the_guide_says(name: str, sixteen: Place) -> None:
    text, total = CONFIGS[name]
    config = in_a_cell(f"from ray.train import ScalingConfig\nscaling_config = {text}")["scaling_config"]
    assert {key: amount for key, amount in config.total_resources.items() if ":" not in key} == total
    workers, held = DataParallelTrainer(size, scaling_config=config).fit().return_value
    assert workers == config.num_workers
    assert {key: held[key] * workers for key in total} == total


@pytest.mark.parametrize("program", [ONE_GPU, TWO_GPUS], ids=["one GPU", "two GPUs"])
def test_the_guides_asserts_on_devices_hold(program: str, sixteen: Place) -> None:
    result = in_a_cell(program)["result"]
    assert isinstance(result, Result) and result.error is None


def test_a_backend_that_was_named_connects_the_ranks(sixteen: Place) -> None:
    assert in_a_cell(BACKEND)["result"].return_value == ("gloo", "cuda:0")


def test_an_interface_for_nccl_arrives_in_every_worker(tmp_path: Path) -> None:
    place = Place()
    try:
        done = place.run(changed(INTERFACE), NBACCEL_STORAGE=str(tmp_path))
        assert done.stdout == "{'interface': 'ens5'}\n", done.stderr
        place.assert_nothing_left()
    finally:
        place.clear()
