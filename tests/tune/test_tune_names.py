"""The names of nbaccel.tune: cheap to import, and those that are not here say what to use."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbaccel
from nbaccel import train, tune
from nbaccel.tune import experiment_journal, search
from nbaccel.tune.trainable import name_of
from tests.census import Place
from tests.documented_names import documented, found, is_refused
from tests.tune import trainables


def test_importing_tune_loads_nothing_heavy() -> None:
    heavy = ["ray", "IPython", "numpy", "torch", "optuna", "pandas", "nbaccel.tune.runner", "nbaccel.tune.search"]
    program = f"import sys, nbaccel.tune; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_name_is_there() -> None:
    for name in tune.__all__:
        assert getattr(tune, name) is not None and name in dir(tune)
    assert issubclass(tune.FailureConfig, train.FailureConfig) and issubclass(tune.RunConfig, train.RunConfig)
    assert tune.Checkpoint is train.Checkpoint and issubclass(tune.Result, train.Result)
    assert issubclass(tune.CheckpointConfig, train.CheckpointConfig)


def test_what_is_not_here_says_what_to_use() -> None:
    with pytest.raises(NotImplementedError, match=r"register_env is not here: RLlib is not here"):
        tune.register_env("e", len)


def test_a_name_that_nobody_registered_is_an_error_of_tune() -> None:
    with pytest.raises(tune.TuneError, match="Unknown trainable: PPO"):
        tune.run("PPO")


@pytest.mark.parametrize("name", ["AxSearch", "HyperOptSearch", "TuneBOHB", "NevergradSearch"])
def test_other_searches_point_to_optuna(name: str) -> None:
    with pytest.raises(NotImplementedError, match=r"nbaccel searches by Optuna: .*OptunaSearch"):
        getattr(search, name)()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("search.hyperopt", "searches by Optuna, which has TPE .the method of HyperOpt.*OptunaSearch"),
        ("search.ax.ax_search", "searches by Optuna"),
        ("schedulers.pb2", "use nbaccel.tune.schedulers.ASHAScheduler"),
    ],
)
def test_the_modules_of_other_searches_and_schedulers_say_what_to_use(path: str, words: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=words):
        importlib.import_module(f"nbaccel.tune.{path}")


def test_arguments_of_ray_that_are_not_here_say_what_to_use() -> None:
    with pytest.raises(DeprecationWarning, match="pass storage_path"):  # as in Ray
        tune.run(len, local_dir="/tmp")
    with pytest.raises(NotImplementedError, match=r"LoggerCallbacks, callbacks=\[...\]"):
        tune.run(len, loggers=[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tune.Tuner(dict), "derived from nbaccel.tune.Trainable"),
        (lambda: tune.RunConfig(log_to_file=3), "True, False, the name of a file, or two names"),
        (lambda: tune.RunConfig(progress_reporter=3), r"takes nbaccel.tune.CLIReporter\(\)"),
        (lambda: tune.RunConfig(verbose=9), "must be 0, 1, 2 or 3"),
        (lambda: tune.CheckpointConfig(checkpoint_frequency=-1), "must be an int from 0"),
        (lambda: tune.Tuner(3), "must be a function of the config or a trainer, not 3"),
        (lambda: tune.TuneConfig(mode="maximum"), "must be 'min' or 'max'"),
        (lambda: tune.TuneConfig(num_samples=0), "must be an int from 1, or -1 for no end"),
        (lambda: tune.TuneConfig(max_concurrent_trials=-2), "None or an int from 1"),
        (lambda: tune.TuneConfig(scheduler="ash"), "There is no scheduler 'ash'"),
        (lambda: tune.TuneConfig(search_alg="hyperopt"), "'hyperopt' is not here: nbaccel searches by Optuna"),
        (lambda: tune.TuneConfig(scheduler=3), "takes a scheduler of nbaccel.tune.schedulers"),
        (lambda: tune.RunConfig(callbacks=[3]), "nbaccel.tune.Callback"),
        (lambda: tune.RunConfig(stop=3), "stop takes a dict"),
        (lambda: tune.Tuner(len, run_config=3), "takes nbaccel.tune.RunConfig"),
        (lambda: tune.TuneConfig(metric=["a", "b"]), r"name of a metric.*OptunaSearch\(metric=\["),
        (lambda: tune.TuneConfig(time_budget_s=float("nan")), "must be a number of seconds from 0"),
        (lambda: tune.TuneConfig(time_budget_s="10"), "must be a number of seconds from 0"),
        (lambda: tune.RunConfig(name="n" * 300), "has 300 bytes.*give a shorter one"),
        (lambda: tune.PlacementGroupFactory([{"CPU": 1}], strategy="NONE"), "must be one of: PACK"),
        (lambda: tune.run(len, name="e", resume="maybe"), "must be True, 'AUTO'"),
        (lambda: tune.run(len, name="e", resume="AUTO+SOME"), "must be True, 'AUTO'"),
        (lambda: tune.RunConfig(sync_config=3), "takes nbaccel.tune.SyncConfig"),
        (lambda: tune.FailureConfig(max_failures=1, fail_fast=True), "max_failures must be 0"),
    ],
)
def test_values_that_make_no_sense_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_numbers_of_numpy_are_numbers_and_a_budget_without_an_end_is_none() -> None:
    config = tune.TuneConfig(num_samples=np.int64(3), max_concurrent_trials=np.int32(2), time_budget_s=np.float32(5))
    assert (config.num_samples, config.max_concurrent_trials, config.time_budget_s) == (3, 2, 5.0)
    assert [type(each) for each in (config.num_samples, config.time_budget_s)] == [int, float]
    assert tune.TuneConfig(time_budget_s=math.inf).time_budget_s is tune.TuneConfig(time_budget_s=1e10).time_budget_s
    tune.RunConfig(stop={"loss": np.float32(0.5)})
    assert repr(tune.randint(np.int64(0), np.int64(5))) == "randint(0, 5)"
    assert (
        tune.uniform(np.float32(0), 1).lower == 0.0 and repr(tune.randn(np.float32(0), np.int64(1))) == "randn(0.0, 1)"
    )
    assert tune.randint(2**70, 2**70 + 2).last == 2**70 + 1  # no float holds it


def test_a_function_with_a_very_long_name_has_a_folder() -> None:
    def trainable(config: dict[str, Any]) -> None: ...

    trainable.__name__ = "x" * 300
    assert len(name_of(trainable)) == 50


def test_what_a_call_would_not_run_is_refused_when_the_tuner_is_made() -> None:
    async def coroutine(config: dict[str, Any]) -> None: ...

    with pytest.raises(ValueError, match=r"The trainable must be a plain function, but coroutine is an async one"):
        tune.Tuner(coroutine)
    with pytest.raises(ValueError, match="without @remote"):
        tune.run(nbaccel.remote(print))
    with pytest.raises(
        ValueError, match=r"has 2 required arguments: config, data\..*with_parameters\(trainable, data="
    ):
        tune.Tuner(lambda config, data: data)


def by_name(config: dict[str, Any], *, data: list[int]) -> float:
    return float(len(data))


async def coroutine(config: dict[str, Any]) -> None: ...


@pytest.mark.parametrize(
    ("trainable", "words"),
    [
        (lambda: by_name, r"by_name has 2 required arguments: config, data\..*with_parameters\(trainable, data="),
        (lambda: tune.with_resources(by_name, {"cpu": 1}), "by_name has 2 required arguments: config, data"),
        (lambda: tune.with_resources(coroutine, {"cpu": 1}), "coroutine is an async one"),
        (lambda: tune.with_parameters(by_name, dat=[1]), "by_name has 2 required arguments: config, data"),
        (lambda: tune.with_parameters(by_name, data=[1], dta=[1]), "no argument 'dta'. Did you mean data"),
        (
            lambda: tune.with_parameters(lambda data: 1, data=[1]),
            "the first argument of lambda is the config. Let it take two: config, data",
        ),
    ],
)
def test_arguments_that_no_trial_would_get_are_refused_when_the_tuner_is_made(
    cluster: Place, trainable: Any, words: str
) -> None:
    given = trainable()
    with pytest.raises(ValueError, match=words):
        tune.Tuner(given)


def test_resources_and_parameters_are_bound_in_either_order(cluster: Place) -> None:
    first = tune.with_parameters(tune.with_resources(by_name, {"cpu": 2}), data=[1])
    second = tune.with_resources(tune.with_parameters(by_name, data=[1]), {"cpu": 2})
    for bound in (first, second):
        tune.Tuner(bound)
        assert bound({}) == 1.0 and bound.resources == {"cpu": 2} and bound.__name__ == "by_name"


def test_a_misspelt_argument_is_told_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match=r"no argument 'num_sample'\. Did you mean num_samples"):
        tune.run(len, num_sample=3)


@pytest.mark.parametrize(
    ("resume", "unfinished", "errored", "restarted"),
    [
        (True, True, False, False),
        ("AUTO+ERRORED", True, True, False),
        ("AUTO+ERRORED_ONLY", False, True, False),
        ("AUTO+RESTART_ERRORED", True, False, True),
        ("AUTO+RESTART_ERRORED_ONLY", False, False, True),
        ("AUTO+ERRORED+ERRORED_ONLY", False, True, False),  # the last one counts, as in Ray
    ],
)
def test_resume_says_which_trials_go_on(
    resume: Any, unfinished: bool, errored: bool, restarted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(tune.Tuner, "can_restore", lambda folder: True)
    monkeypatch.setattr(tune.Tuner, "restore", lambda folder, trainable, **how: asked.update(how))
    with pytest.raises(AttributeError):  # there is no tuner to go on
        tune.run(len, name="e", storage_path=str(tmp_path), resume=resume)
    how = asked["_resume_config"]
    assert (how.unfinished.value, how.errored.value) == (
        "resume" if unfinished else "skip",
        "restart" if restarted else "resume" if errored else "skip",
    )


@pytest.mark.parametrize("resume", ["LOCAL", "REMOTE", "PROMPT", "ERRORED_ONLY", "LOCAL+ERRORED"])
def test_words_of_resume_that_ray_has_given_up_raise_its_error(resume: str) -> None:
    with pytest.raises(DeprecationWarning, match=f"'{resume.partition('+')[0]}'.*'AUTO'"):
        tune.run(len, name="e", resume=resume)


@pytest.mark.usefixtures("cluster")
def test_without_an_experiment_of_its_name_a_new_one_begins(kept: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name, resume in (("given", True), ("automatic", "AUTO+ERRORED"), (None, True)):
        run = tune.run(trainables.square, config={"x": 1}, name=name, storage_path=kept().storage_path, resume=resume)
        assert run.trials[0].status == "TERMINATED"
        assert ("so a new one begins" in capsys.readouterr().err) == (name == "given")


def test_what_a_sync_config_cannot_change_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    tune.SyncConfig()
    assert capsys.readouterr().err == ""
    tune.SyncConfig(sync_period=3, sync_artifacts=True)
    assert "SyncConfig(sync_period, sync_artifacts) changes nothing" in capsys.readouterr().err


def test_results_before_fit_are_told() -> None:
    with pytest.raises(RuntimeError, match="There are no results yet: call fit"):
        tune.Tuner(len).get_results()


def test_a_run_config_of_train_works_as_well() -> None:
    assert tune.Tuner(len, run_config=train.RunConfig(name="x"))._wanted.run.name == "x"


def test_only_a_name_that_somebody_gave_is_told_when_it_is_taken(tmp_path: Path) -> None:
    unnamed, named = train.RunConfig(storage_path=str(tmp_path)), train.RunConfig("mine", str(tmp_path))
    opened = [experiment_journal.open_new(config, "len_2026-11-21") for config in (unnamed, unnamed, named, named)]
    assert [each.name for each in opened] == ["len_2026-11-21", "len_2026-11-21-2", "mine", "mine-2"]
    assert [each.note != "" for each in opened] == [False, False, False, True]
    for each in opened:
        each.close()


NOT_HERE = documented("tuning.md", "Ray Tune's names", "not here")


def test_the_page_about_tuning_knows_which_of_rays_names_are_here() -> None:
    here = documented("tuning.md", "Ray Tune's names", "here")
    assert len(here) > 160 and len(set(here)) == len(here)
    for name in here:
        if not name.startswith("integration."):  # each needs its library
            assert found(tune, name) is not None and not is_refused(found(tune, name)), name


@pytest.mark.parametrize("name", NOT_HERE)
def test_each_name_that_is_not_here_says_what_to_use(name: str) -> None:
    with pytest.raises((NotImplementedError, ModuleNotFoundError), match=r"not here: |nbaccel has no "):
        found(tune, name)()
