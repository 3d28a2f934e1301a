"""The programs of the guide on scaling a training run on a Ray cluster: only their import lines are changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nbaccel
from nbaccel.train import Result, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.train import cuda_stand_in_on_import
from tests.train.scaling_guide import BACKEND, CONFIGS, ONE_GPU, TWO_GPUS, in_a_cell, interface, size

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cluster that counts 16 GPUs. A worker that imports torch finds CUDA; each worker has an interface for NCCL."""
    for name in ("ray", "torch"):
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("NBACCEL_STORAGE", str(tmp_path_factory.mktemp("runs")))
        nbaccel.init(
            engine="ray",
            num_cpus=32,
            num_gpus=16,
            resources={"accelerator_type:A100": 1},
            runtime_env={
                "env_vars": {"NCCL_SOCKET_IFNAME": "ens5"},
                "worker_process_setup_hook": cuda_stand_in_on_import.install,
            },
        )
        yield
        nbaccel.shutdown()


@pytest.mark.filterwarnings("ignore:ScalingConfig.trainer_resources:DeprecationWarning")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_worker_group_of_each_config_holds_what_the_guide_says(name: str, sixteen: None) -> None:
    text, total = CONFIGS[name]
    config = in_a_cell(f"from ray.train import ScalingConfig\nscaling_config = {text}")["scaling_config"]
    workers, held = DataParallelTrainer(size, scaling_config=config).fit().return_value
    assert workers == config.num_workers
    assert {key: held[key] * workers for key in total} == total


@pytest.mark.parametrize("program", [ONE_GPU, TWO_GPUS], ids=["one GPU", "two GPUs"])
def test_the_guides_asserts_on_devices_hold(program: str, sixteen: None) -> None:
    result = in_a_cell(program)["result"]
    assert isinstance(result, Result) and result.error is None


def test_a_backend_that_was_named_connects_the_ranks(sixteen: None) -> None:
    assert in_a_cell(BACKEND)["result"].return_value == ("gloo", "cuda:0")


def test_an_interface_for_nccl_arrives_in_every_worker(sixteen: None, tmp_path: Path) -> None:
    two = ScalingConfig(num_workers=2)
    DataParallelTrainer(interface, train_loop_config={"folder": str(tmp_path)}, scaling_config=two).fit()
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["ens5", "ens5"]
