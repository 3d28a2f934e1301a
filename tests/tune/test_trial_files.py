"""A trial's folder: it is where the trial works, and has its parameters, its reports and what it printed."""

from __future__ import annotations

import csv
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import tune
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]

pytestmark = pytest.mark.usefixtures("cluster")


def writes(config: dict[str, Any]) -> dict[str, Any]:
    """Write a file of one name in each trial."""
    print("to stdout")
    print("to stderr", file=sys.stderr)
    Path("out.txt").write_text(str(config["x"]))
    return {"here": os.getcwd(), "first": os.environ.get("TUNE_ORIG_WORKING_DIR")}


def rows(path: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    lines = (Path(path) / "result.json").read_text().splitlines()
    with open(Path(path) / "progress.csv", newline="") as file:
        return [json.loads(line) for line in lines], list(csv.DictReader(file))


def test_each_trial_works_in_its_own_folder_and_its_worker_goes_back(kept: Kept) -> None:
    results = tune.Tuner(writes, param_space={"x": tune.grid_search(list(range(6)))}, run_config=kept()).fit()
    for result in results:
        assert result.metrics is not None and result.metrics["here"] == result.path
        assert (Path(result.path) / "out.txt").read_text() == str(result.config["x"])
        assert result.metrics["first"] == os.getcwd()


@pytest.mark.parametrize("how", ["config", "variable"])
def test_trials_may_all_work_where_the_program_began(kept: Kept, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "variable":
        monkeypatch.setenv("RAY_CHDIR_TO_TRIAL_DIR", "0")
    config = tune.TuneConfig(chdir_to_trial_dir=False) if how == "config" else tune.TuneConfig()
    (result,) = tune.Tuner(where, param_space={"x": 1}, tune_config=config, run_config=kept()).fit()
    assert result.metrics is not None and result.metrics["here"] == os.getcwd() and os.path.isdir(result.path)


def where(config: dict[str, Any]) -> dict[str, Any]:
    return {"here": os.getcwd()}


def test_the_folder_has_the_parameters_and_a_line_for_each_report(kept: Kept) -> None:
    space = {"x": tune.grid_search([1, 2]), "steps": 3, "saves": False, "deep": {"y": 0.5}}
    results = tune.Tuner(trainables.steps, param_space=space, run_config=kept()).fit()
    for result in results:
        assert json.loads((Path(result.path) / "params.json").read_text()) == result.config
        lines, table = rows(result.path)
        assert [each["loss"] for each in lines] == [each["loss"] for each in result.history]
        assert [int(each["training_iteration"]) for each in table] == [1, 2, 3]
        assert [each["config/deep/y"] for each in table] == ["0.5"] * 3
        assert lines[-1]["trial_id"] == result.trial_id and lines[-1]["config"] == result.config


def test_reports_that_a_failed_trial_makes_again_are_there_once(kept: Kept, tmp_path: Path) -> None:
    space = {"x": 1, "steps": 4, "fails_in": 2, "how": "raise", "folder": str(tmp_path)}
    config = kept(failure_config=tune.FailureConfig(max_failures=1))
    (result,) = tune.Tuner(trainables.steps, param_space=space, run_config=config).fit()
    lines, table = rows(result.path)
    assert [each["step"] for each in lines] == [0, 1, 2, 3] == [int(each["step"]) for each in table]


def test_a_failed_trial_has_its_error_in_a_file(kept: Kept) -> None:
    again = tune.FailureConfig(max_failures=1)
    tuner = tune.Tuner(trainables.raises, param_space={"x": 1}, run_config=kept(failure_config=again))
    (result,) = results = tuner.fit()
    text = (Path(result.path) / "error.txt").read_text()
    first, second = (text.index(f"Failure # {number} (occurred at ") for number in (1, 2))
    assert first == 0 and text.count("an odd number") == 2 * text[second:].count("an odd number") > 0
    found = pickle.loads((Path(result.path) / "error.pkl").read_bytes())
    assert isinstance(found, ValueError) and isinstance(found, nbaccel.exceptions.RayTaskError)
    (trial,) = results._trials
    assert trial.get_error() == text and isinstance(trial.get_pickled_error(), ValueError)
    assert [os.path.basename(each or "") for each in (trial.error_file, trial.pickled_error_file)] == [
        "error.txt",
        "error.pkl",
    ]


def test_parameters_that_json_cannot_hold_are_in_a_pickle(kept: Kept) -> None:
    space = {"x": 1, "pair": (1, 2), "function": where}
    (result,) = tune.Tuner(trainables.square, param_space=space, run_config=kept()).fit()
    assert pickle.loads((Path(result.path) / "params.pkl").read_bytes()) == result.config
    space = {"x": 1, "lock": tune.sample_from(threading.Lock)}  # the trial cannot be sent either
    (result,) = tune.Tuner(trainables.square, param_space=space, run_config=kept("second")).fit()
    assert result.error is not None and sorted(os.listdir(result.path)) == ["error.pkl", "error.txt", "params.json"]


@pytest.mark.parametrize(
    ("given", "files"),
    [
        (True, {"stdout": "to stdout\n", "stderr": "to stderr\n"}),
        ("all.txt", {"all.txt": "to stdout\nto stderr\n"}),
        (("o", "e"), {"o": "to stdout\n", "e": "to stderr\n"}),
        (False, {}),
    ],
)
def test_what_a_trial_prints_is_in_files_if_asked(kept: Kept, given: Any, files: dict[str, str]) -> None:
    (result,) = tune.Tuner(writes, param_space={"x": 1}, run_config=kept(log_to_file=given)).fit()
    known = {"out.txt", "params.json", "params.pkl", "result.json", "progress.csv"}
    found = {each.name: each.read_text() for each in Path(result.path).iterdir() if each.name not in known}
    assert found == files


def test_the_files_of_reports_may_be_left_out_as_in_ray(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    (result,) = tune.Tuner(trainables.square, param_space={"x": 1}, run_config=kept()).fit()
    assert os.listdir(result.path) == []
