"""A disk that is full when a training function or a trial writes a checkpoint: the error names file and cause."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import train, tune
from nbaccel.train import Checkpoint, RunConfig, ScalingConfig, WorkerGroupError, storage
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.views import full_disks
from tests.disks import tiny_disk

LARGE = 1_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with tiny_disk(tmp_path / "disk", "size=300k") as made:
        yield made


def hint_of(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises((OSError, RuntimeError)) as caught:
        function(*args)
    return full_disks.hint(caught.value)


def pickled(path: Path) -> None:
    with open(path, "wb") as file:
        pickle.dump(bytes(LARGE), file)


def saved_by_numpy(path: Path) -> None:
    import numpy

    numpy.savez(path, weights=numpy.zeros(LARGE // 8))


def saved_by_torch(path: Path, **options: Any) -> None:
    import torch

    torch.save({"weights": torch.zeros(LARGE // 8), "more": torch.zeros(LARGE // 8)}, str(path), **options)


def saved_by_torch_into_a_file(path: Path) -> None:
    with open(path, "wb") as file:
        import torch

        torch.save(torch.zeros(LARGE // 4), file)


@pytest.mark.parametrize("write", [pickled, lambda path: path.write_bytes(bytes(LARGE))])
def test_an_error_without_a_path_names_the_file(disk: Path, write: Callable[..., Any]) -> None:
    hint = hint_of(write, disk / "model.bin")
    assert hint == (
        f"No space left on device for {disk}/model.bin: 0 B of 300 KiB are free there now. Make room, or write to a "
        "larger disk (tempfile's is that of TMPDIR)."
    )


@pytest.mark.extra("numpy")
def test_an_error_of_numpy_names_the_file(disk: Path) -> None:
    assert hint_of(saved_by_numpy, disk / "model.npz").startswith(f"No space left on device for {disk}/model.npz: 0 B")


@pytest.mark.extra("torch")
@pytest.mark.parametrize(
    "write",
    [
        saved_by_torch,
        saved_by_torch_into_a_file,
        lambda path: saved_by_torch(path, _use_new_zipfile_serialization=False),
    ],
)
def test_an_error_of_torch_names_the_file_and_the_cause(disk: Path, write: Callable[..., Any]) -> None:
    hint = hint_of(write, disk / "model.pt")
    assert hint.startswith(f"No space left on device for {disk}/model.pt: 0 B of 300 KiB are free")


def test_the_cause_is_called_likely_where_the_disk_has_room_again(tmp_path: Path) -> None:
    def save(f: Path) -> None:
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 594")

    assert hint_of(save, tmp_path / "model.pt").startswith(f"Most likely no space left on device for {tmp_path}/model")


def test_a_file_that_is_read_is_not_taken_for_one_that_is_written(disk: Path) -> None:
    (disk / "data").write_bytes(b"broken")

    def reads() -> None:
        with open(disk / "data", "rb"):
            raise RuntimeError("[enforce fail at inline_container.cc:145] . failed reading zip archive")

    assert hint_of(reads) == ""


def test_a_file_that_is_gone_by_then_is_named_with_its_disk(disk: Path) -> None:
    def in_a_temporary_folder() -> None:
        with tempfile.TemporaryDirectory(dir=disk) as folder:
            Path(folder, "model.bin").write_bytes(bytes(LARGE))

    hint = hint_of(in_a_temporary_folder)
    assert hint.startswith(f"No space left on device for {disk}/tmp") and "model.bin: 300 KiB of 300 KiB" in hint


@pytest.mark.parametrize(
    "state", [{"weights": "x" * LARGE}, pytest.param({1, "y" * LARGE}, marks=pytest.mark.extra("torch"))]
)
def test_checkpoint_save_names_the_cause_and_leaves_nothing(
    disk: Path, state: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    with pytest.raises((OSError, RuntimeError)) as caught:
        Checkpoint.save(state)
    assert [each.partition("/nbaccel-checkpoint-")[0] for each in caught.value.__notes__] == [
        f"No space left on device for {disk}"
    ]
    assert os.listdir(disk) == []


def test_files_that_travel_name_the_file(disk: Path) -> None:
    with pytest.raises(OSError, match=f"No space left on device: '{disk}/checkpoint/model.bin'"):
        storage.unpack({"model.bin": bytes(LARGE)}, str(disk / "checkpoint"))


def test_another_error_gets_no_hint(tmp_path: Path) -> None:
    assert hint_of(lambda: (tmp_path / "missing" / "model").write_bytes(b"x")) == ""
    assert full_disks.hint(RuntimeError("[enforce fail at alloc_cpu.cpp:117] data. you tried to allocate")) == ""
    assert full_disks.hint(OSError(28, "No space left on device", "/dev/full")) == ""  # it says both


def fills_the_disk(config: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(dir=config["disk"]) as folder:
        Path(folder, "model.bin").write_bytes(bytes(LARGE))
        train.report({"step": 1}, checkpoint=Checkpoint(folder))


def words(disk: Path) -> str:
    return rf"No space left on device for {disk}/\w+/model.bin: 300 KiB of 300 KiB"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_names_the_file_and_the_cause(
    disk: Path, kept: Callable[..., RunConfig], workers: int, capfd: pytest.CaptureFixture[str]
) -> None:
    trainer = DataParallelTrainer(
        fills_the_disk,
        train_loop_config={"disk": str(disk)},
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=kept(),
    )
    if workers:
        with pytest.raises(WorkerGroupError, match=words(disk)) as failed:
            trainer.fit()
        assert str(failed.value).count("No space left on device for") == 1
    else:
        with pytest.raises(OSError) as caught:
            trainer.fit()
        assert any(full_disks.hint(caught.value) == note for note in caught.value.__notes__)
    assert "No space left on device for" in capfd.readouterr().err  # the run's line under the cell


@pytest.mark.usefixtures("cluster")
def test_a_task_names_the_file_and_the_cause(disk: Path) -> None:
    with pytest.raises(OSError, match=rf"No space left on device for {disk}/model.bin: 0 B") as caught:
        nbaccel.get(nbaccel.remote(pickled).remote(disk / "model.bin"))
    assert str(caught.value).count("No space left on device for") == 1


@pytest.mark.usefixtures("cluster")
def test_a_trial_names_the_file_and_the_cause(disk: Path, tmp_path: Path) -> None:
    config = tune.RunConfig("trials", str(tmp_path / "runs"))
    results = tune.Tuner(fills_the_disk, param_space={"disk": str(disk)}, run_config=config).fit()
    (reason,) = results.failures()
    assert reason.startswith("OSError: [Errno 28] No space left on device (No space left on device for ")
