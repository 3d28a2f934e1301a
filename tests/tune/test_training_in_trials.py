"""Training runs in trials: a trainer that is tuned, and one that a trial's function fits."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel import train, tune
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.errors import StopTraining
from nbaccel.train.forwarding import Forwarding, TrialHost
from nbaccel.train.session import Metrics
from nbaccel.tune.resources import TrainerTrial, resources_of
from nbaccel.util.placement_group import PlacementGroup
from tests.rig import wait_until
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]


def trainer_of(function: Any, workers: int = 2, **options: Any) -> DataParallelTrainer:
    return DataParallelTrainer(function, scaling_config=train.ScalingConfig(num_workers=workers), **options)


# ---- decisions, without a process


class Noting(TrialHost):
    """A trial that notes what it is told, and ends after so many reports."""

    def __init__(self, most: int = 100) -> None:
        self.told: list[tuple[Metrics, str]] = []
        self._most = most

    def take_report(self, metrics: Metrics, checkpoint: Checkpoint | None) -> BaseException | None:
        self.told.append((metrics, checkpoint.path if checkpoint is not None else ""))
        return StopTraining() if len(self.told) >= self._most else None

    def place_of_run(self, name: str) -> tuple[str, str]:
        return "", name

    def latest_checkpoint(self) -> Checkpoint | None:
        return None

    def worker_group_begins(self, group: PlacementGroup) -> None:
        self.held = group

    def fit_begins(self) -> Any:
        raise NotImplementedError

    def fit_ends(self) -> bool:
        raise NotImplementedError


def test_a_report_with_files_waits_for_them_and_later_ones_wait_for_it() -> None:
    trial = Noting()
    forwarding = Forwarding(trial)
    forwarding.reported(0, {"n": 0}, has_files=True)
    forwarding.reported(1, {"n": 1}, has_files=False)
    assert trial.told == []
    forwarding.committed(0, Checkpoint("a"))
    assert trial.told == [({"n": 0}, "a"), ({"n": 1}, "")]


def test_a_checkpoint_that_only_other_ranks_bring_goes_with_the_next_report() -> None:
    trial = Noting()
    forwarding = Forwarding(trial)
    forwarding.reported(0, {"n": 0}, has_files=False)
    forwarding.committed(0, Checkpoint("a"))
    forwarding.reported(1, {"n": 1}, has_files=False)
    assert trial.told == [({"n": 0}, ""), ({"n": 1}, "a")]


def test_what_a_restarted_worker_group_reports_again_is_handed_on_once() -> None:
    trial = Noting()
    forwarding = Forwarding(trial)
    for number in (0, 1):
        forwarding.reported(number, {"n": number}, has_files=False)
    forwarding.reported(2, {"n": 2}, has_files=True)  # the worker group dies before its files have come
    forwarding.worker_group_begins(PlacementGroup("00"))
    for number in (1, 2):
        forwarding.reported(number, {"n": number}, has_files=False)
    forwarding.run_ends()
    assert [metrics["n"] for metrics, _ in trial.told] == [0, 1, 2]


def test_nothing_is_handed_on_after_the_report_that_ends_the_trial() -> None:
    trial = Noting(most=2)
    forwarding = Forwarding(trial)
    for number in range(4):
        forwarding.reported(number, {}, has_files=False)
    assert len(trial.told) == 2 and isinstance(forwarding.ends, StopTraining)


def test_a_trial_of_a_trainer_holds_what_its_worker_group_does() -> None:
    trial = TrainerTrial(trainer_of(trainables.group_steps))
    asked = resources_of(trial.resources, {})
    assert asked.total == {"CPU": 2} and asked.task_options() == {"num_cpus": 0}
    asked = resources_of(trial.resources, {"scaling_config": {"num_workers": 3, "use_gpu": True}})
    assert asked.bundles == ({"GPU": 1},) * 3
    asked = resources_of(trial.resources, {"scaling_config": train.ScalingConfig(num_workers=(1, 4))})
    assert asked.total == {"CPU": 1}  # of an elastic worker group, what it needs


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"lr": 1}, r"has 'lr', but that of a trainer has 'train_loop_config' and 'scaling_config'.*\{'lr': "),
        ({"scaling_config": {"num_worker": 1}}, "no 'num_worker'. Did you mean num_workers?"),
    ],
)
def test_another_space_than_a_trainers_is_refused(space: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrainerTrial(trainer_of(trainables.group_steps)).check(space)


def test_with_resources_says_where_a_trainer_asks_for_them() -> None:
    with pytest.raises(ValueError, match="hold what its scaling_config asks for"):
        tune.with_resources(trainer_of(trainables.group_steps), {"cpu": 1})


def test_callbacks_of_a_tuned_trainer_are_refused() -> None:
    trainer = trainer_of(trainables.group_steps, run_config=train.RunConfig(callbacks=[train.UserCallback()]))
    with pytest.raises(ValueError, match=r"Tuner\(run_config=tune.RunConfig\(callbacks"):
        tune.Tuner(trainer)


# ---- with real worker groups


@pytest.mark.usefixtures("cluster")
class TestRuns:
    def test_a_trainers_trials_are_its_worker_groups(self, kept: Kept) -> None:
        space = {
            "train_loop_config": {"x": tune.grid_search([3, 1])},
            "scaling_config": {
                "num_workers": tune.sample_from(lambda config: 1 + config["train_loop_config"]["x"] % 2)
            },
        }
        results = tune.Tuner(
            trainer_of(trainables.group_steps, train_loop_config={"steps": 2, "x": 9}),
            param_space=space,
            tune_config=tune.TuneConfig(metric="loss", mode="min"),
            run_config=kept(checkpoint_config=tune.CheckpointConfig(num_to_keep=1)),
        ).fit()
        assert results.errors == []
        assert [[each["loss"] for each in result.history] for result in results] == [[3, 1.5], [1, 0.5]]
        assert [each["ranks"] for each in results[0].history] == [2, 2]
        best = results.get_best_result()
        assert best.config["train_loop_config"] == {"x": 1}
        assert best.checkpoint is not None and best.checkpoint.load() == {"step": 1}
        names = [name for _, folders, _ in os.walk(best.path) for name in folders if name.startswith("checkpoint_")]
        assert names == ["checkpoint_000001"]  # the run's own copies are gone

    def test_a_worker_group_that_fails_goes_on_from_the_trials_checkpoint(self, kept: Kept, tmp_path: Path) -> None:
        loop = {"x": 1, "steps": 4, "fails_in": 2, "folder": str(tmp_path)}
        config = kept(failure_config=tune.FailureConfig(max_failures=1))
        (result,) = tune.Tuner(trainer_of(trainables.group_steps, train_loop_config=loop), run_config=config).fit()
        assert result.error is None and [each["step"] for each in result.history] == [0, 1, 2, 3]

    def test_a_stop_rule_ends_the_worker_group(self, kept: Kept, tmp_path: Path) -> None:
        trainer = trainer_of(trainables.group_until_stopped, train_loop_config={"folder": str(tmp_path)})
        (result,) = tune.Tuner(trainer, run_config=kept(stop={"training_iteration": 3})).fit()
        assert result.state == "stopped" and [each["number"] for each in result.history] == [0, 1, 2]
        assert {each.name for each in tmp_path.glob("ended-*")} == {"ended-0", "ended-1"}

    @pytest.mark.parametrize("is_trainer", [True, False])
    def test_an_interrupted_worker_group_that_never_reports_has_time_to_tidy_up(
        self, kept: Kept, tmp_path: Path, is_trainer: bool
    ) -> None:
        loop = {"folder": str(tmp_path)}
        if is_trainer:
            tuner = tune.Tuner(trainer_of(trainables.group_silent, 1, train_loop_config=loop), run_config=kept())
        else:
            trainable = tune.with_resources(trainables.fits_silent, {"cpu": 1})
            tuner = tune.Tuner(trainable, param_space=loop, run_config=kept())
        runner = tuner._start()
        wait_until(lambda: (tmp_path / "there").exists(), "the worker group")
        runner.stop()
        runner.stop()
        runner.wait_with_ladder()
        (trial,) = runner.experiment.trials.values()
        assert (tmp_path / "ended").exists() and not trial.has_ended  # a restored experiment goes on with it

    def test_the_third_stop_kills_a_worker_group_that_tidies_up_for_ever(self, kept: Kept, tmp_path: Path) -> None:
        loop = {"folder": str(tmp_path), "tidies_for_s": 300}
        runner = tune.Tuner(trainer_of(trainables.group_silent, 1, train_loop_config=loop), run_config=kept())._start()
        wait_until(lambda: (tmp_path / "there").exists(), "the worker group")
        runner.stop()
        runner.stop()
        wait_until(lambda: (tmp_path / "tidies").exists(), "the interrupt")
        runner.stop()
        runner.wait_with_ladder()
        (trial,) = runner.experiment.trials.values()
        assert not (tmp_path / "ended").exists() and not trial.has_ended

    def test_what_the_worker_group_of_a_killed_trial_holds_comes_back(self, kept: Kept, tmp_path: Path) -> None:
        loop = {"folder": str(tmp_path), "tidies_for_s": 0}
        trainer = trainer_of(trainables.group_silent, 3, train_loop_config=loop)
        config = kept(failure_config=tune.FailureConfig(max_failures=1))
        runner = tune.Tuner(trainer, run_config=config)._start()
        wait_until(lambda: len(list(tmp_path.glob("there-*"))) == 3, "the worker group")
        (trial,) = runner.experiment.trials.values()
        os.kill(wait_until(lambda: trial.pid, "the experiment to know of the trial's process"), signal.SIGKILL)
        wait_until(lambda: len(list(tmp_path.glob("there-*"))) == 6, "the worker group of the second attempt")
        runner.stop()
        runner.stop()
        runner.wait_with_ladder()
        assert trial.attempts == 2 and not trial.has_ended

    def test_a_misspelt_metric_of_a_worker_group_is_told(self, kept: Kept) -> None:
        trainer = trainer_of(trainables.group_steps, 1, train_loop_config={"x": 1, "steps": 2})
        tuner = tune.Tuner(trainer, tune_config=tune.TuneConfig(metric="los", mode="min"), run_config=kept())
        with pytest.raises(ValueError, match=r"the metric 'los'.*Did you mean 'loss'?"):
            tuner.fit()

    @pytest.mark.parametrize("workers", [0, 2])
    def test_reports_of_a_run_that_a_trial_fits_go_on_to_the_trial(self, kept: Kept, workers: int) -> None:
        space = {"x": tune.grid_search([4, 8]), "steps": 2, "workers": workers}
        resources = {"cpu": 0, "custom_resources": {}} if workers else {"cpu": 1}
        trainable = tune.with_resources(trainables.fits, resources)
        options = tune.TuneConfig(max_concurrent_trials=2)
        results = tune.Tuner(trainable, param_space=space, tune_config=options, run_config=kept()).fit()
        assert results.errors == []
        assert [[each["loss"] for each in result.history] for result in results] == [[4, 4, 2, 3], [8, 8, 4, 5]]
        assert results[0].checkpoint is not None and results[0].checkpoint.load() == {"step": 1}

    def test_what_ends_the_trial_ends_a_run_that_it_fits(self, kept: Kept) -> None:
        space = {"x": 4, "steps": 100, "workers": 1}
        trainable = tune.with_resources(trainables.fits, {"cpu": 1})
        (result,) = tune.Tuner(trainable, param_space=space, run_config=kept(stop={"training_iteration": 3})).fit()
        assert result.state == "stopped" and [each["loss"] for each in result.history] == [4, 4, 2]

    def test_reports_without_the_metric_stay_with_a_run_that_is_a_part_of_its_trial(self, kept: Kept) -> None:
        def folds(config: dict[str, Any]) -> None:
            trainer = trainer_of(trainables.group_steps, 0, train_loop_config={"x": 1, "steps": 1})
            tune.report({"mean": sum((trainer.fit().metrics or {})["loss"] for _ in range(2)) / 2})

        options = tune.TuneConfig(metric="mean", mode="min")
        (result,) = tune.Tuner(folds, tune_config=options, run_config=kept()).fit()
        assert result.error is None and [each["mean"] for each in result.history] == [1.0]
