"""Checkpoints that travel as objects, because a rank does not see the driver's disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbaccel.train import storage


def test_the_files_of_several_ranks_arrive_in_one_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for rank in range(2):
        (tmp_path / f"{rank}/shards").mkdir(parents=True)
        (tmp_path / f"{rank}/shards/{rank}.bin").write_bytes(bytes([rank]))
        storage.arrive(storage.pack(str(tmp_path / str(rank))), str(run), 7, rank)
    folder = run / storage.commit(str(run), 7)[0]
    assert {path.name: path.read_bytes() for path in storage.files_in(folder)} == {"0.bin": b"\0", "1.bin": b"\1"}
    assert os.listdir(run) == ["checkpoint_000007"]


def test_a_checkpoint_that_is_too_large_to_travel_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with open(tmp_path / "model", "wb") as file:
        file.truncate(storage.MOST_BYTES + 1)  # a hole: it takes no room
    with pytest.raises(ValueError, match=r"has 1\.07 GB.*up to 1\.07 GB.*storage_path"):
        storage.pack(str(tmp_path))


def test_a_worker_that_cannot_reach_the_runs_folder_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert storage.own_folder(str(tmp_path), ".probe-1") == str(tmp_path)
    assert os.listdir(tmp_path) == [".probe-1"]
    own = storage.own_folder(str(tmp_path / "nowhere"), ".probe-1")
    assert os.listdir(own) == []
    os.rmdir(own)
