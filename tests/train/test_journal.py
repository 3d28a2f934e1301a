"""The journal: what is written is read again, also when it was cut, damaged, moved or the disk was full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbaccel.train import ControllerError, RunConfig, journal, storage
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import FILE, Journal, Kept, Past
from nbaccel.train.storage import open_run


def write(folder: Path) -> None:
    log = Journal(folder)
    log.begin("mnist", CheckpointConfig())
    log.worker_group(0, 0, "", [{"node": "n"}])
    for number in range(3):
        log.report(number, 0, {"loss": number})
    log.checkpoint(Kept("checkpoint_000001", 1, {"loss": 1}))
    log.failure("rank 1: ValueError: x")
    log.worker_group(1, 2, "checkpoint_000001", [])
    log.report(2, 0, {"loss": 20})
    log.checkpoint(Kept("checkpoint_000002", 2, {"loss": 20}))
    log.deleted("checkpoint_000001")
    log.end("finished")
    log.close()


def read(folder: Path) -> Past:
    past = journal.read(folder)
    assert past is not None
    return past


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    past = read(tmp_path)
    assert (past.name, past.ended, past.failures) == ("mnist", "finished", ["rank 1: ValueError: x"])
    assert [each["metrics"]["loss"] for each in past.reports] == [0, 1, 20]
    assert past.kept == [Kept("checkpoint_000002", 2, {"loss": 20})]
    assert past.deleted == {"checkpoint_000001"} and past.next_report == 3


def test_an_older_journal_whose_worker_groups_have_another_word_says_the_same(tmp_path: Path) -> None:
    write(tmp_path)
    now, file = read(tmp_path), tmp_path / FILE
    file.write_text(file.read_text().replace('"worker_group":', '"gang":'))
    older = read(tmp_path)
    assert '"gang":1' in file.read_text().replace(" ", "")
    assert (older.reports, older.kept, older.next_report) == (now.reports, now.kept, now.next_report)


@pytest.mark.slow
def test_cut_at_every_byte_it_is_what_the_whole_lines_say(tmp_path: Path) -> None:
    write(tmp_path)
    data = (tmp_path / FILE).read_bytes()
    ends = [number + 1 for number, byte in enumerate(data) if byte == ord("\n")]
    for length in range(len(data) + 1):
        (tmp_path / FILE).write_bytes(data[:length])
        past = read(tmp_path)
        whole = max((end for end in ends if end <= length), default=0)
        assert past.length == whole
        assert past.name == ("mnist" if whole else "")
        log = Journal(tmp_path, past)
        log.begin("mnist", CheckpointConfig())
        log.close()
        lines = (tmp_path / FILE).read_bytes().splitlines()
        assert len(lines) == ends.index(whole) + 2 if whole else 1
        assert all(json.loads(line) for line in lines)


def test_what_follows_a_damaged_line_is_not_trusted(tmp_path: Path) -> None:
    write(tmp_path)
    lines = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / FILE).write_bytes(b"".join([*lines[:3], b"\0\0\0\n", *lines[3:]]))
    past = read(tmp_path)
    assert len(past.reports) == 1 and past.ended == ""


def test_a_journal_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"v": 2, "run": "mnist"}\n')
    with pytest.raises(ValueError, match=r"later version.*update nbaccel"):
        journal.read(tmp_path)
    assert journal.read(tmp_path / "nowhere") is None


FULL = """
import resource, signal, sys
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = Journal(sys.argv[1])
log.begin("mnist", CheckpointConfig())
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    log.report(0, 0, {"text": "x" * 400})
except OSError:
    pass
else:
    sys.exit("it was written")
log.report(1, 0, {"loss": 1})
log.close()
"""


def test_a_line_that_the_disk_has_no_room_for_is_taken_back(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=True)
    assert [each["report"] for each in read(tmp_path).reports] == [1]


# ---- with the folders beside it


FULL_AT_A_COMMIT = """
import os, resource, sys
from nbaccel.train import ControllerError, DataConfig, RunConfig, ScalingConfig, storage
from nbaccel.train.configs import BackendConfig
from nbaccel.train.configs import TrainRunContext
from nbaccel.train.storage import open_run
from nbaccel.train.records import Records
config = RunConfig(name="run", storage_path=sys.argv[1])
opened = open_run(config, "")
records = Records(opened, TrainRunContext(config, None, ScalingConfig(), BackendConfig(), DataConfig()))
records.report(0, 0, {"loss": 1})
os.mkdir(sys.argv[1] + "/mine")
storage.bring(sys.argv[1] + "/mine", opened.folder, 0)
room = os.path.getsize(opened.folder + "/run.jsonl") + 10
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    records.commit(0)
except OSError:
    os._exit(0)  # as a crash: nothing more is written
sys.exit("it was written")
"""


def test_a_checkpoint_whose_line_finds_the_disk_full_is_taken_up_by_the_next_run(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL_AT_A_COMMIT, str(tmp_path)], check=True)
    assert [each.folder for each in read(tmp_path / "run").kept] == []
    opened = open_run(RunConfig(name="run", storage_path=str(tmp_path)), "")
    opened.close()
    assert opened.past.kept == [Kept("checkpoint_000000", 0, {"loss": 1})]
    assert "goes on from checkpoint_000000" in opened.notice


def test_runs_without_a_name_that_begin_in_one_second_share_nothing(tmp_path: Path) -> None:
    config = RunConfig(storage_path=str(tmp_path / "runs"))
    first, second = (open_run(config, "train_2026-11-21_22-54-01") for _ in range(2))
    first.journal.end("failed", "it was the first one")
    first.close()
    third = open_run(config, "train_2026-11-21_22-54-01")
    names = [each.name.removeprefix("train_2026-11-21_22-54-01") for each in (first, second, third)]
    assert (names, third.notice, third.past.name) == (["", "-2", "-3"], "", third.name)
    second.close()
    third.close()


def test_a_moved_run_is_the_same_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "checkpoint_000002").mkdir(parents=True)
    write(run)
    moved = run.rename(tmp_path / "moved")
    past = read(moved)
    storage.settle(str(moved), past)
    assert [each.folder for each in past.kept] == ["checkpoint_000002"]


def test_a_checkpoint_that_was_renamed_and_not_written_down_is_taken_up(tmp_path: Path) -> None:
    log = Journal(tmp_path)
    log.begin("mnist", CheckpointConfig())
    log.report(0, 0, {"loss": 5})
    log.close()
    for name in ("checkpoint_000000", ".checkpoint_000001.part"):
        (tmp_path / name).mkdir()
    past = read(tmp_path)
    storage.settle(str(tmp_path), past)
    assert past.kept == [Kept("checkpoint_000000", 0, {"loss": 5})]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint_000000", FILE]


def test_a_checkpoint_that_was_given_up_or_is_gone_does_not_come_back(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "checkpoint_000001").mkdir()  # given up, and not yet removed when the driver died
    past = read(tmp_path)
    storage.settle(str(tmp_path), past)
    assert past.kept == [] and not (tmp_path / "checkpoint_000001").exists()


@pytest.mark.parametrize(
    ("name", "folder"), [(None, "runs"), ("run", "runs"), ("run", "n" * 300)], ids=["unnamed", "a file", "too long"]
)
def test_a_folder_that_cannot_be_written_is_told(name: str | None, folder: str, tmp_path: Path) -> None:
    storage_path = tmp_path / folder
    if len(folder) < 256:
        storage_path.touch()  # a file
    with pytest.raises(
        ControllerError, match=r"cannot be written: (Not a directory|File name too long)\. Give another"
    ):
        open_run(RunConfig(name=name, storage_path=str(storage_path)), "train_2026-11-21")


FULL_AT_THE_BEGINNING = """
import resource, sys
from nbaccel.train import ControllerError, RunConfig
from nbaccel.train.storage import open_run
config = RunConfig(name="run", storage_path=sys.argv[1])
most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, most[1]))
try:
    open_run(config, "")
except ControllerError as error:
    kept = error  # as a notebook keeps the last error
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
assert "cannot be written: No space left" in str(kept), kept
open_run(config, "").close()
"""


def test_a_disk_that_is_full_at_the_beginning_is_told_and_leaves_no_lock(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL_AT_THE_BEGINNING, str(tmp_path)], check=True)
