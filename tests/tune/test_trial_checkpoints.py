"""The copy of another trial's checkpoint, with which a trial goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from nbaccel.train import CheckpointConfig
from nbaccel.train.journal import Kept
from nbaccel.tune import trial_files
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
    trial_files.settle(str(tmp_path), trial, remove=True)
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
