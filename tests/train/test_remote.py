"""Runs in remote storage: a copy follows, counts only when it is whole, and another machine goes on from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.train import CheckpointConfig, DataConfig, Result, RunConfig, ScalingConfig
from nbaccel.train.configs import BackendConfig, TrainRunContext
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.records import Records
from nbaccel.train.storage import OpenRun, open_run, storage_of
from tests.train import loops

fsspec = pytest.importorskip("fsspec")

URL = "memory://bucket/runs"
ONE = CheckpointConfig(num_to_keep=1)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """The names of all remote files; the storage is empty before and after."""
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path / "this machine"))
    memory = fsspec.filesystem("memory")
    yield lambda: sorted(name.removeprefix("/bucket/runs/") for name in memory.find("/bucket"))
    for name in list(memory.store):
        del memory.store[name]
    memory.pseudo_dirs[:] = [""]


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, this is another machine."""
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path / "another machine"))


def steps(opened: OpenRun, config: RunConfig, *numbers: int, tmp_path: Path) -> Records:
    """Commit a checkpoint for each number, as a run would."""
    from nbaccel.train import storage

    records = Records(opened, TrainRunContext(config, None, ScalingConfig(), BackendConfig(), DataConfig()))
    for number in numbers:
        (tmp_path / "mine" / "deep").mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / "deep" / "model").write_text(str(number))
        storage.bring(str(tmp_path / "mine"), opened.folder, number)
        records.report(0, number, {"loss": number})
        records.commit(number)
    return records


def begin(*numbers: int, tmp_path: Path, **options: Any) -> Records:
    config = RunConfig(name="run", storage_path=URL, **options)
    return steps(open_run(config, ""), config, *numbers, tmp_path=tmp_path)


def test_a_run_of_workers_is_copied_and_goes_on_elsewhere(
    cluster: Any, files: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fit(number: int) -> Result:
        config = RunConfig(name="run", storage_path=URL, checkpoint_config=ONE, resume=True)
        two = ScalingConfig(num_workers=2)
        return DataParallelTrainer(
            loops.steps, train_loop_config={"steps": number}, scaling_config=two, run_config=config
        ).fit()

    fit(2)
    assert files() == ["run/.checkpoint_000001.complete", "run/checkpoint_000001/state.json", "run/run.jsonl"]
    assert f"The run is copied to {URL}/run; it works in {tmp_path}/this machine" in capsys.readouterr().err
    elsewhere(tmp_path, monkeypatch)
    result = fit(4)
    assert (result.return_value, [each["step"] for each in result.history]) == (2, [0, 1, 2, 3])
    assert files() == ["run/.checkpoint_000003.complete", "run/checkpoint_000003/state.json", "run/run.jsonl"]


def test_a_result_is_read_from_its_url(files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(0, 1, tmp_path=tmp_path).close("finished", None, None)
    elsewhere(tmp_path, monkeypatch)
    result = Result.from_path(f"{URL}/run")
    assert result.metrics == {"loss": 1} and len(result.best_checkpoints) == 2
    assert result.checkpoint is not None and Path(result.checkpoint.path, "deep/model").read_text() == "1"
    with pytest.raises(FileNotFoundError, match="holds no training run"):
        Result.from_path(f"{URL}/another")


def test_a_checkpoint_without_its_manifest_does_not_count(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(0, 1, tmp_path=tmp_path)._open.close()
    fsspec.filesystem("memory").rm("/bucket/runs/run/.checkpoint_000001.complete")
    elsewhere(tmp_path, monkeypatch)
    opened = open_run(RunConfig(name="run", storage_path=URL), "")
    assert [each.folder for each in opened.past.kept] == ["checkpoint_000000"]
    opened.close()


def test_an_upload_that_fails_is_said_once_and_made_up_for(
    files: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    memory = type(fsspec.filesystem("memory"))

    def refuse(*args: Any, **options: Any) -> None:
        raise ConnectionError("the network is down")

    with monkeypatch.context() as down:
        down.setattr(memory, "put_file", refuse)
        records = begin(0, 1, tmp_path=tmp_path)
    told = capsys.readouterr().err
    assert told.count("ConnectionError: the network is down") == 1 and "the next checkpoint tries again" in told
    assert files() == []
    records.close("finished", None, None)
    assert [name for name in files() if name.endswith(".complete")] == [
        "run/.checkpoint_000000.complete",
        "run/.checkpoint_000001.complete",
    ]


def test_a_machine_that_is_ahead_of_the_copy_goes_on_from_its_own_folder(
    files: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        memory = type(fsspec.filesystem("memory"))
        first = begin(0, tmp_path=tmp_path)
        down.setattr(memory, "put_file", lambda *args, **options: 1 / 0)
        steps(first._open, RunConfig(name="run", storage_path=URL), 1, tmp_path=tmp_path)
    first._open.close()
    opened = open_run(RunConfig(name="run", storage_path=URL), "")
    assert [each.report for each in opened.past.kept] == [0, 1]
    opened.close()


def test_a_run_that_another_machine_has_carried_on_replaces_what_is_here(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(0, tmp_path=tmp_path)._open.close()
    here = tmp_path / "kept"
    shutil.copytree(tmp_path / "this machine", here)
    elsewhere(tmp_path, monkeypatch)
    begin(1, 2, tmp_path=tmp_path)._open.close()
    monkeypatch.setenv("NBACCEL_STORAGE", str(here))
    begin(tmp_path=tmp_path)._open.close()  # a line here that the copy does not have
    monkeypatch.setenv("NBACCEL_STORAGE", str(here))
    opened = open_run(RunConfig(name="run", storage_path=URL), "")
    assert [each.report for each in opened.past.kept] == [0, 1, 2]
    opened.close()


def test_filesystems_of_fsspec_and_pyarrow_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path / "this machine"))
    given = [fsspec.filesystem("dir", path=str(tmp_path), fs=fsspec.filesystem("file"))]
    try:
        from pyarrow import fs
    except ImportError:
        pass
    else:
        given.append(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    for number, filesystem in enumerate(given):
        place = tmp_path / str(number)
        config = RunConfig(name="run", storage_path=str(number), storage_filesystem=filesystem)
        steps(open_run(config, ""), config, 0, tmp_path=tmp_path).close("finished", None, None)
        assert (place / "run/checkpoint_000000/deep/model").read_text() == "0"
        assert (place / "run/.checkpoint_000000.complete").exists()


def test_a_folder_is_no_remote_storage() -> None:
    assert storage_of("/tmp/runs") is None and storage_of("file:///tmp/runs") is None
    assert storage_of("/tmp/runs", fsspec.filesystem("file")) is None
