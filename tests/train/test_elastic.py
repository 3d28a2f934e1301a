"""Elastic worker groups: as many workers as fit, when the run begins and whenever its worker group starts again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import train
from nbaccel.train import FailureConfig, RunConfig, ScalingConfig, worker_group
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.worker_group import as_many_as_fit
from nbaccel.util.placement_group import placement_group, remove_placement_group
from tests.rig import wait_until
from tests.train import loops

Kept = Callable[..., RunConfig]
ONE_TO_FOUR = ScalingConfig(num_workers=(1, 4))


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({}, 3),
        ({"placement_strategy": "STRICT_PACK"}, 2),
        ({"placement_strategy": "STRICT_SPREAD"}, 2),
        ({"trainer_resources": {"CPU": 1}}, 2),
        ({"label_selector": {"zone": "b"}}, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_fits_follows_from_how_the_workers_are_placed(options: dict[str, Any], fits: int) -> None:
    nodes = [({"CPU": 1.0}, {"zone": "a"}), ({"CPU": 2.0}, {"zone": "b"}), ({"CPU": 0.0}, {"zone": "b"})]
    assert as_many_as_fit(ScalingConfig(num_workers=(1, 8), **options), nodes) == fits
    assert as_many_as_fit(ScalingConfig(num_workers=(1, 1), **options), nodes) == 1


def size_of_worker_group(config: dict[str, Any]) -> int:
    """Rank 1 of the first worker group dies; the value is the size of the worker group that goes on."""
    if train.get_context().get_world_rank() == 1 and loops.first_time(config):
        wait_until(lambda: not config["after"] or Path(config["after"]).exists(), "the moment to die")
        loops.fail("kill")
    train.collective.barrier()
    return train.get_context().get_world_size()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker group is given longer to come free: on a machine that stands still, a second is soon over."""
    monkeypatch.setattr(worker_group, "_PATIENCE", 25)


@pytest.fixture
def trainer(cluster: Any, kept: Kept, tmp_path: Path) -> Callable[..., DataParallelTrainer]:
    wait_until(lambda: nbaccel.available_resources().get("CPU") == 4, "the CPUs of the worker group before")

    def made(after: str = "", **options: Any) -> DataParallelTrainer:
        config = {"once": str(tmp_path / "once"), "after": after}
        return DataParallelTrainer(
            size_of_worker_group, train_loop_config=config, scaling_config=ONE_TO_FOUR, run_config=kept(**options)
        )

    return made


def test_a_worker_group_that_starts_again_has_the_room_of_the_one_before(
    trainer: Callable[..., DataParallelTrainer],
) -> None:
    assert trainer(failure_config=FailureConfig(max_failures=1)).fit().return_value == 4


@pytest.mark.slow
def test_a_worker_group_that_waits_shrinks_to_what_fits(
    trainer: Callable[..., DataParallelTrainer], tmp_path: Path
) -> None:
    run = trainer(after=str(tmp_path / "after"), failure_config=FailureConfig(max_failures=1)).start()
    wait_until(lambda: nbaccel.available_resources().get("CPU", 0) == 0, "the worker group")
    group = placement_group([{"CPU": 2}])  # it has its place as soon as the first worker group has gone
    try:
        (tmp_path / "after").touch()
        assert run.result(timeout=120).return_value == 2
    finally:
        remove_placement_group(group)


def test_a_worker_group_that_is_placed_while_somebody_counts_what_is_free_keeps_its_size(
    trainer: Callable[..., DataParallelTrainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "once").touch()
    other = placement_group([{"CPU": 2}])
    nbaccel.get(other.ready())
    how_many, first = worker_group.Gathering._how_many, [4]

    def counted(worker_group: worker_group.Gathering) -> int:
        if first:
            return first.pop()
        remove_placement_group(other)
        return how_many(worker_group)

    monkeypatch.setattr(worker_group.Gathering, "_how_many", counted)
    assert trainer().fit().return_value == 4


def test_a_worker_group_for_whose_fractions_there_are_too_few_devices_shrinks(
    trainer: Callable[..., DataParallelTrainer], tmp_path: Path
) -> None:
    """Three workers with 0.6 of a GPU are 1.8 of two GPUs, and yet only one of them fits on each."""
    (tmp_path / "once").touch()
    made = trainer()
    made.scaling_config = ScalingConfig(num_workers=(1, 3), use_gpu=True, resources_per_worker={"GPU": 0.6})
    assert made.fit().return_value == 2
