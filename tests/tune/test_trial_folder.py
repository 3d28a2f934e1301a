"""The folder of a trial, in which two attempts may write at one time: one whose driver was killed, and the next."""

from __future__ import annotations

from pathlib import Path

from nbaccel.train.journal import Kept
from nbaccel.tune import experiment_journal
from nbaccel.tune.trial import Trial


def files(folder: Path, words: str, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).write_text(words)
    return str(folder)


def content(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


def test_a_process_of_an_earlier_attempt_cannot_touch_the_next_ones_checkpoint(tmp_path: Path) -> None:
    trial = tmp_path / "a_0"
    old, new = files(tmp_path / "old", "old", "model", "more"), files(tmp_path / "new", "new", "model")
    experiment_journal.bring(old, str(trial), 1, 3, move=False)
    experiment_journal.bring(new, str(trial), 2, 3, move=False)
    assert experiment_journal.commit(str(trial), 2, 3) == "checkpoint_000003"
    experiment_journal.bring(files(tmp_path / "late", "late", "model2"), str(trial), 1, 3, move=False)
    assert content(trial / "checkpoint_000003") == {"model": "new"}


def test_what_an_attempt_left_is_removed_when_the_next_driver_opens_the_experiment(tmp_path: Path) -> None:
    trial = Trial("a_0", 0, {}, kept=[Kept("checkpoint_000001", 1, {}), Kept("checkpoint_000002", 2, {})])
    folder = tmp_path / trial.id
    for report in (1, 3):  # the second was deleted by hand, and the third did not come into the journal
        experiment_journal.bring(files(tmp_path / f"source{report}", "x", "model"), str(folder), 1, report, move=False)
        experiment_journal.commit(str(folder), 1, report)
    experiment_journal.bring(files(tmp_path / "source4", "x", "model"), str(folder), 1, 4, move=False)
    experiment_journal.settle(str(tmp_path), trial, remove=True)
    assert [each.folder for each in trial.kept] == ["checkpoint_000001"]
    assert [each.name for each in folder.iterdir()] == ["checkpoint_000001"]


def test_an_attempt_that_begins_anew_after_a_late_writer_still_commits(tmp_path: Path) -> None:
    trial = tmp_path / "a_0"
    experiment_journal.bring(files(tmp_path / "first", "1", "model"), str(trial), 1, 0, move=False)
    experiment_journal.clear(str(trial))
    experiment_journal.bring(files(tmp_path / "late", "late", "model"), str(trial), 1, 0, move=False)  # it still runs
    experiment_journal.bring(files(tmp_path / "second", "2", "model"), str(trial), 2, 0, move=True)
    experiment_journal.commit(str(trial), 2, 0)
    assert content(trial / "checkpoint_000000") == {"model": "2"}
