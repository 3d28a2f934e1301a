"""Experiments with real workers, on every engine that has several processes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nbaccel import tune
from tests.tune import trainables


@pytest.fixture
def kept(nb: ModuleType, tmp_path: Path) -> tune.RunConfig:
    return tune.RunConfig("experiment", str(tmp_path / "runs"), failure_config=tune.FailureConfig(max_failures=1))


def test_the_debug_engine_says_how_to_debug_a_trainable(kept: Any, engine: str) -> None:
    tuner = tune.Tuner(trainables.square, param_space={"x": tune.grid_search([2, 1])}, run_config=kept)
    if engine == "debug":
        with pytest.raises(ValueError, match=r"one process and cannot run trials.*that does not report"):
            tuner.fit()
        return
    assert tuner.fit().get_best_result("loss", "min").config == {"x": 1}
