"""A training function in this process: what the debug engine refuses, and what it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import nbaccel
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.train import loops


@pytest.fixture
def debugging() -> Iterator[None]:
    nbaccel.init(engine="debug", num_cpus=4)
    yield
    nbaccel.shutdown()


@pytest.mark.usefixtures("debugging")
def test_the_debug_engine_says_how_to_debug_a_training_function(kept: Callable[..., RunConfig]) -> None:
    def fit(count: int) -> nbaccel.train.Result:
        scaling = ScalingConfig(num_workers=count)
        config = {"steps": 2}
        return DataParallelTrainer(
            loops.steps, train_loop_config=config, scaling_config=scaling, run_config=kept()
        ).fit()

    with pytest.raises(ValueError, match=r"one process and cannot run a worker group.*num_workers=0"):
        fit(2)
    assert fit(0).metrics == {"step": 1, "loss": 0.5}
