"""How files of ranks become one checkpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbaccel.train import storage
from tests.rig import wait_until


def files(folder: Path, *names: str) -> str:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return str(folder)


def test_parts_of_several_ranks_become_one_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for rank in range(2):
        size = storage.bring(files(tmp_path / f"{rank}", f"model-{rank}.pt", f"deep/er-{rank}"), str(run), 7, rank)
        assert size == len(f"model-{rank}.pt") + len(f"deep/er-{rank}")
    assert os.listdir(run) == [".checkpoint_000007.part"]
    assert storage.commit(str(run), 7) == ("checkpoint_000007", [])
    assert sorted(os.listdir(run / "checkpoint_000007")) == ["deep", "model-0.pt", "model-1.pt"]
    assert (tmp_path / "0" / "model-0.pt").exists()


def test_files_are_copies_that_later_writes_do_not_change(tmp_path: Path) -> None:
    source = files(tmp_path / "mine", "model.pt")
    storage.bring(source, str(tmp_path / "run"), 0)
    Path(source, "model.pt").write_text("something else")
    storage.commit(str(tmp_path / "run"), 0)
    assert (tmp_path / "run/checkpoint_000000/model.pt").read_text() == "model.pt"


def test_they_are_moved_where_nobody_needs_them_any_more(tmp_path: Path) -> None:
    source = files(tmp_path / "mine", "model.pt")
    storage.bring(source, str(tmp_path / "run"), 0, move=True)
    assert os.listdir(source) == []


def test_files_of_one_name_are_all_kept_where_they_differ(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for rank, own in ((2, "file/below"), (0, "rank_1"), (1, "file")):  # they come in any order
        (tmp_path / f"{rank}" / "model").mkdir(parents=True)
        (tmp_path / f"{rank}" / "model" / "a.pt").write_text(f"of {rank}")
        storage.bring(files(tmp_path / f"{rank}", "same", own), str(run), 7, rank)
    name, differing = storage.commit(str(run), 7)
    assert differing == ["model/a.pt", "file/below", "model/a.pt"]
    kept = {str(path.relative_to(run / name)): path.read_text() for path in storage.files_in(run / name)}
    assert kept == {
        "same": "same", "model/a.pt": "of 0", "rank_1": "rank_1", "file": "file", "rank_1_/model/a.pt": "of 1",
        "rank_2/file/below": "file/below", "rank_2/model/a.pt": "of 2",
    }  # fmt: skip
    assert os.listdir(run) == [name]


def test_a_part_that_is_not_whole_is_not_in_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = str(tmp_path / "run")
    storage.bring(files(tmp_path / "0", "mine"), run, 0, 0)
    with monkeypatch.context() as full, pytest.raises(OSError, match="full"):
        full.setattr(storage.shutil, "copy2", lambda *_: (_ for _ in ()).throw(OSError("full")))
        storage.bring(files(tmp_path / "1", "other"), run, 0, 1)
    storage.bring(files(tmp_path / "1 again", "mine too"), run, 1, 1)
    assert os.listdir(Path(run, storage.commit(run, 0)[0])) == ["mine"]
    storage.discard_part(run, 0)
    assert sorted(os.listdir(run)) == [".checkpoint_000001.part", "checkpoint_000000"]


def test_a_rank_that_had_no_room_may_report_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = str(tmp_path / "run")
    with monkeypatch.context() as full, pytest.raises(OSError, match="full"):
        full.setattr(storage.shutil, "copy2", lambda *_: (_ for _ in ()).throw(OSError("full")))
        storage.bring(files(tmp_path / "large", "a", "b"), run, 0)
    storage.bring(files(tmp_path / "small", "a"), run, 0)
    assert os.listdir(Path(run, storage.commit(run, 0)[0])) == ["a"]


def test_a_folder_that_is_not_there_is_refused_and_an_empty_one_is_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is no folder"):
        storage.bring(str(tmp_path / "gone"), str(tmp_path / "run"), 0)
    (tmp_path / "empty").mkdir()
    storage.bring(str(tmp_path / "empty"), str(tmp_path / "run"), 0)
    storage.commit(str(tmp_path / "run"), 0)


def test_a_part_that_came_after_the_commit_is_discarded(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model").write_text("x")
    (tmp_path / "run").mkdir()
    storage.bring(str(tmp_path / "mine"), str(tmp_path / "run"), 3)
    storage.discard_part(str(tmp_path / "run"), 3)
    storage.discard_part(str(tmp_path / "run"), 4)
    assert os.listdir(tmp_path / "run") == []


def test_a_run_has_one_driver_at_a_time(tmp_path: Path) -> None:
    lock = storage.RunLock(str(tmp_path))
    with pytest.raises(BlockingIOError):
        storage.RunLock(str(tmp_path))
    assert storage.holder(str(tmp_path)) == str(os.getpid())
    lock.release()
    storage.RunLock(str(tmp_path)).release()


def test_a_process_that_was_forked_during_a_run_does_not_keep_its_folder(tmp_path: Path) -> None:
    lock = storage.RunLock(str(tmp_path))
    inherited = os.dup(lock._file.fileno())  # as a forked process has it
    lock.release()
    lock.release()  # of a run that fell while it ended
    storage.RunLock(str(tmp_path)).release()
    os.close(inherited)


def test_a_checkpoint_that_is_being_deleted_has_lost_its_name_and_the_next_start_removes_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkpoint_000001").mkdir()
    (tmp_path / "checkpoint_000001" / "weights").write_text("w")
    with monkeypatch.context() as killed:
        killed.setattr(storage.shutil, "rmtree", lambda *_, **__: None)  # the process dies before a file is removed
        storage.delete(str(tmp_path), "checkpoint_000001")
    assert not (tmp_path / "checkpoint_000001").exists()
    storage.clear_parts(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_process_that_is_killed_while_it_deletes_a_checkpoint_leaves_no_half_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint_000001"
    for _ in range(3):
        folder.mkdir()
        for number in range(1000):
            (folder / str(number)).touch()
        code = f"from nbaccel.train import storage; storage.delete({str(tmp_path)!r}, {folder.name!r})"
        with subprocess.Popen([sys.executable, "-c", code]) as deleting:
            wait_until(lambda: sum(len(names) for _, _, names in os.walk(folder)) < 1000, "files go")
            deleting.kill()
        assert not folder.exists()
        storage.clear_parts(str(tmp_path))
        assert os.listdir(tmp_path) == []
