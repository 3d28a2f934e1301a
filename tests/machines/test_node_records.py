"""By its record, exactly the processes of a Ray node are found and ended."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest

from nbaccel.machines import node_records
from tests.machines.ray_nodes import DEAF, NODE, line, records, started
from tests.rig import wait_until

__all__ = ["records"]


def test_a_node_is_ended_with_its_children_and_no_other_process_is(records: Path) -> None:
    mine, other = started(), started(is_head=True)
    stranger = subprocess.Popen(line(NODE), stdout=subprocess.PIPE, start_new_session=True)  # a Ray of somebody else
    try:
        assert stranger.stdout is not None and stranger.stdout.readline()
        assert len(node_records.carriers(mine.session)) == 2
        assert node_records.end(mine)
        assert node_records.carriers(mine.session) == []
        assert len(node_records.carriers(other.session)) == 2
        assert stranger.poll() is None
        assert [record.session for record in node_records.find()] == [other.session]
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.communicate()


def test_a_record_and_a_log_are_for_this_user_only(records: Path) -> None:
    started(RAY_NODE_TYPE_NAME="gpu", RAY_AUTH_TOKEN_PATH="/home/me/token")
    for path in records.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (record,) = node_records.find()
    assert (record.node_type, record.token_file) == ("gpu", "/home/me/token")
    assert record.title == "the Ray node of 10.0.0.5:6379"


def test_children_of_a_killed_node_are_still_found_and_ended(records: Path) -> None:
    record = started()
    os.kill(record.pid, signal.SIGKILL)
    (found,) = node_records.find()
    assert node_records.end(found)
    assert node_records.carriers(record.session) == []


def test_a_node_that_does_not_end_is_killed_by_force_only(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_records, "ENDS_WITHIN_S", 0.01)
    record = started(DEAF)
    assert not node_records.end(record)
    assert node_records.is_alive(record)
    assert node_records.end(record, force=True)
    assert node_records.carriers(record.session) == []


def test_the_record_of_an_ended_node_is_removed(records: Path) -> None:
    record = started()
    for pid in node_records.carriers(record.session):
        os.kill(pid, signal.SIGKILL)
    # A process that ends loses its environment a moment before it has ended.
    wait_until(lambda: not node_records.carriers(record.session) and not node_records.find(), "its processes to end")
    assert list(records.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[" * 100_000, b'{"session": 1}'], ids=["no", "empty", "deep", "wrong"]
)
def test_what_is_no_record_is_left_alone(records: Path, content: bytes) -> None:
    node_records.directory()
    file = records / "strange.json"
    file.write_bytes(content)
    file.chmod(0o600)
    assert node_records.find() == []
    assert file.exists()


def test_a_record_that_others_may_write_is_not_believed(records: Path) -> None:
    record = started()
    path = records / f"{record.session}.json"
    path.chmod(0o666)
    assert node_records.find() == []
    path.chmod(0o600)
    assert node_records.find() == [record]


def test_a_process_that_got_the_id_of_an_ended_node_is_not_ended(records: Path) -> None:
    stranger = subprocess.Popen(line(NODE), stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert stranger.stdout is not None and stranger.stdout.readline()
        record = started()
        taken = msgspec.structs.replace(record, pid=stranger.pid)
        assert not node_records.is_alive(taken)
        assert node_records.end(taken, force=True)
        assert stranger.poll() is None
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.communicate()
