"""The runs of a storage folder are read from their journals, without a cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from nbaccel import cli, tune
from nbaccel.train import CheckpointConfig
from nbaccel.train.journal import FILE, Journal, Kept, read
from nbaccel.train.storage import RunLock
from nbaccel.tune.experiment_journal import ExperimentJournal
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.views import stored_runs, tables
from nbaccel.views.stored_runs import StoredRun, runs


def train(storage: Path, name: str, end: str = "", error: str = "") -> Path:
    """A run's folder, as its driver writes it."""
    folder = storage / name
    folder.mkdir(parents=True)
    journal = Journal(folder)
    journal.begin(name, CheckpointConfig(), {"lr": 0.1, "model": len})
    journal.worker_group(0, 0, "", [])
    for number, loss in enumerate([1.0, 0.5]):
        journal.report(number, 0, {"loss": loss})
    journal.checkpoint(Kept("checkpoint_000001", 1, {"loss": 0.5}))
    if end:
        journal.end(end, error)
    journal.close()
    return folder


def sweep(storage: Path, name: str, mode: str | None = "min") -> None:
    folder = storage / name
    folder.mkdir(parents=True)
    journal = ExperimentJournal(folder)
    facts = {"metric": "loss" if mode else None, "mode": mode, "seed": 7, "total": 3}
    journal.begin({"experiment": name, "started": 1.0, **facts})
    for number, losses in enumerate([[0.3, 0.2], [0.1, float("nan")], [0.9, 0.4]]):
        trial = Trial(f"a_{number:05d}", number, {"lr": number / 10})
        journal.trial(trial)
        trial.attempts = 1
        journal.attempt(trial)
        for report, loss in enumerate(losses):
            journal.report(trial, report, {"loss": loss})
        trial.state = TrialState.DONE if number < 2 else TrialState.RUNNING
        if number < 2:
            journal.state(trial)
    journal.flush()
    journal.close()


def named(found: list[StoredRun], name: str) -> StoredRun:
    return next(each for each in found if each.name == name)


def test_a_run_has_its_state_its_last_metrics_and_its_error(tmp_path: Path) -> None:
    train(tmp_path, "good", "finished")
    train(tmp_path, "bad", "failed", "rank 1: ValueError: no\nmore")
    cut = train(tmp_path, "cut")
    with open(cut / "run.jsonl", "a") as file:
        file.write('{"report": 2, "metr')
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "run.jsonl").write_text("no journal\n")
    found = runs(tmp_path)
    assert [each.name for each in found] == ["cut", "bad", "good"]
    good, bad, cut_run = (named(found, name) for name in ("good", "bad", "cut"))
    assert (good.state, good.reports, good.metrics, good.error) == ("finished", 2, {"loss": 0.5}, "")
    assert (bad.state, bad.error) == ("failed", "rank 1: ValueError: no\nmore")
    assert (cut_run.state, cut_run.reports) == ("interrupted", 2)
    (cut / ".lock").write_text(str(os.getpid()))
    assert named(runs(tmp_path), "cut").state == "running"
    text = tables.as_text(stored_runs.table(runs(tmp_path), cut_run.ended_at + 9))
    assert (
        "● running" in text
        and "✕ failed" in text
        and "loss 0.5" in text
        and "ValueError: no" in text
        and "more" not in text
    )


def test_an_experiment_has_its_best_trial_and_how_many_have_ended(tmp_path: Path) -> None:
    sweep(tmp_path, "sweep")
    sweep(tmp_path, "uncompared", None)
    found = runs(tmp_path)
    best = named(found, "sweep")
    assert (best.kind, best.trials, best.trials_ended, best.metrics, best.config) == (
        "experiment", 3, 2, {"loss": 0.2}, {"lr": 0.0},
    )  # fmt: skip
    assert named(found, "uncompared").metrics == {}
    assert (
        "2 of 3 trials ended" in (text := tables.as_text(stored_runs.table([best], 2.0))) and "loss 0.2 with lr" in text
    )


def test_runs_are_chosen_by_state_and_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path, "mnist-1", "finished")
    train(tmp_path, "mnist-2", "stopped")
    sweep(tmp_path, "sweep")
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path))
    assert {each.name for each in runs(text="mnist")} == {"mnist-1", "mnist-2"}
    assert [each.name for each in tune.runs(state="stopped")] == ["mnist-2"]
    assert [each.name for each in runs(text="'lr': 0.0")] == ["sweep"]


def test_the_command_lists_runs_as_a_table_and_as_json(tmp_path: Path) -> None:
    train(tmp_path, "mnist", "finished")
    control: Any = None
    shown = CliRunner().invoke(cli.main, ["runs", str(tmp_path)], obj=control)
    assert shown.exit_code == 0 and "mnist" in shown.output and "✓ finished" in shown.output
    (row,) = json.loads(CliRunner().invoke(cli.main, ["runs", str(tmp_path), "--json"], obj=control).output)
    assert msgspec.convert(row, StoredRun) == runs(tmp_path)[0]
    empty = CliRunner().invoke(cli.main, ["runs"], obj=control, env={"NBACCEL_STORAGE": str(tmp_path / "none")})
    assert empty.exit_code == 1 and "nothing was stored yet" in empty.output
    none = CliRunner().invoke(
        cli.main, ["runs", "--json"], obj=control, env={"NBACCEL_STORAGE": str(tmp_path / "none")}
    )
    assert (none.exit_code, json.loads(none.output)) == (0, [])


@pytest.mark.parametrize("word", ["worker_group", "gang"])  # "gang": as older journals have it
def test_the_curves_of_a_run_have_its_config_and_nothing_that_was_made_again(word: str, tmp_path: Path) -> None:
    folder = train(tmp_path, "mnist")
    journal = Journal(folder, read(folder))
    journal.worker_group(1, 1, "checkpoint_000000", [])
    for number, loss in enumerate([0.4, 0.2], 1):
        journal.report(number, 0, {"loss": loss, "note": "text", "nan": float("nan")})
    journal.close()
    file = folder / FILE
    file.write_text(file.read_text().replace('"worker_group":', f'"{word}":'))
    (found,) = stored_runs.with_curves(tmp_path, ["mnist", "none", ".."])
    assert found.config == {"lr": 0.1, "model": "<built-in function len>"}
    (curve,) = found.curves
    assert curve.name == "loss" and [(at, value) for at, _, value in curve.points] == [(0, 1.0), (1, 0.4), (2, 0.2)]
    assert all(0 <= seconds < 60 for _, seconds, _ in curve.points) and runs(tmp_path)[0].curves == []
    sweep(tmp_path, "sweep")
    (best,) = stored_runs.with_curves(tmp_path, ["sweep"])
    assert [value for _, _, value in best.curves[0].points] == [0.3, 0.2] and best.config == {"lr": 0.0}


def test_a_run_is_deleted_unless_it_is_under_way_or_no_run(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    train(storage, "over", "finished")
    (storage / "notes").mkdir()
    (storage / "linked").symlink_to(train(tmp_path, "elsewhere"))
    lock = RunLock(str(train(storage, "busy")))
    try:
        with pytest.raises(BlockingIOError):
            stored_runs.delete(storage, "busy")
    finally:
        lock.release()
    for name in ("notes", "linked", "none", "..", "", "../elsewhere"):
        with pytest.raises(FileNotFoundError):
            stored_runs.delete(storage, name)
    stored_runs.delete(storage, "over")
    assert {each.name for each in storage.iterdir()} == {"notes", "linked", "busy"}
    (storage / "busy").rename(storage / ".busy.deleted")  # a deletion that was killed
    assert [each.name for each in runs(storage)] == ["elsewhere"]


def test_the_trials_of_an_experiment_are_told_the_best_first_and_have_curves(tmp_path: Path) -> None:
    sweep(tmp_path, "sweep")
    found = stored_runs.trials(tmp_path, "sweep")
    assert [(each.name, each.state, each.reports, each.config) for each in found] == [
        ("00000", "done", 2, {"lr": 0.0}),
        ("00002", "interrupted", 2, {"lr": 0.2}),
        ("00001", "done", 2, {"lr": 0.1}),  # without a number at last
    ]
    assert {each.kind for each in found} == {"trial"} and found[0].curves == []
    chosen = stored_runs.with_curves(
        tmp_path, ["sweep/a_00002", "sweep/a_00000", "sweep/none", "../sweep/a_00000", "none/a"]
    )
    assert [(each.name, [value for _, _, value in each.curves[0].points]) for each in chosen] == [
        ("00002", [0.9, 0.4]), ("00000", [0.3, 0.2]),
    ]  # fmt: skip
    assert stored_runs.trials(tmp_path, "..") == stored_runs.trials(tmp_path, "none") == []
    (tmp_path / "sweep" / ".lock").write_text(str(os.getpid()))
    assert [each.state for each in stored_runs.trials(tmp_path, "sweep")] == ["done", "running", "done"]
    told = CliRunner().invoke(cli.main, ["runs", str(tmp_path), "--trials", "sweep"])
    assert told.exit_code == 0 and "00002" in told.output and "● running" in told.output


def test_a_note_stays_in_the_folder_of_its_run(tmp_path: Path) -> None:
    folder = train(tmp_path, "mnist", "finished")
    (tmp_path / "notes").mkdir()
    assert "Note" not in tables.as_text(stored_runs.table(runs(tmp_path), 2.0))
    stored_runs.write_note(tmp_path, "mnist", "lr was too high\nsee é")
    (run,) = runs(tmp_path, text="too high")
    assert run.note == "lr was too high\nsee é" == stored_runs.with_curves(tmp_path, ["mnist"])[0].note
    assert (folder / "note.txt").read_text() == run.note and len(list(folder.iterdir())) == 2
    text = tables.as_text(stored_runs.table([run], 2.0))
    assert "Note" in text and "lr was too high" in text and "see é" not in text
    for name in ("notes", "none", "..", "../notes"):
        with pytest.raises(FileNotFoundError):
            stored_runs.write_note(tmp_path, name, "x")
    with pytest.raises(ValueError, match="at most 4,000 characters; this one has 4,001"):
        stored_runs.write_note(tmp_path, "mnist", "x" * 4001)
    stored_runs.write_note(tmp_path, "mnist", " ")
    assert runs(tmp_path)[0].note == "" and not (folder / "note.txt").exists()


def test_the_command_writes_a_note_or_says_why_it_cannot(tmp_path: Path) -> None:
    folder = train(tmp_path, "mnist", "finished")

    def command(*given: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli.main, ["runs", str(tmp_path), "--note", *given])
        return done.exit_code, done.output

    assert command("mnist", "-h is no option") == (0, "Saved the note of mnist.\n")
    assert runs(tmp_path)[0].note == "-h is no option"
    code, said = command("none", "x")
    assert code == 1 and "There is no run none in this folder any more." in said
    assert command("mnist", "x" * 4001)[0] == 1
    (folder / ".note.txt").mkdir()  # as root writes everywhere: what stands in the way of the file
    code, said = command("mnist", "other")
    assert code == 1 and "The folder of mnist cannot be written: Is a directory." in said
    assert runs(tmp_path)[0].note == "-h is no option"


def test_the_command_deletes_after_a_question(tmp_path: Path) -> None:
    folder = train(tmp_path, "mnist", "finished")

    def command(*given: str, says: str = "") -> tuple[int, str]:
        done = CliRunner().invoke(cli.main, ["runs", str(tmp_path), *given], input=says)
        return done.exit_code, done.output

    (row,) = json.loads(command("--curves=mnist")[1])
    assert [len(curve["points"]) for curve in row["curves"]] == [2]
    assert command("--delete=mnist", says="n\n")[0] == 0 and folder.exists()
    assert "Deleted mnist." in command("--delete=mnist", "--yes")[1] and not folder.exists()
    code, said = command("--delete=mnist", "--yes")
    assert code == 1 and "There is no run mnist in this folder any more." in said


def test_a_later_version_of_a_journal_is_left_out_where_it_cannot_be_read(tmp_path: Path) -> None:
    folder = train(tmp_path, "later")
    (folder / "run.jsonl").write_text('{"v": 9, "other": "words"}\n')
    assert runs(tmp_path) == []
