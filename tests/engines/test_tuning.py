"""Experiments with real workers, on every engine that has several processes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.tune import experiment_journal
from nbaccel.tune.schedulers import FIFOScheduler
from tests.tune import trainables
from tests.tune.class_trainables import Counts, calls


@pytest.fixture
def kept(nb: ModuleType, tmp_path: Path) -> tune.RunConfig:
    return tune.RunConfig("experiment", str(tmp_path / "runs"), failure_config=tune.FailureConfig(max_failures=1))


def test_the_debug_engine_says_how_to_debug_a_trainable(kept: Any, engine: str) -> None:
    tuner = tune.Tuner(trainables.square, param_space={"x": tune.grid_search([2, 1])}, run_config=kept)
    if engine == "debug":
        with pytest.raises(ValueError, match=r"one process and cannot run trials.*Call the trainable itself"):
            tuner.fit()
        return
    assert tuner.fit().get_best_result("loss", "min").config == {"x": 1}


def test_a_trial_that_reports_nothing_has_ended_and_is_never_the_best(kept: Any) -> None:
    results = tune.Tuner(
        trainables.silent_at_one, param_space={"x": tune.grid_search([1, 3, 2])}, run_config=kept
    ).fit()
    assert [(each.state, len(each.history)) for each in results] == [("done", 0), ("done", 1), ("done", 1)]
    assert results.num_errors == 0 and "loss" not in results[0].metrics
    assert results.get_best_result("loss", "min").config == {"x": 2}
    with pytest.raises(RuntimeError, match="No trial has reported a finite value of 'accuracy'"):
        results.get_best_result("accuracy", "max")


def test_a_failed_trial_and_a_restored_experiment_go_on_from_checkpoints(kept: Any, tmp_path: Path) -> None:
    space = {"x": 1, "steps": 3, "fails_in": 1, "how": "raise", "folder": str(tmp_path)}
    folder = tune.Tuner(trainables.steps, param_space=space, run_config=kept).fit().experiment_path
    journal = Path(folder) / experiment_journal.FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if b"checkpoint_000001" in line)
    journal.write_bytes(b"".join(lines[: last + 1]))  # as if the driver had been killed there
    (result,) = tune.Tuner.restore(folder, trainables.steps).fit()
    assert result.error is None and [each["training_iteration"] for each in result.history] == [1, 2, 3]
    assert [each["step"] for each in result.history] == [0, 1, 2]
    attempts = [line["first"] for line in map(json.loads, journal.read_bytes().splitlines()) if "attempt" in line]
    assert attempts == [0, 1, 2]


class PausesOnce(FIFOScheduler):
    """Lets each trial pause at its second report, and ends it at its fourth."""

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        if result["training_iteration"] == 2:
            return self.PAUSE
        return self.STOP if result["training_iteration"] == 4 else self.CONTINUE


def test_a_class_pauses_saves_and_goes_on_in_its_own_folder(kept: Any, engine: str) -> None:
    tuner = tune.Tuner(
        Counts,
        param_space={"x": tune.grid_search([1, 2]), "fails_in": 4},
        tune_config=tune.TuneConfig(scheduler=PausesOnce()),
        run_config=kept,
    )
    if engine == "debug":
        with pytest.raises(ValueError, match="one process and cannot run trials"):
            tuner.fit()
        return
    results = tuner.fit()
    assert [str(each) for each in results.errors] == []
    for result in results:
        assert [each["count"] for each in result.history] == [1, 2, 3, 4]
        assert [each["folder"] for each in result.history] == [result.path] * 4
        assert {"params.json", "result.json", "progress.csv", "calls"} <= set(os.listdir(result.path))
        assert calls(result.path).count("setup") == 3, "it began, went on after the pause, and after its failure"


def test_a_trainers_trial_is_its_worker_group(kept: Any) -> None:
    trainer = DataParallelTrainer(trainables.group_steps, train_loop_config={"steps": 100, "x": 1})
    kept.stop = {"training_iteration": 2}
    space = {"scaling_config": {"num_workers": 2}}
    (result,) = tune.Tuner(trainer, param_space=space, run_config=kept).fit()
    assert result.state == "stopped" and [each["ranks"] for each in result.history] == [2, 2]
    assert result.checkpoint is not None and result.checkpoint.load() == {"step": 1}


def test_a_trial_whose_bundles_can_never_fit_together_is_refused(kept: Any) -> None:
    for asked, words in (
        (tune.PlacementGroupFactory([{"CPU": 1}] * 2, "STRICT_SPREAD"), r"its 2 bundles do not fit together"),
        (
            tune.PlacementGroupFactory([{"CPU": 3}, {"CPU": 3}]),
            r"6 CPU in all, and there are 4|bundles do not fit toge",
        ),
        (tune.PlacementGroupFactory([{"CPU": 1}, {"CPU": 5}]), r"6 CPU in all, and there are 4|has 4 CPUs in all"),
    ):
        tuner = tune.Tuner(tune.with_resources(trainables.square, asked), param_space={"x": 1}, run_config=kept)
        with pytest.raises(tune.TuneError, match=rf"^No trial can ever start: .*({words})"):
            tuner.fit()


def test_the_group_of_a_trial_and_of_a_worker_group_is_called_by_whose_it_is(kept: Any) -> None:
    asked = tune.PlacementGroupFactory([{"CPU": 1}, {"CPU": 1}])
    tuner = tune.Tuner(tune.with_resources(trainables.rooms, asked), param_space={"x": 1}, run_config=kept)
    metrics = tuner.fit()[0].metrics
    assert any(name.startswith(f"experiment {metrics['id']}'s room ") for name in metrics["rooms"])
    run = train.RunConfig("alone", kept.storage_path)
    result = DataParallelTrainer(trainables.group_rooms, train_loop_config={}, run_config=run).fit()
    assert any(name.startswith("alone's worker group ") for name in result.metrics["rooms"])
