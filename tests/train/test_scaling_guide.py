"""The programs of the guide on scaling a training run, written for Ray Train: only their import lines are changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import nbaccel
from nbaccel.train import Result
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.train.scaling_guide import BACKEND, CONFIGS, INTERFACE, ONE_GPU, TWO_GPUS, changed, in_a_cell, size


@pytest.fixture(scope="module")
def sixteen(patient: None) -> Iterator[Place]:
    """A machine that seems to have 16 GPUs, to torch as well."""
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


@pytest.mark.filterwarnings("ignore:ScalingConfig.trainer_resources:DeprecationWarning")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_worker_group_of_each_config_holds_what_the_guide_says(name: str, sixteen: Place) -> None:
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
