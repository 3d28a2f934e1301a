"""Going on with an experiment: its journal, another process, another folder."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbaccel import tune
from nbaccel.train import storage
from nbaccel.train.journal import Kept as KeptCheckpoint
from nbaccel.tune import experiment_journal
from nbaccel.tune.experiment_journal import ExperimentJournal
from nbaccel.tune.schedulers import ASHAScheduler
from nbaccel.tune.trial import Trial, TrialState
from tests.disks import tiny_disk
from tests.rig import wait_until
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]


def journal_of(folder: Path) -> bytes:
    return (folder / experiment_journal.FILE).read_bytes()


def written(folder: Path) -> bytes:
    """A journal with every kind of line."""
    journal = ExperimentJournal(folder)
    journal.begin({"experiment": "e", "metric": "loss", "mode": "min", "seed": 1})
    first, second = Trial("a_0", 0, {"lr": 0.1, "pair": (1, 2)}), Trial("a_1", 1, {"lr": 0.2, "f": len})
    for trial in (first, second):
        journal.trial(trial)
        trial.attempts = 1
        journal.attempt(trial)
    journal.report(first, 0, {"loss": 0.5})
    journal.checkpoint(first, KeptCheckpoint("checkpoint_000000", 0, {"loss": 0.5}))
    journal.report(second, 0, {"loss": float("nan")})
    first.state = TrialState.DONE
    journal.state(first)
    second.state, second.error_words, second.failures = TrialState.ERROR, "ValueError: no", 1
    journal.state(second)
    journal.end("finished")
    journal.close()
    return journal_of(folder)


def test_a_journal_gives_back_what_was_written(tmp_path: Path) -> None:
    written(tmp_path)
    past = experiment_journal.read(tmp_path)
    assert past is not None and past.ended == "finished" and past.facts["seed"] == 1
    first, second = past.trials.values()
    assert first.config == {"lr": 0.1, "pair": (1, 2)} and first.state is TrialState.DONE
    assert [each.folder for each in first.kept] == ["checkpoint_000000"] and first.last == {"loss": 0.5}
    assert second.unknown == {"f": "<built-in function len>"} and second.error_words == "ValueError: no"
    assert second.attempts == 1 and second.failures == 1


@pytest.mark.parametrize("was_killed", [False, True])
def test_the_clocks_stand_still_while_no_program_runs_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_killed: bool
) -> None:
    now = [1000.0]
    monkeypatch.setattr(experiment_journal.time, "time", lambda: now[0])

    def program(starts_at: float) -> None:
        journal = ExperimentJournal(tmp_path, experiment_journal.read(tmp_path))
        now[0] = starts_at
        journal.begin({"experiment": "e", "metric": "loss", "mode": "min", "seed": 1})
        trial = Trial("a_0", 0, {}, attempts=1 if starts_at == 1000.0 else 2)
        journal.trial(trial)
        now[0] += 1
        journal.attempt(trial)
        now[0] += 5
        journal.report(trial, 0, {"loss": 1.0, "timestamp": int(now[0])})
        if not was_killed:
            journal.end("failed")
        journal.flush()
        journal.close()

    program(1000.0)
    program(90_000.0)
    past = experiment_journal.read(tmp_path)
    assert past is not None and past.lasted_s() == 12
    (trial,) = past.trials.values()
    assert trial.ended_at - trial.started_at - trial.idle_s == 10
    trial.begins(200_000.0)
    assert 200_000.0 - trial.started_at - trial.idle_s == 10, "it goes on where it was"


def test_a_journal_that_was_cut_anywhere_is_read_up_to_the_cut(tmp_path: Path) -> None:
    whole = written(tmp_path)
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        (tmp_path / experiment_journal.FILE).write_bytes(whole[:cut])
        past = experiment_journal.read(tmp_path)
        assert past is not None and past.length == max((end for end in ends if end <= cut), default=0)
    past = experiment_journal.read(tmp_path)
    ExperimentJournal(tmp_path, past).close()
    assert journal_of(tmp_path) == whole[: ends[-2]]  # the next writer removes the rest


def test_a_journal_of_a_later_version_is_told(tmp_path: Path) -> None:
    (tmp_path / experiment_journal.FILE).write_text('{"v": 2, "experiment": "e"}\n')
    with pytest.raises(ValueError, match="written by a later version of nbaccel"):
        experiment_journal.read(tmp_path)


@pytest.mark.parametrize(
    "text", ['{"v": "2.1"}', '{"v": 1}', '{"trial": "x", "state": "done"}', '{"v": 1, "trial": 3}']
)
def test_a_journal_that_was_changed_or_is_anothers_says_from_which_line(tmp_path: Path, text: str) -> None:
    (tmp_path / experiment_journal.FILE).write_text('{"a": 1}\n' + text + "\n")
    assert not tune.Tuner.can_restore(tmp_path)
    with pytest.raises(ValueError, match=r"Line 2 of .*experiment\.jsonl does not go with those before it"):
        tune.Tuner.restore(tmp_path, trainables.square)


def test_lines_of_another_program_that_are_nested_too_deeply_are_no_experiment(tmp_path: Path) -> None:
    (tmp_path / experiment_journal.FILE).write_text("[" * 100_000 + "\n")
    assert not tune.Tuner.can_restore(tmp_path)


class Speechless:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


ODD = {
    "wide": np.longdouble(1.5),
    "day": np.datetime64("2020-01-01"),
    "huge": 10**5000,
    "object": Speechless(),
    "marks": {"__tuple__": 3},
    "__repr__": "3",
    "single": np.float32(0.5),
}


@pytest.mark.usefixtures("cluster")
def test_odd_parameters_end_no_experiment_and_are_given_again_where_the_journal_cannot_hold_them(kept: Kept) -> None:
    space = {
        "x": tune.grid_search([1, 2]),
        "one": tune.sample_from(lambda config: Speechless() if config.x == 1 else 10**5000),
        **ODD,
    }
    results = tune.Tuner(trainables.square, param_space=space, run_config=kept()).fit()
    assert results.num_terminated == 2 and "Speechless, whose text raises" in str(results.seen())
    past = experiment_journal.read(results.experiment_path)
    assert past is not None
    trial = next(iter(past.trials.values()))
    assert (trial.config["single"], trial.config["__repr__"], trial.config["x"]) == (0.5, "3", 1)
    assert set(trial.unknown) == {"one", "wide", "day", "huge", "object", "marks"}
    more = tune.TuneConfig(num_samples=2)
    again = tune.Tuner.restore(results.experiment_path, trainables.square, param_space=space, tune_config=more).fit()
    assert again.num_terminated == 4 and again[3].config["marks"] == {"__tuple__": 3}


def test_experiments_of_one_name_that_begin_at_one_time_have_a_folder_each(tmp_path: Path) -> None:
    begin = threading.Barrier(8)

    def opened(_: int) -> str:
        begin.wait()
        found = experiment_journal.open_new(tune.RunConfig(name="same", storage_path=str(tmp_path / "runs")), "")
        found.close()
        return found.name

    with ThreadPoolExecutor(8) as threads:
        names = set(threads.map(opened, range(8)))
    assert names == {"same", *(f"same-{number}" for number in range(2, 9))}


def test_a_folder_without_an_experiment_cannot_be_restored(tmp_path: Path) -> None:
    assert not tune.Tuner.can_restore(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no experiment of nbaccel"):
        tune.Tuner.restore(tmp_path, trainables.square)


@pytest.mark.usefixtures("cluster")
class TestGoingOn:
    """With real workers."""

    def interrupted(self, kept: Kept, tmp_path: Path, space: Any = None, **options: Any) -> Path:
        """An experiment of four trials whose journal ends before the end of the third."""
        space = space or {"x": tune.grid_search([0, 1, 2, 3])}
        config = tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=1, **options)
        tuner = tune.Tuner(trainables.square, param_space=space, tune_config=config, run_config=kept())
        folder = Path(tuner.fit().experiment_path)
        lines = journal_of(folder).splitlines(keepends=True)
        ends = [index for index, line in enumerate(lines) if "state" in json.loads(line)]
        (folder / experiment_journal.FILE).write_bytes(b"".join(lines[: ends[2]]))
        return folder

    def test_finished_trials_stay_finished_and_a_moved_folder_works(self, kept: Kept, tmp_path: Path) -> None:
        folder = self.interrupted(kept, tmp_path)
        moved = tmp_path / "elsewhere"
        shutil.move(folder, moved)
        before = tune.Tuner.restore(moved, trainables.square).get_results()
        assert [each.state for each in before] == ["done", "done", "running", "pending"]
        results = tune.Tuner.restore(moved, trainables.square).fit()
        assert [(each.config["x"], each.state) for each in results] == [(x, "done") for x in range(4)]
        trials = [json.loads(line) for line in journal_of(moved).splitlines()]
        attempts = [line["trial"][-1] for line in trials if "attempt" in line]
        assert attempts == ["0", "1", "2", "2", "3"]
        assert results.get_best_result().config["x"] == 0  # metric and mode come from the journal

    def test_what_the_journal_cannot_hold_comes_from_the_space_again(self, kept: Kept, tmp_path: Path) -> None:
        space = {"x": tune.grid_search([0, 1, 2, 3]), "function": len, "y": tune.uniform(0, 1)}
        folder = self.interrupted(kept, tmp_path, space)
        with pytest.raises(ValueError, match=r"could not store \(function=<built-in function len>\): pass"):
            tune.Tuner.restore(folder, trainables.square).fit()
        results = tune.Tuner.restore(folder, trainables.square, param_space=space).fit()
        assert results[3].config["function"] is len and len({each.config["y"] for each in results}) == 4

    def test_a_scheduler_with_plain_options_comes_back(self, kept: Kept, tmp_path: Path) -> None:
        folder = self.interrupted(kept, tmp_path, scheduler=ASHAScheduler(max_t=5, reduction_factor=2))
        tuner = tune.Tuner.restore(folder, trainables.square)
        runner = tuner._start()
        runner.wait_with_ladder()
        assert isinstance(runner.experiment.scheduler, ASHAScheduler) and runner.experiment.scheduler._max_t == 5

    def test_another_trainable_and_other_parameters_are_refused_as_in_ray(self, kept: Kept) -> None:
        space = {"x": tune.grid_search([1, 2]), "model": {"layers": 1}}
        folder = tune.Tuner(trainables.square, param_space=space, run_config=kept()).fit().experiment_path
        with pytest.raises(ValueError, match="the experiment has run square, and not raises"):
            tune.Tuner.restore(folder, trainables.raises)
        for other in ({"x": 1}, {"x": 1, "model": {"depth": 1}}, {**space, "y": 1}):
            with pytest.raises(ValueError, match=r"has the parameters \['model/layers', 'x'\], and not \["):
                tune.Tuner.restore(folder, trainables.square, param_space=other)
        again = tune.with_resources(trainables.square, {"CPU": 2})
        assert len(tune.Tuner.restore(folder, again, param_space=space).get_results()) == 2

    def test_a_folder_may_be_named_as_a_file_url_or_in_the_local_filesystem(self, kept: Kept, tmp_path: Path) -> None:
        url = f"file://{tmp_path}/urls"
        run = tune.run(trainables.square, config={"x": 1}, name="one", storage_path=url)
        assert run.experiment_path == f"{tmp_path}/urls/one"
        assert tune.Tuner.can_restore(f"{url}/one")
        results = tune.Tuner.restore(f"{url}/one", trainables.square).get_results()
        assert tune.Result.from_path(f"file://{results[0].path}").metrics == results[0].metrics
        assert len(tune.ExperimentAnalysis(f"{url}/one").trials) == 1
        local = pytest.importorskip("pyarrow.fs").LocalFileSystem()
        config = tune.RunConfig(name="two", storage_path=str(tmp_path), storage_filesystem=local)
        results = tune.Tuner(trainables.square, param_space={"x": 1}, run_config=config).fit()
        assert results.experiment_path == f"{tmp_path}/two" and tune.Tuner.can_restore(f"{tmp_path}/two", local)
        with pytest.raises(NotImplementedError, match="takes no URL and no storage_filesystem but a local one"):
            tune.RunConfig(storage_path="s3://bucket/runs")

    def test_failed_trials_run_again_if_asked(self, kept: Kept, tmp_path: Path) -> None:
        f, space = trainables.raises_until, {"x": tune.grid_search([1, 2]), "mended": str(tmp_path / "mended")}
        folder = tune.Tuner(f, param_space=space, run_config=kept()).fit().experiment_path
        (tmp_path / "mended").touch()
        assert [each.state for each in tune.Tuner.restore(folder, f).fit()] == ["error", "done"]
        earlier = tune.Tuner.restore(folder, f).get_results().errors
        assert str(earlier[0]).endswith("failed in an earlier process: ValueError: an odd number")
        results = tune.Tuner.restore(folder, f, resume_errored=True).fit()
        assert [each.state for each in results] == ["done", "done"] and results[0].metrics["loss"] == 1  # type: ignore[index]

    def test_what_is_kept_of_checkpoints_comes_back(self, kept: Kept, tmp_path: Path) -> None:
        space = {"x": 1, "steps": 5, "fails_in": 3, "how": "raise", "folder": str(tmp_path)}
        config = kept(checkpoint_config=tune.CheckpointConfig(num_to_keep=1))
        folder = tune.Tuner(trainables.steps, param_space=space, run_config=config).fit().experiment_path
        (result,) = tune.Tuner.restore(folder, trainables.steps, resume_errored=True).fit()
        assert result.error is None and len(list(Path(result.path).glob("checkpoint_*"))) == 1

    def test_two_experiments_of_a_name_have_two_folders(self, kept: Kept) -> None:
        for name in ("experiment", "experiment-2"):
            results = tune.Tuner(trainables.square, param_space={"x": 1}, run_config=kept()).fit()
            assert Path(results.experiment_path).name == name

    def test_an_experiment_under_way_is_not_restored(self, kept: Kept, tmp_path: Path) -> None:
        space = {"x": 1, "folder": str(tmp_path)}
        runner = tune.Tuner(trainables.until_stopped, param_space=space, run_config=kept())._start()
        with pytest.raises(tune.TuneError, match=f"is under way in process {os.getpid()}"):
            tune.Tuner.restore(runner.path, trainables.until_stopped).fit()
        runner.stop()
        runner.wait_with_ladder()

    def test_a_finished_experiment_may_be_given_more_samples(self, kept: Kept) -> None:
        space = {"x": tune.uniform(0, 1)}
        config = tune.TuneConfig(metric="loss", mode="min", num_samples=2)
        first = tune.Tuner(trainables.square, param_space=space, tune_config=config, run_config=kept()).fit()
        more = tune.TuneConfig(num_samples=5)
        results = tune.Tuner.restore(first.experiment_path, trainables.square, tune_config=more).fit()
        assert [each.config for each in results][:2] == [each.config for each in first]
        assert len({each.config["x"] for each in results}) == 5 and all(each.state == "done" for each in results)

    def test_a_space_with_a_function_is_given_again_for_more_samples(self, kept: Kept) -> None:
        space = {"x": tune.sample_from(lambda config: random.random())}
        first = tune.Tuner(trainables.square, param_space=space, run_config=kept()).fit()
        more = tune.TuneConfig(num_samples=2)
        with pytest.raises(ValueError, match="has not made all its trials, and its journal could not store"):
            tune.Tuner.restore(first.experiment_path, trainables.square, tune_config=more).fit()
        again = tune.Tuner.restore(first.experiment_path, trainables.square, param_space=space, tune_config=more).fit()
        assert len(again) == 2

    def test_samples_that_were_added_are_not_forgotten(self, kept: Kept) -> None:
        space = {"x": tune.grid_search([1, 2, 3])}
        config = tune.TuneConfig(metric="loss", mode="min", num_samples=2)
        first = tune.Tuner(trainables.square, param_space=space, tune_config=config, run_config=kept()).fit()
        folder = Path(first.experiment_path)
        more = tune.TuneConfig(num_samples=4, max_concurrent_trials=1)
        tune.Tuner.restore(folder, trainables.square, tune_config=more).fit()
        lines = journal_of(folder).splitlines(keepends=True)
        made = [index for index, line in enumerate(lines) if "config" in json.loads(line)]
        (folder / experiment_journal.FILE).write_bytes(b"".join(lines[: made[8]]))  # 8 of 12 trials were made
        assert len(tune.Tuner.restore(folder, trainables.square).fit()) == 12

    def test_run_resumes_by_name(self, kept: Kept, tmp_path: Path) -> None:
        folder = self.interrupted(kept, tmp_path)
        analysis = tune.run(trainables.square, name="experiment", storage_path=folder.parent, resume=True)
        assert len(analysis.trials) == 4 and analysis.experiment_path == str(folder)

    def test_wherever_its_lines_end_an_experiment_loses_no_trial_and_repeats_none(self, kept: Kept) -> None:
        """The driver is as if killed after each line of the journal."""
        space = {"x": tune.grid_search([1, 2]), "steps": 2}
        config = tune.TuneConfig(max_concurrent_trials=1)
        tuner = tune.Tuner(trainables.steps, param_space=space, tune_config=config, run_config=kept())
        folder = Path(tuner.fit().experiment_path)
        lines = journal_of(folder).splitlines(keepends=True)
        for number in range(3, len(lines)):
            cut = folder.with_name(f"cut-{number}")
            shutil.copytree(folder, cut, ignore=lambda path, names: {storage.LOCK} & set(names))
            (cut / experiment_journal.FILE).write_bytes(b"".join(lines[:number]))
            goes_on_well(cut, trainables.steps, steps=2, trials=2)

    def test_an_experiment_that_finds_the_disk_full_goes_on_when_there_is_room(
        self, kept: Kept, tmp_path: Path
    ) -> None:
        class Filling(tune.Callback):
            def on_trial_complete(self, *args: Any, **info: Any) -> None:
                fill(disk / "filler")

        space = {"x": tune.grid_search(list(range(40)))}
        options = tune.TuneConfig(max_concurrent_trials=1)
        words = r"could not write to .*: No space left on device. Make room and go on with tune.Tuner.restore"
        with tiny_disk(tmp_path / "runs", "size=1m") as disk:
            for name, callbacks in (("experiment", [Filling()]), ("other", [])):
                config = kept(name, callbacks=callbacks)
                tuner = tune.Tuner(trainables.square, param_space=space, tune_config=options, run_config=config)
                with pytest.raises(tune.TuneError, match=words):
                    tuner.fit()
            (disk / "filler").unlink()
            before = tune.Tuner.restore(disk / "experiment", trainables.square).get_results()
            results = tune.Tuner.restore(disk / "experiment", trainables.square, run_config=kept()).fit()
            assert 0 < before.num_terminated < 40 and results.num_terminated == 40
            states = [line for line in map(json.loads, lines_of(disk / "experiment")) if "state" in line]
            assert len({line["trial"] for line in states}) == len(states) == 40


def fill(path: Path) -> None:
    """Leave no room on the disk."""
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def goes_on_well(folder: Path, trainable: Any, *, steps: int, trials: int) -> None:
    """Go on with an experiment whose driver was killed. No finished trial runs again, one under way goes on from its
    last checkpoint and is counted as started again, and none is lost.
    """
    past = experiment_journal.read(folder)
    assert past is not None
    before = {id: (trial.has_ended, trial.state, trial.attempts, len(trial.kept)) for id, trial in past.trials.items()}
    length = past.length
    results = tune.Tuner.restore(folder, trainable).fit()
    assert len(results) == trials and all(each.state == "done" for each in results)
    later = [json.loads(line) for line in journal_of(folder)[length:].splitlines()]
    ran = {line["trial"]: line for line in later if "attempt" in line}
    assert ran.keys() == {id for id, (has_ended, *_) in before.items() if not has_ended}
    for id, line in ran.items():
        _, state, attempts, checkpoints = before[id]
        assert line["attempt"] == attempts + 1 and (attempts >= 1) == (state is TrialState.RUNNING)
        # A checkpoint whose line was cut is made again.
        assert line["first"] == checkpoints, "it begins after its last checkpoint"
    assert [[each["step"] for each in result.history] for result in results] == [list(range(steps))] * trials


NURSERY = """
import os, signal, sys
import nbaccel
from nbaccel import tune
from tests.tune import trainables
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    folder, kept = line.split()
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        nbaccel.init(num_cpus=3)
        if os.path.exists(kept + "/experiment"):
            tune.Tuner.restore(kept + "/experiment", trainables.counted).fit()
        else:
            space = {"x": tune.grid_search(list(range(12))), "folder": folder}
            config = tune.RunConfig(name="experiment", storage_path=kept)
            tune.Tuner(trainables.counted, param_space=space, run_config=config).fit()
    finally:
        os._exit(0)
"""


@pytest.fixture
def nursery() -> Iterator[subprocess.Popen[str]]:
    """A process that works on the experiment whose folders are written to it, with a driver for each line."""
    made = subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with made:
        yield made
        assert made.stdin is not None
        made.stdin.close()


def lives_until_killed(nursery: subprocess.Popen[str], folder: Path, random_: random.Random) -> None:
    """Let a driver work, and kill it when the journal has grown by a random number of lines, or at its end."""
    assert nursery.stdin is not None and nursery.stdout is not None
    experiment = folder / "runs" / "experiment"
    wanted = len(lines_of(experiment)) + random_.randrange(1, 50)
    nursery.stdin.write(f"{folder} {folder / 'runs'}\n")
    pid = int(nursery.stdout.readline())
    is_over = lambda: not Path(f"/proc/{pid}").exists()  # noqa: E731
    wait_until(lambda: is_over() or len(lines_of(experiment)) >= max(wanted, 14), "lines in the journal")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(is_over, "the driver's end")
    wait_until(lambda: is_unlocked(experiment), "the lock of the killed driver")


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_after_the_driver_was_killed_no_finished_trial_runs_again_and_none_is_lost(
    nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    """The driver that goes on is killed as well."""
    random_ = random.Random()
    for _ in range(2):
        lives_until_killed(nursery, tmp_path, random_)
    goes_on_well(tmp_path / "runs" / "experiment", trainables.counted, steps=4, trials=12)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cluster")
def test_fifty_experiments_whose_drivers_were_killed_lose_no_trial(
    nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    random_ = random.Random()
    for number in range(50):
        folder = tmp_path / str(number)
        folder.mkdir()
        lives_until_killed(nursery, folder, random_)
        goes_on_well(folder / "runs" / "experiment", trainables.counted, steps=4, trials=12)


def lines_of(folder: Path) -> list[bytes]:
    try:
        return journal_of(folder).splitlines()
    except FileNotFoundError:
        return []


def is_unlocked(folder: Path) -> bool:
    from nbaccel.train.storage import RunLock

    try:
        RunLock(str(folder)).release()
    except OSError:
        return False
    return True
