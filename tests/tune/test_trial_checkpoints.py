"""The checkpoints of a trial: their names, which are the best, and the copy of another trial's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from nbaccel import tune
from nbaccel.train import CheckpointConfig
from nbaccel.train.journal import Kept
from nbaccel.tune import experiment_journal
from nbaccel.tune.runner import TrialCheckpoints
from nbaccel.tune.trial import Trial


def donor(experiment: Path) -> Trial:
    """A trial that has a checkpoint."""
    folder = experiment / "donor" / "checkpoint_000003"
    folder.mkdir(parents=True)
    (folder / "a").write_text("weights")
    return Trial("donor", 0, {}, kept=[Kept(folder.name, 3, {})])


def checkpoints(experiment: Path, **config: Any) -> TrialCheckpoints:
    return TrialCheckpoints(str(experiment), MagicMock(), CheckpointConfig(**config))


def test_a_copy_that_is_cut_short_has_no_final_name_and_is_removed_at_the_next_start(tmp_path: Path) -> None:
    giver, trial = donor(tmp_path), Trial("taker", 1, {}, attempts=1)
    os.symlink("nowhere", tmp_path / "donor" / "checkpoint_000003" / "b")  # it cannot be copied
    with pytest.raises(OSError):
        checkpoints(tmp_path).copy_donor(trial, giver)
    assert [name for name in os.listdir(tmp_path / "taker") if not name.startswith(".")] == []
    experiment_journal.settle(str(tmp_path), trial, remove=True)
    assert os.listdir(tmp_path / "taker") == []


def test_a_copy_replaces_the_one_of_an_attempt_that_could_not_begin(tmp_path: Path) -> None:
    giver, trial = donor(tmp_path), Trial("taker", 1, {}, attempts=1)
    for words in ("earlier", "later"):
        (tmp_path / "donor" / "checkpoint_000003" / "a").write_text(words)
        checkpoints(tmp_path).copy_donor(trial, giver)
    assert os.listdir(tmp_path / "taker") == ["exploited_002"]
    assert (tmp_path / "taker" / "exploited_002" / "a").read_text() == "later"


@pytest.mark.parametrize(
    ("num_to_keep", "left"), [(1, ["exploited_003"]), (None, ["checkpoint_000001", "exploited_002", "exploited_003"])]
)
def test_a_trial_that_takes_over_again_keeps_what_it_is_to_keep(
    tmp_path: Path, num_to_keep: int | None, left: list[str]
) -> None:
    giver, trial = donor(tmp_path), Trial("taker", 1, {}, attempts=1)
    room = checkpoints(tmp_path, num_to_keep=num_to_keep)
    for _ in range(2):
        room.copy_donor(trial, giver)
        trial.attempts += 1
        room.take_over(trial)
        if trial.attempts == 2:
            (tmp_path / "taker" / "checkpoint_000001").mkdir()
            trial.kept.append(Kept("checkpoint_000001", 1, {}))
    assert sorted(os.listdir(tmp_path / "taker")) == left


def scores(config: dict[str, Any]) -> None:
    for score in config["scores"]:
        tune.report({"score": score})
        tune.report({"score": score}, checkpoint=tune.Checkpoint.save(score))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("keeps", "expected"),
    [
        ({}, [3, 9, 1, 7, 2]),
        ({"num_to_keep": 2}, [7, 2]),
        ({"checkpoint_score_attribute": "score"}, [1, 2, 3, 7, 9]),
        ({"checkpoint_score_attribute": "score", "num_to_keep": 2}, [7, 9]),
        ({"checkpoint_score_attribute": "score", "num_to_keep": 3, "checkpoint_score_order": "min"}, [3, 2, 1]),
    ],
)
def test_the_best_checkpoints_are_those_that_stay_and_the_last_is_the_best(
    kept: Callable[..., tune.RunConfig], keeps: dict[str, Any], expected: list[int]
) -> None:
    config = kept(checkpoint_config=tune.CheckpointConfig(**keeps))
    (result,) = results = tune.Tuner(scores, param_space={"scores": [3, 9, 1, 7, 2]}, run_config=config).fit()
    again = tune.Tuner.restore(results.experiment_path, scores).get_results()[0]
    for each in (result, again, tune.Result.from_path(result.path)):
        assert [metrics["score"] for _, metrics in each.best_checkpoints] == expected
        assert [checkpoint.load() for checkpoint, _ in each.best_checkpoints] == expected
        assert each.best_checkpoints[0][1]["config"] == result.config
        assert each.checkpoint is not None and os.path.basename(each.checkpoint.path) == "checkpoint_000004"
        assert each.checkpoint.load() == 2, "the latest one, also where it is none of the best"


def fails_once(config: dict[str, Any]) -> None:
    first = checkpoint.load() if (checkpoint := tune.get_checkpoint()) else 0
    for step in range(first, 4):
        if step == 2 and not os.path.exists(config["flag"]):
            raise ValueError("as it was asked to")
        tune.report({"step": step, "first": first}, checkpoint=tune.Checkpoint.save(step + 1))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("how", "first"), [("resume_errored", 2), ("restart_errored", 0)])
def test_a_failed_trial_with_checkpoints_goes_on_or_begins_anew(
    kept: Callable[..., tune.RunConfig], tmp_path: Path, how: str, first: int
) -> None:
    flag = tmp_path / "flag"
    results = tune.Tuner(fails_once, param_space={"flag": str(flag)}, run_config=kept()).fit()
    assert results.num_errors == 1
    flag.touch()
    (result,) = tune.Tuner.restore(results.experiment_path, fails_once, **{how: True}).fit()
    assert result.error is None and result.metrics is not None and result.metrics["first"] == first
    assert [each["step"] for each in result.history] == [0, 1, 2, 3]
    names = [os.path.basename(each.path) for each, _ in result.best_checkpoints]
    begun = 2 if first == 0 else 0  # as in Ray, whose numbers go on
    assert names == [f"checkpoint_00000{begun + number}" for number in range(4)]
    assert os.path.exists(os.path.join(result.path, "error.txt")) == (how == "resume_errored")
