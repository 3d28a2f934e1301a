"""Experiments with real workers on the local engine."""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import nbaccel
from nbaccel import train, tune
from nbaccel.tune import experiment_journal
from nbaccel.tune.resources import resources_of
from nbaccel.tune.schedulers import ASHAScheduler, PopulationBasedTraining
from nbaccel.views import experiment_snapshot
from tests.rig import wait_until
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]

pytestmark = pytest.mark.usefixtures("cluster")


def fit(trainable: Any, space: dict[str, Any], run_config: tune.RunConfig, **options: Any) -> tune.ResultGrid:
    tuner = tune.Tuner(trainable, param_space=space, tune_config=tune.TuneConfig(**options), run_config=run_config)
    return tuner.fit()


def test_the_seeds_call_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path))
    trainable = trainables.place
    analysis = tune.run(trainable, num_samples=10, resources_per_trial={"cpu": 2, "gpu": 2})
    found = list(analysis.results.values())
    assert len(found) == 10 and {each["gpus"] for each in found} == {"0,1"}
    assert len({each["worker"] for each in found}) == 10  # a fresh process for each: they hold devices
    assert all(each["pid"] == each["worker"] for each in found)


def test_threads_of_a_trial_report_while_something_decides_about_each_report(kept: Kept) -> None:
    found = fit(trainables.in_threads, {"threads": 4, "steps": 5}, kept(stop={"step": 99}))[0]
    assert (found.error, found.state) == (None, "done")
    history = found.history
    assert sorted((each["thread"], each["step"]) for each in history) == [(n, k) for n in range(4) for k in range(5)]
    assert [each["training_iteration"] for each in history] == list(range(1, 21))


@pytest.mark.extra("pandas")
def test_a_grid_and_its_best_trial(kept: Kept) -> None:
    results = fit(trainables.square, {"x": tune.grid_search([3, -1, 2])}, kept(), metric="loss", mode="min")
    best = results.get_best_result()
    assert (best.config, best.metrics["loss"], best.state) == ({"x": -1}, 1, "done")  # type: ignore[index]
    assert len(results) == results.num_terminated == 3 and results.errors == []
    frame = results.get_dataframe()
    assert list(frame["config/x"]) == [3, -1, 2] and list(frame["training_iteration"]) == [1, 1, 1]
    assert list(frame["logdir"]) == [result.path for result in results]
    assert repr(results).startswith("ResultGrid(3 done, path=")


@pytest.mark.parametrize(
    ("trainable", "reported"),
    [
        (lambda config: 0, [{"_metric": 0}]),
        (lambda: 0.5, [{"_metric": 0.5}]),
        (lambda config: {}, [{}]),
        (lambda config: None, []),
        (lambda config: ({"loss": step} for step in range(2)), [{"loss": 0}, {"loss": 1}]),
        (lambda config: tune.report({"loss": math.nan}), [{"loss": "nan"}]),
    ],
)
def test_what_a_function_returns_or_yields_is_reported(trainable: Any, reported: list[Any], kept: Kept) -> None:
    (result,) = fit(trainable, {}, kept())
    added = ("training_iteration", "time_this_iter_s", "time_total_s", "timestamp")
    found = [{name: value for name, value in each.items() if name not in added} for each in result.history]
    assert str(found) == str(reported).replace("'nan'", "nan") and result.error is None


def test_a_trial_that_raises_fails_alone(kept: Kept) -> None:
    results = fit(trainables.raises, {"x": tune.grid_search([0, 1, 2, 3])}, kept(), metric="loss", mode="max")
    assert results.num_errors == 2 and all(isinstance(error, ValueError) for error in results.errors)
    assert results.failures() == {"ValueError: an odd number": [results[1].trial_id, results[3].trial_id]}
    assert results.get_best_result().config == {"x": 2}


@pytest.mark.extra("pandas")
def test_run_raises_if_trials_failed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"config": {"x": tune.grid_search([1, 2])}, "storage_path": tmp_path}
    with pytest.raises(tune.TuneError, match=r"1 of 2 .*ValueError: an odd number") as caught:
        tune.run(trainables.raises, **options)
    assert caught.value.results is not None and len(caught.value.results) == 2
    analysis = tune.run(trainables.raises, metric="loss", mode="min", raise_on_failed_trial=False, **options)
    assert analysis.best_config == {"x": 2} and analysis.best_result["loss"] == 2
    assert len(analysis.results_df) == 2 and list(analysis.best_dataframe["loss"]) == [2]


def test_what_a_trial_reports_just_before_it_fails_is_kept(kept: Kept) -> None:
    def reports_and_raises(config: dict[str, Any]) -> None:
        for step in range(2):
            tune.report({"step": step})  # nobody decides: it does not wait
        raise ValueError("after two reports")

    results = fit(reports_and_raises, {"x": tune.grid_search(list(range(40)))}, kept())
    assert [len(each.history) for each in results] == [2] * 40 == [2] * results.num_errors


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_trial_that_fails_goes_on_from_its_checkpoint(kept: Kept, tmp_path: Path, how: str) -> None:
    space = {"x": 1, "steps": 4, "fails_in": 2, "how": how, "folder": str(tmp_path)}
    (result,) = fit(trainables.steps, space, kept(failure_config=tune.FailureConfig(max_failures=1)))
    assert [each["step"] for each in result.history] == [0, 1, 2, 3] and result.error is None
    assert [each["training_iteration"] for each in result.history] == [1, 2, 3, 4]
    assert result.checkpoint is not None and result.checkpoint.load() == {"step": 3}


@pytest.mark.parametrize("max_failures", [0, 1])
def test_a_trial_that_is_killed_while_it_saves_leaves_no_half_of_a_checkpoint(
    kept: Kept, tmp_path: Path, max_failures: int
) -> None:
    retried = kept(failure_config=tune.FailureConfig(max_failures=max_failures))
    (result,) = fit(trainables.dies_while_it_saves, {"folder": str(tmp_path)}, retried)
    assert (tmp_path / "died").exists()
    assert [each["step"] for each in result.history] == [0, 1, 2][: 3 if max_failures else 1]
    found = {name: len(os.listdir(Path(result.path, name))) for name in os.listdir(result.path) if "checkpoint" in name}
    assert found == {f"checkpoint_{step:06d}": 10 * (step + 1) for step in range(len(result.history))}
    assert result.checkpoint is not None and len(os.listdir(result.checkpoint.path)) == 10 * len(result.history)


def test_a_killed_trial_is_told_with_its_signal(kept: Kept, tmp_path: Path) -> None:
    space = {"x": 1, "steps": 2, "fails_in": 1, "how": "kill", "folder": str(tmp_path)}
    (result,) = fit(trainables.steps, space, kept())
    assert isinstance(result.error, nbaccel.exceptions.WorkerCrashedError) and "SIGKILL" in str(result.error)
    assert len(result.history) == 1


def test_a_misspelt_metric_is_told_at_the_first_report(kept: Kept) -> None:
    with pytest.raises(ValueError, match=r"the metric 'los'.* a report has only: loss. Did you mean 'loss'?"):
        fit(trainables.square, {"x": tune.uniform(0, 1)}, kept(), metric="los", mode="min", num_samples=20)


def test_a_trial_ends_after_exactly_the_report_that_ends_it(kept: Kept) -> None:
    space = {"x": 1, "steps": 9, "saves": False}
    (result,) = fit(trainables.steps, space, kept(stop={"training_iteration": 3}))
    assert len(result.history) == 3 and result.state == "stopped"
    (result,) = fit(trainables.steps, space, kept("other", stop=lambda trial, found: found["step"] == 1))
    assert len(result.history) == 2


def test_asha_ends_weak_trials(kept: Kept) -> None:
    scheduler = ASHAScheduler(max_t=8, reduction_factor=2)
    space = {"x": tune.grid_search([1, 2, 3, 4, 5, 6]), "steps": 8, "saves": False}
    options: dict[str, Any] = {"metric": "loss", "mode": "min", "scheduler": scheduler, "max_concurrent_trials": 1}
    results = fit(trainables.steps, space, kept(), **options)
    assert [len(result.history) for result in results] == [8, 1, 1, 1, 1, 1]  # each later one is worse at once
    assert results.get_best_result(scope="all").config["x"] == 1


def test_a_weak_trial_continues_from_the_checkpoint_of_a_strong_one(kept: Kept, tmp_path: Path) -> None:
    scheduler = PopulationBasedTraining(
        "training_iteration", "value", "max", 2, hyperparam_mutations={"rate": [1, 100]}, resample_probability=0, seed=1
    )
    tuner = tune.Tuner(
        trainables.learns,
        param_space={"rate": tune.grid_search([1, 100]), "folder": str(tmp_path)},
        tune_config=tune.TuneConfig(scheduler=scheduler),
        run_config=kept(),
    )
    results = tuner.fit()
    weak = results[0]
    assert weak.error is None and weak.history[-1]["value"] > 100  # it took over what the strong one had learned
    past = tune.Tuner.restore(results.experiment_path, trainables.learns).get_results()
    assert [len(each.history) for each in past] == [len(each.history) for each in results]


def test_devices_are_shared_and_placed(kept: Kept) -> None:
    results = fit(tune.with_resources(trainables.place, {"cpu": 1, "gpu": 0.5}), {}, kept(), num_samples=2)
    for result in results:
        metrics = result.metrics or {}
        assert metrics["asked"] == {"CPU": 1, "GPU": 0.5} and metrics["gpus"] in ("0", "1")
        assert metrics["id"] == result.trial_id and metrics["dir"] == result.path and metrics["name"] == "experiment"
    bundles = tune.PlacementGroupFactory([{"CPU": 1, "GPU": 1}, {"CPU": 1}])
    (result,) = fit(tune.with_resources(trainables.place, bundles), {}, kept("group"))
    assert (result.metrics or {})["asked"] == {"CPU": 2, "GPU": 1}


def test_the_resources_of_a_trial_may_follow_from_its_config(kept: Kept) -> None:
    trainable = tune.with_resources(trainables.place, lambda config: {"gpu": config["gpus"]})
    results = fit(trainable, {"gpus": tune.grid_search([1, 2])}, kept())
    assert [len((each.metrics or {})["gpus"].split(",")) for each in results] == [1, 2]


def test_large_parameters_are_stored_once(kept: Kept) -> None:
    trainable = tune.with_parameters(lambda config, data: {"length": len(data) + config["x"]}, data=[0] * 1000)
    results = fit(trainable, {"x": tune.grid_search([1, 2])}, kept())
    assert [(each.metrics or {})["length"] for each in results] == [1001, 1002]


def test_a_trial_that_can_never_start_is_told_at_once(kept: Kept) -> None:
    with pytest.raises(tune.TuneError, match=r"No trial can ever start: each asks for 8 GPUs, but .* 2 GPUs"):
        fit(tune.with_resources(trainables.square, {"gpu": 8}), {"x": 1}, kept())


def test_a_trial_that_asks_for_more_than_the_others_fails_alone(kept: Kept) -> None:
    trainable = tune.with_resources(trainables.place, lambda config: {"gpu": config["gpus"]})
    results = fit(trainable, {"gpus": tune.grid_search([8, 1])}, kept())
    assert "each asks for 8 GPUs, but this machine has 2 GPUs" in str(results[0].error) and results[1].error is None


def test_a_config_that_does_not_pickle_fails_its_trial(kept: Kept) -> None:
    results = fit(trainables.square, {"x": tune.grid_search([threading.Lock(), 2])}, kept())
    assert results.num_errors == 1 and "pickle" in str(results.errors[0]) and results[1].metrics["loss"] == 4  # type: ignore[index]


def test_fail_fast_ends_the_experiment(kept: Kept, tmp_path: Path) -> None:
    space = {"x": tune.grid_search([1, 2, 3, 4])}
    config = kept(failure_config=tune.FailureConfig(fail_fast=True))
    results = fit(trainables.raises, space, config, max_concurrent_trials=1)
    assert [each.state for each in results] == ["error", "pending", "pending", "pending"]
    with pytest.raises(ValueError, match="an odd number"):
        fit(trainables.raises, space, kept("raise", failure_config=tune.FailureConfig(fail_fast="raise")))


def test_a_time_budget_ends_trials_that_report(kept: Kept, tmp_path: Path) -> None:
    space = {"x": tune.sample_from(lambda: 1), "folder": str(tmp_path)}
    for budget_s in (1, 10, 60):
        options = {"num_samples": -1, "time_budget_s": budget_s, "max_concurrent_trials": 2}
        results = fit(trainables.until_stopped, space, kept(f"budget-{budget_s}"), **options)
        assert len(results) == 2 and results.num_errors == 0
        if (tmp_path / "ended-1").exists():  # a busy machine may not begin a trial within the shorter ones
            break
    assert (tmp_path / "ended-1").exists()


def test_callbacks_see_what_happens(kept: Kept) -> None:
    seen: list[str] = []

    class Noting(tune.Callback):
        def setup(self, **info: Any) -> None:
            seen.append("setup")

        def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Any, **info: Any) -> None:
            seen.append(f"result {result['loss']}")

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
            seen.append(f"complete {trial.config['x']}")

        def on_experiment_end(self, trials: Any, **info: Any) -> None:
            seen.append(f"end {len(trials)}")

    fit(trainables.square, {"x": 2}, kept(callbacks=[Noting()]))
    assert seen == ["setup", "result 4", "complete 2", "end 1"]


def started(trainable: Any, space: dict[str, Any], run_config: tune.RunConfig) -> Any:
    """An experiment under way."""
    return tune.Tuner(trainable, param_space=space, run_config=run_config)._start()


def test_the_first_stop_ends_trials_at_their_next_report(kept: Kept, tmp_path: Path) -> None:
    runner = started(trainables.until_stopped, {"x": tune.grid_search([1, 2, 3]), "folder": str(tmp_path)}, kept())
    wait_until(lambda: len(list(tmp_path.glob("reported-*"))) == 3, "reports")
    runner.stop()
    runner.wait_with_ladder()
    trials = list(runner.experiment.trials.values())
    assert len(list(tmp_path.glob("ended-*"))) == 3 and not any(trial.has_ended for trial in trials)
    assert all(trial.reports for trial in trials)


def test_the_second_stop_interrupts_what_never_reports(kept: Kept, tmp_path: Path, capsys: Any) -> None:
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
        runner = started(trainables.silent, {"x": 1, "folder": str(tmp_path / name)}, kept(name))
        wait_until(lambda name=name: (tmp_path / name / "there-1").exists(), "the trial")
        runner.stop()
        runner.stop()
        runner.wait_with_ladder()
        said = capsys.readouterr().err
        assert f"{name}: the functions are interrupted. Stop a third time ends the processes" in said
        if (tmp_path / name / "ended-1").exists():  # a process that stands still for two seconds is killed
            break
    assert (tmp_path / name / "ended-1").exists()


def test_functions_of_a_trial_say_where_they_belong() -> None:
    with pytest.raises(RuntimeError, match=r"cannot be used outside of a trial: call it in the function"):
        tune.get_context()


def test_a_trainable_may_be_called_by_itself_and_warns_as_in_ray() -> None:
    with pytest.warns(UserWarning, match=r"`tune.(report|get_checkpoint)` does nothing outside of a trial") as warned:
        trainables.steps({"x": 1, "steps": 2, "saves": False})
    assert len(warned) == 3 and {each.filename for each in warned} == {trainables.__file__}


def test_a_url_is_refused_instead_of_being_taken_for_a_folder() -> None:
    with pytest.raises(NotImplementedError, match="Copy the folder afterwards"):
        tune.RunConfig(storage_path="s3://bucket/runs")
    with pytest.raises(NotImplementedError, match=r"Tuner\.restore: an experiment is in a folder"):
        tune.Tuner.restore("s3://bucket/runs/first", trainables.square)


def test_a_mode_alone_compares_what_the_function_returned(tmp_path: Path) -> None:
    analysis = tune.run(
        lambda config: config["x"], config={"x": tune.grid_search([2, 1])}, mode="min", storage_path=tmp_path
    )
    assert analysis.best_config == {"x": 1}


def test_one_line_runs_the_best_config_again_to_its_end(kept: Kept, tmp_path: Path) -> None:
    space = {"x": tune.grid_search([1, 2]), "steps": 3, "saves": False}
    results = fit(trainables.steps, space, kept(stop={"training_iteration": 1}), metric="loss", mode="min")
    again = tune.run(trainables.steps, config=results.get_best_result().config, storage_path=tmp_path)
    assert again.best_config["x"] == 1 and again.best_result["training_iteration"] == 3


@pytest.mark.extra("pandas")
def test_an_analysis_has_all_configs_and_its_best_result_as_a_row(tmp_path: Path) -> None:
    space = {"x": tune.grid_search([2, 1])}
    analysis = tune.run(trainables.square, config=space, metric="loss", mode="min", storage_path=tmp_path)
    assert list(analysis.get_all_configs().values()) == [{"x": 2}, {"x": 1}]
    assert list(analysis.get_all_configs(prefix=True).values()) == [{"config/x": 2}, {"config/x": 1}]
    frame = analysis.best_result_df
    assert list(frame.index) == [analysis.best_trial.id] and frame["config/x"].iloc[0] == frame["loss"].iloc[0] == 1


@pytest.mark.extra("pandas")
def test_truth_is_a_metric(kept: Kept) -> None:
    space = {"x": tune.grid_search([False, True])}
    results = fit(lambda config: {"right": config["x"]}, space, kept(), metric="right", mode="max")
    assert results.get_best_result().config == {"x": True}
    assert len(results.get_dataframe(filter_metric="right")) == 2


def test_a_function_without_parameters_may_have_resources(kept: Kept) -> None:
    (result,) = fit(tune.with_resources(lambda: 3, {"cpu": 1}), {}, kept())
    assert result.metrics is not None and result.metrics["_metric"] == 3


def test_a_function_can_ask_whether_its_trial_is_to_end(kept: Kept, tmp_path: Path) -> None:
    runner = started(trainables.asks_whether_to_stop, {"folder": str(tmp_path)}, kept())
    wait_until(lambda: (tmp_path / "asks").exists(), "the trial")
    runner.stop()
    runner.wait_with_ladder()
    (trial,) = runner.experiment.trials.values()
    assert trial.error is None and trial.last["asked"] is True


def test_callbacks_are_told_of_the_plan_and_of_checkpoints(kept: Kept) -> None:
    told: list[Any] = []

    class Listening(tune.Callback):
        def setup(self, stop: Any, num_samples: Any, total_num_samples: Any, **info: Any) -> None:
            told.append((stop, num_samples, total_num_samples))

        def on_checkpoint(self, iteration: int, trials: Any, trial: Any, checkpoint: Any, **info: Any) -> None:
            told.append((trial.status, checkpoint.load()["step"]))

    space = {"x": 1, "steps": 2}
    fit(trainables.steps, space, kept(callbacks=[Listening()], stop={"step": 5}), num_samples=1)
    assert told == [({"step": 5}, 1, 1), ("RUNNING", 0), ("RUNNING", 1)]


def test_an_error_of_a_callback_or_a_search_is_told_as_it_is_and_the_experiment_goes_on(kept: Kept) -> None:
    class Raises(tune.Callback):
        def on_trial_result(self, *args: Any, **info: Any) -> None:
            raise ConnectionError("the tracker is away")

    def reads(config: dict[str, Any]) -> Any:
        raise FileNotFoundError("lost.csv")

    with pytest.raises(ConnectionError, match="the tracker is away") as caught:
        fit(trainables.square, {"x": 2}, kept(callbacks=[Raises()]))
    (note,) = caught.value.__notes__
    path = re.findall(
        r"The experiment experiment ended here\. tune\.Tuner\.restore\('(.*)', trainable\) goes on", note
    )[0]
    assert tune.Tuner.restore(path, trainables.square).fit().num_terminated == 1
    with pytest.raises(FileNotFoundError, match=r"lost\.csv") as lost:
        fit(trainables.square, {"x": tune.sample_from(reads)}, kept("endless"), num_samples=-1)
    assert "The function of sample_from for the parameter x raised this." in lost.value.__notes__


def test_trials_run_under_a_name_that_is_no_utf_8(kept: Kept) -> None:
    assert fit(trainables.square, {"x": 2}, kept("odd\udcff"))[0].state == "done"


def test_trials_with_a_fallback_run_beside_each_other() -> None:
    asked = resources_of({"gpu": 1, "fallback": "cpu"}, {})
    assert asked.least.fits({"CPU": 4.0}) == 4 and asked.least.fits({"CPU": 4.0, "GPU": 1.0}) == 4
    assert resources_of({"gpu": 1}, {}).least.fits({"CPU": 4.0, "GPU": 1.0}) == 1


@pytest.mark.parametrize("code", [0, None, "nothing to do"])
def test_a_trial_that_exits_has_failed_and_is_told_to_return(code: Any, kept: Kept) -> None:
    (result,) = fit(lambda config: sys.exit(code), {}, kept())
    assert result.state == "error"
    assert re.search(rf"SystemExit\({re.escape(repr(code))}\).*write return", str(result.error))


@pytest.mark.parametrize(
    ("trainable", "words"),
    [
        (lambda config: tune.report({"a": object()}), "^tune.report(): the metric 'a' is a object"),
        (lambda config: tune.report(3), "^tune.report() takes a dict of metrics, not int"),
        (lambda config: tune.report({}, checkpoint="/tmp"), "^tune.report(checkpoint=...) takes a Checkpoint, not '/"),
        (lambda config: {"a": object()}, "^The trainable's result: the metric 'a' is a object"),
        (lambda config: ({"a": each} for each in [object()]), "^The trainable's result: the metric 'a' is a object"),
        (lambda config: train.report({"a": object()}), "^train.report(): the metric 'a' is a object"),
    ],
)
def test_an_error_of_a_report_names_what_the_user_called(trainable: Any, words: str, kept: Kept) -> None:
    (result,) = fit(trainable, {}, kept())
    assert re.search("^" + re.escape(words[1:]), str(getattr(result.error, "cause", result.error)))


def test_the_seed_of_numpy_makes_a_search_repeatable(kept: Kept) -> None:
    numpy = pytest.importorskip("numpy")
    drawn = []
    for name in ("first", "second"):
        numpy.random.seed(5)
        results = fit(trainables.square, {"x": tune.uniform(0, 1)}, kept(name), num_samples=2)
        drawn.append([each.config["x"] for each in results])
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 2


class Doubles:
    def __call__(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"loss": 2 * config["x"]}


def test_an_object_that_can_be_called_may_have_resources(kept: Kept) -> None:
    (trial,) = fit(tune.with_resources(Doubles(), {"cpu": 2}), {"x": 3}, kept())._trials
    assert trial.placement_group_factory.required_resources == {"CPU": 2} and trial.last["loss"] == 6


def test_a_result_that_is_done_ends_its_trial(kept: Kept) -> None:
    (result,) = fit(done_at_three, {}, kept())
    assert (len(result.history), result.state) == (3, "done")
    (result,) = fit(done_at_three, {}, kept("rule", stop={"done": True}))
    assert len(result.history) == 3


def done_at_three(config: dict[str, Any]) -> None:
    for number in range(1, 9):
        tune.report({"number": number, "done": number == 3})


def test_what_cannot_be_sent_is_refused_when_the_tuner_is_made(kept: Kept) -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match="lock"):
        tune.Tuner(lambda config: lock)


def test_an_error_of_a_users_hook_is_one_of_tune_and_of_its_own_class(kept: Kept) -> None:
    class OwnError(Exception):
        pass

    class Raises(tune.Callback):
        def on_trial_result(self, *args: Any, **info: Any) -> None:
            raise OwnError("of the callback")

    with pytest.raises(tune.TuneError, match="of the callback") as caught:
        fit(trainables.square, {"x": 1}, kept(callbacks=[Raises()]))
    assert isinstance(caught.value, OwnError)
    failed = experiment_snapshot.of_snapshot(nbaccel.snapshot())[0]
    assert failed.state == "failed" and not failed.counts.get("running"), "nothing of it runs any more"
    assert "interrupted" in experiment_snapshot.trial_words(msgspec.structs.replace(failed, counts={"running": 2}))
    with pytest.raises(tune.TuneError, match="the metric 'los'") as caught:
        fit(trainables.square, {"x": 1}, kept("other"), metric="los", mode="min")
    assert isinstance(caught.value, ValueError)


def test_an_analysis_without_a_number_has_no_best_trial(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    analysis = tune.run(not_a_number, metric="loss", mode="min", storage_path=kept().storage_path)
    assert analysis.best_trial is None and analysis.get_best_config("loss", "min") is None
    assert analysis.best_result is None and analysis.best_checkpoint is None
    assert "No trial has reported a finite value of 'loss'" in capsys.readouterr().err


def not_a_number(config: dict[str, Any]) -> dict[str, Any]:
    return {"loss": float("nan")}


def test_a_trials_result_is_read_from_its_folder(kept: Kept) -> None:
    pytest.importorskip("pandas")
    results = fit(trainables.steps, {"x": tune.grid_search([1, 2]), "steps": 3}, kept())
    again = tune.Result.from_path(results[1].path)
    assert again.config == results[1].config and again.metrics is not None and again.metrics["step"] == 2
    frame = results[1].metrics_dataframe
    assert list(frame["step"]) == [0, 1, 2] and set(frame["config/x"]) == {2}
    with pytest.raises(FileNotFoundError, match="has no trial with the folder"):
        tune.Result.from_path(os.path.join(results.experiment_path, "nobody"))


def test_a_trial_that_goes_on_may_be_chosen_by_what_went_on_before(kept: Kept) -> None:
    for how, expected in (("skip", 1), ("resume", 0), ("restart", 0)):
        storage = {"storage_path": kept().storage_path, "name": how}
        config = {"x": 1, "mended": os.path.join(kept().storage_path or "", f"{how}.mended")}
        with pytest.raises(tune.TuneError):
            tune.run(trainables.raises_until, config=config, **storage)
        Path(config["mended"]).touch()
        again = {"resume_config": tune.ResumeConfig(errored=how), "raise_on_failed_trial": False}
        analysis = tune.run(trainables.raises_until, config=config, **storage, **again)
        assert sum(each.status == "ERROR" for each in analysis.trials) == expected


@pytest.mark.parametrize(("how", "expected"), [("skip", [1]), ("resume", [1, 2]), ("restart", [1])])
def test_a_finished_trial_goes_on_or_begins_again_if_that_is_asked(
    how: str, expected: list[int], kept: Kept, tmp_path: Path
) -> None:
    def counts(config: dict[str, Any]) -> None:
        before = tune.get_checkpoint()
        number = (before.load() if before else 0) + 1
        (tmp_path / f"{os.getpid()}-{time.time_ns()}.began").touch()
        tune.report({"number": number}, checkpoint=tune.Checkpoint.save(number))

    options: dict[str, Any] = {"storage_path": kept().storage_path, "name": "counts"}
    tune.run(counts, **options)
    (trial,) = tune.run(counts, **options, resume_config=tune.ResumeConfig(finished=how)).trials
    assert [each["metrics"]["number"] for each in trial.reports] == expected
    assert len(list(tmp_path.glob("*.began"))) == (1 if how == "skip" else 2)


@pytest.mark.parametrize(("how", "expected"), [("skip", [0, 1]), ("resume", [0, 1, 2]), ("restart", [0, 1, 2])])
def test_a_trial_that_was_under_way_goes_on_or_begins_again_if_that_is_asked(
    how: str, expected: list[int], kept: Kept, tmp_path: Path
) -> None:
    """The driver was killed after the second of three reports: the journal ends there."""
    options: dict[str, Any] = {"storage_path": kept().storage_path, "name": "under_way"}
    space = {"x": 1, "steps": 3, "fails_in": 0, "failures": 0, "folder": str(tmp_path)}
    analysis = tune.run(trainables.steps, config=space, **options)
    journal = Path(analysis.experiment_path, experiment_journal.FILE)
    lines = journal.read_bytes().splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if b'"step": 1' in line or b'"step":1' in line][-1]
    journal.write_bytes(b"".join(lines[: second + 1]))
    (trial,) = tune.run(
        trainables.steps, config=space, **options, resume_config=tune.ResumeConfig(unfinished=how)
    ).trials
    assert [each["metrics"]["step"] for each in trial.reports] == expected and trial.status == "TERMINATED"
    begun_at_zero = len(list(tmp_path.glob("failed-*")))
    assert begun_at_zero == (2 if how == "restart" else 1)


def test_a_stopper_that_ends_the_experiment_ends_its_trials(kept: Kept) -> None:
    class AfterThree(tune.Stopper):
        seen = 0

        def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
            self.seen += 1
            return False

        def stop_all(self) -> bool:
            return self.seen >= 3

    space = {"x": tune.grid_search([1, 2, 3]), "steps": 100, "saves": False}
    options: dict[str, Any] = {"storage_path": kept().storage_path, "name": "ended", "resources_per_trial": {"cpu": 1}}
    analysis = tune.run(trainables.steps, config=space, stop=AfterThree(), max_concurrent_trials=2, **options)
    assert {each.status for each in analysis.trials} == {"TERMINATED"}
    assert sum(len(each.reports) for each in analysis.trials) < 20
    restored = tune.Tuner.restore(analysis.experiment_path, trainables.steps).get_results()
    assert {each.state for each in restored} <= {"stopped"}
