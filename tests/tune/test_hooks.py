"""What users override is called: hooks of schedulers, of callbacks and of reporters, and functions that give names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune.schedulers import (
    ASHAScheduler,
    FIFOScheduler,
    HyperBandScheduler,
    MedianStoppingRule,
    TrialScheduler,
)
from nbaccel.tune.trial import Trial
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]

pytestmark = pytest.mark.usefixtures("cluster")


class Noting(FIFOScheduler):
    """Ends each trial at its third report, as a scheduler written for Ray Tune does."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_trial_add(self, controller: Any, trial: Any) -> None:
        self.seen.append(("add", trial.config["x"]))

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        assert controller.get_trial(trial.trial_id) is trial and result["config/x"] == trial.config["x"]
        self.seen.append(("result", result["step"]))
        return TrialScheduler.STOP if result["training_iteration"] == 3 else TrialScheduler.CONTINUE

    def on_trial_complete(self, controller: Any, trial: Any, result: dict[str, Any]) -> None:
        self.seen.append(("complete", result["step"], result["done"]))

    def on_trial_error(self, controller: Any, trial: Any) -> None:
        self.seen.append(("error", trial.status))


def test_the_hooks_of_a_scheduler_of_ones_own_are_called(kept: Kept) -> None:
    scheduler = Noting()
    analysis = tune.run(
        trainables.steps,
        config={"x": 1, "steps": 9, "saves": False},
        scheduler=scheduler,
        storage_path=kept().storage_path,
        verbose=0,
    )
    results = [("result", 0), ("result", 1), ("result", 2)]
    assert scheduler.seen == [("add", 1), *results, ("complete", 2, True)]
    assert [len(each.reports) for each in analysis.trials] == [3]


def test_a_scheduler_learns_of_a_trial_that_fails(kept: Kept) -> None:
    scheduler = Noting()
    tuner = tune.Tuner(
        trainables.raises,
        param_space={"x": 1},
        tune_config=tune.TuneConfig(scheduler=scheduler),
        run_config=kept(),
    )
    assert tuner.fit().num_errors == 1 and scheduler.seen == [("add", 1), ("error", "ERROR")]


class Calling(ASHAScheduler):
    """Asks its base, and compares the answers as Ray's words."""

    answers: list[str]

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        decision = super().on_trial_result(controller, trial, result)
        self.answers = [*getattr(self, "answers", []), str(decision)]
        return decision


def test_a_scheduler_of_this_package_may_be_the_base_of_ones_own(kept: Kept) -> None:
    scheduler = Calling(max_t=3)
    tune.Tuner(
        trainables.steps,
        param_space={"x": 1, "steps": 9, "saves": False},
        tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler),
        run_config=kept(),
    ).fit()
    assert scheduler.answers == ["CONTINUE", "CONTINUE", "STOP"]


class Pausing(FIFOScheduler):
    """Lets each trial pause once, and starts the one with the largest x first."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        return self.PAUSE if result["step"] == 1 else self.CONTINUE

    def choose_trial_to_run(self, controller: Any) -> Any:
        ready = [each for each in controller.get_trials() if each.status in (Trial.PENDING, Trial.PAUSED)]
        chosen = max(ready, key=lambda each: (each.status == Trial.PENDING, each.config["x"]), default=None)
        if chosen is not None:
            self.started.append(f"{chosen.config['x']} {chosen.status}")
        return chosen


def test_a_scheduler_chooses_which_trial_starts_and_lets_trials_pause(kept: Kept) -> None:
    scheduler = Pausing()
    results = tune.Tuner(
        trainables.steps,
        param_space={"x": tune.grid_search([1, 2, 3]), "steps": 4},
        tune_config=tune.TuneConfig(scheduler=scheduler, max_concurrent_trials=1),
        run_config=kept(),
    ).fit()
    assert scheduler.started == ["3 PENDING", "2 PENDING", "1 PENDING", "3 PAUSED", "2 PAUSED", "1 PAUSED"]
    assert [[each["step"] for each in result.history] for result in results] == [[0, 1, 2, 3]] * 3
    assert results[0].metrics is not None and results[0].metrics["iterations_since_restore"] == 2


class Stopping(FIFOScheduler):
    """Ends all other trials when one has reported."""

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        for other in controller.get_live_trials() - {trial}:
            controller.stop_trial(other)
        return self.NOOP


def test_a_scheduler_ends_other_trials_through_its_controller(kept: Kept) -> None:
    results = tune.Tuner(
        trainables.steps,
        param_space={"x": tune.grid_search([1, 2, 3]), "steps": 2, "saves": False},
        tune_config=tune.TuneConfig(scheduler=Stopping(), max_concurrent_trials=1),
        run_config=kept(),
    ).fit()
    assert [(each.state, len(each.history)) for each in results] == [("done", 2), ("stopped", 0), ("stopped", 0)]


class Wrong(FIFOScheduler):
    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        return "stop it"


def test_a_decision_that_is_none_is_told(kept: Kept) -> None:
    tuner = tune.Tuner(trainables.square, param_space={"x": 1}, tune_config=tune.TuneConfig(scheduler=Wrong()))
    with pytest.raises(ValueError, match=r"Wrong.on_trial_result returned 'stop it': it returns TrialScheduler"):
        tuner.fit()


def test_of_a_bracket_the_best_go_on_after_each_round(kept: Kept) -> None:
    scheduler = HyperBandScheduler(max_t=9)
    results = tune.Tuner(
        trainables.steps,
        param_space={"x": tune.grid_search(list(range(1, 15))), "steps": 99},
        tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler),
        run_config=kept(),
    ).fit()
    assert [str(each) for each in results.errors] == []
    assert [len(each.history) for each in results] == [9, 4, 4, 1, 1, 1, 1, 1, 1, 9, 9, 3, 3, 3]
    assert scheduler.state() == {"num_brackets": 2, "num_stopped": 11}


class Watching(tune.Callback):
    """Notes which of its methods were called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        self.seen.append("begin")

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        self.seen.append("end")

    def on_trial_save(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append(f"save {os.path.basename(trial.checkpoint.path)}")

    def on_trial_restore(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append("restore")

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append("recover")


def test_all_methods_of_a_callback_are_called(kept: Kept, tmp_path: Any) -> None:
    callback = Watching()
    space = {"x": 1, "steps": 2, "fails_in": 1, "how": "raise", "folder": str(tmp_path)}
    failures = tune.FailureConfig(max_failures=1)
    tune.Tuner(
        trainables.steps, param_space=space, run_config=kept(callbacks=[callback], failure_config=failures)
    ).fit()
    assert {"begin", "end"} < set(callback.seen)
    assert [each for each in callback.seen if each not in ("begin", "end")] == [
        "save checkpoint_000000",
        "recover",
        "restore",
        "save checkpoint_000001",
    ]


class OnAnswer(tune.Callback):
    """Notes what its methods are told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def setup(self, *arguments: Any, **info: Any) -> None:
        self.seen.append(info)

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append(("start", trial.status))

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: Any, **info: Any) -> None:
        self.seen.append(("result", trial.status))

    def on_checkpoint(self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any) -> None:
        self.seen.append(("checkpoint", os.path.basename(checkpoint.path)))

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append(("complete", trial.status))

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.seen.append(("error", trial.status))


class Old(tune.Callback):
    """Its `setup` takes nothing."""

    def setup(self) -> None:  # type: ignore[override]
        self.was_called = True


class Older(Old):
    """Its `setup` takes one of the facts."""

    def setup(self, stop: Any = None) -> None:  # type: ignore[override]
        self.was_called = stop == {"step": 5}


def test_a_callback_is_told_as_in_ray(kept: Kept, tmp_path: Path) -> None:
    callbacks: list[Any] = [OnAnswer(), Old(), Older()]
    space = {"x": 1, "steps": 1, "fails_in": tune.grid_search([1, 0]), "how": "raise", "folder": str(tmp_path)}
    config = tune.TuneConfig(num_samples=1, max_concurrent_trials=1, time_budget_s=60)
    running = kept(callbacks=callbacks, stop={"step": 5})
    results = tune.Tuner(trainables.steps, param_space=space, tune_config=config, run_config=running).fit()
    assert callbacks[1].was_called and callbacks[2].was_called
    info, *rest = callbacks[0].seen
    assert info == {"stop": {"step": 5}, "num_samples": 1, "total_num_samples": 2, "time_budget_s": 60}
    assert rest == [
        ("start", "PENDING"),
        ("result", "RUNNING"),
        ("checkpoint", "checkpoint_000000"),
        ("complete", "RUNNING"),
        ("start", "PENDING"),
        ("error", "ERROR"),
    ]
    assert [trial.status for trial in results._trials] == ["TERMINATED", "ERROR"], "afterwards"


class Reporter(tune.ProgressReporter):
    """Reports only at the end."""

    def __init__(self) -> None:
        self.reports: list[Any] = []

    def should_report(self, trials: list[Any], done: bool = False) -> bool:
        return done

    def report(self, trials: list[Any], done: bool, *sys_info: Any) -> None:
        self.reports.append((done, [str(each.status) for each in trials], sys_info))


class Described(FIFOScheduler):
    def debug_string(self) -> str:
        return "as described"


def test_a_reporter_of_ones_own_is_called_and_one_of_ray_prints_a_table(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter()
    described = tune.TuneConfig(scheduler=Described())
    running = kept(progress_reporter=reporter)
    tune.Tuner(trainables.square, param_space={"x": 2}, tune_config=described, run_config=running).fit()
    assert reporter.reports == [(True, ["TERMINATED"], ("as described",))]
    table = tune.CLIReporter(metric_columns={"loss": "the loss"}, parameter_columns=["x"])
    config = kept("second", progress_reporter=table, verbose=0)
    capsys.readouterr()
    tune.Tuner(trainables.square, param_space={"x": tune.grid_search([2, 3])}, run_config=config).fit()
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[-3].split() == ["Trial", "name", "status", "x", "the", "loss"]
    assert [line.split()[1:] for line in lines[-2:]] == [["TERMINATED", "2", "4"], ["TERMINATED", "3", "9"]]
    assert "2/2" in lines[-4] and shown.err == "", "verbose=0: nothing else"
    assert lines[-5] == "Using FIFOScheduler."


def test_trials_and_their_folders_are_named_by_functions(kept: Kept) -> None:
    names = {
        "trial_name_creator": lambda trial: f"x is {trial.config['x']}",
        "trial_dirname_creator": lambda trial: f"folder-{trial.config['x']}",
    }
    results = tune.Tuner(
        trainables.place,
        param_space={"x": tune.grid_search([1, 2])},
        tune_config=tune.TuneConfig(**names),
        run_config=kept(),
    ).fit()
    assert [os.path.basename(each.path) for each in results] == ["folder-1", "folder-2"]
    assert [str(each) for each in results._trials] == ["x is 1", "x is 2"]
    again = tune.Tuner.restore(results.experiment_path, trainables.place).get_results()
    assert [each.path for each in again] == [each.path for each in results]
    with pytest.raises(ValueError, match="trial_dirname_creator returned 'a/b': it returns the name of a folder"):
        wrong = tune.TuneConfig(trial_dirname_creator=lambda trial: "a/b")
        tune.Tuner(trainables.place, tune_config=wrong, run_config=kept()).fit()


def test_trials_are_called_as_in_ray(kept: Kept) -> None:
    space = {"x": tune.grid_search([2.0]), "fixed": 1, "deep": {"y": tune.choice(["a/b"])}}
    results = tune.Tuner(trainables.square, param_space=space, run_config=kept()).fit()
    (trial,) = results._trials
    assert str(trial) == f"square_{trial.trial_id}" and trial.evaluated_params == {"x": 2.0, "deep/y": "a/b"}
    assert trial.experiment_tag == "0_y=a_b,x=2.0000"
    assert os.path.basename(results[0].path) == f"{trial}_{trial.experiment_tag}"
    assert (trial.trainable_name, trial.status, trial.is_finished()) == ("square", "TERMINATED", True)
    assert trial.local_path == trial.path == results[0].path and trial.checkpoint is None
    assert trial.metric_analysis["loss"]["max"] == 4 and trial.last_result["experiment_tag"] == trial.experiment_tag


class Remembers(tune.Callback):
    def __init__(self) -> None:
        self.results = 0

    def on_trial_result(self, *args: Any, **info: Any) -> None:
        self.results += 1

    def get_state(self) -> dict[str, Any]:
        return {"results": self.results, "pair": (1, 2)}

    def set_state(self, state: dict[str, Any]) -> None:
        assert state["pair"] == (1, 2)
        self.results = state["results"]


def test_a_callback_has_its_state_back_in_a_restored_experiment(kept: Kept) -> None:
    config = kept(callbacks=[tune.Callback(), Remembers()])
    results = tune.Tuner(trainables.square, param_space={"x": tune.grid_search([1, 2])}, run_config=config).fit()
    again = Remembers()
    tune.Tuner.restore(
        results.experiment_path, trainables.square, run_config=kept(callbacks=[tune.Callback(), again])
    ).fit()
    assert again.results == 2


def test_a_trial_that_is_worse_than_the_median_may_pause_for_others(kept: Kept) -> None:
    rule = MedianStoppingRule("training_iteration", "loss", "min", 1, min_samples_required=1, hard_stop=False)
    results = tune.Tuner(
        trainables.steps,
        param_space={"x": tune.grid_search([1, 9, 1, 1]), "steps": 3},
        tune_config=tune.TuneConfig(scheduler=rule, max_concurrent_trials=1),
        run_config=kept(),
    ).fit()
    assert [each.state for each in results] == ["done"] * 4 and [len(each.history) for each in results] == [3] * 4
    assert [trial.attempts for trial in results._trials] == [1, 2, 1, 1]


def test_a_trial_that_pauses_without_a_checkpoint_is_told(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    class Once(FIFOScheduler):
        has_paused = False

        def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
            before, self.has_paused = self.has_paused, True
            return self.CONTINUE if before else self.PAUSE

    config = tune.TuneConfig(scheduler=Once())
    space = {"x": 1, "steps": 2, "saves": False}
    (result,) = tune.Tuner(trainables.steps, param_space=space, tune_config=config, run_config=kept()).fit()
    assert len(result.history) == 2 and "has paused without a checkpoint" in capsys.readouterr().err


class Saves(FIFOScheduler):
    """Counts results, also over a restart."""

    def __init__(self) -> None:
        self.results = 0

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        self.results += 1
        return self.CONTINUE

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_text(str(self.results))

    def restore(self, checkpoint_path: str) -> None:
        self.results = int(Path(checkpoint_path).read_text())


def test_a_scheduler_that_saves_has_its_state_back(kept: Kept) -> None:
    config = tune.TuneConfig(scheduler=Saves())
    space = {"x": tune.grid_search([1, 2])}
    path = tune.Tuner(trainables.square, param_space=space, tune_config=config, run_config=kept()).fit().experiment_path
    again = Saves()
    more = tune.TuneConfig(scheduler=again, num_samples=2)
    tune.Tuner.restore(path, trainables.square, tune_config=more).fit()
    assert again.results == 4
