"""What a program in another PID namespace sees and leaves alone: containers of one pod, sandboxes, `unshare --pid`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nbaccel import proc
from nbaccel.leases import Leases
from nbaccel.local_engine.head.loop import Head
from nbaccel.machines import node_records
from nbaccel.views import sessions
from tests.census import Place
from tests.rig import DEADLINE_S, wait_until

UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
GPU = "GPU-4f2c1a6e-0000-1111-2222-333344445555"
HOLDS = """
import sys
from nbaccel.leases import Leases
leases = Leases({folder!r}, "notebook other.ipynb")
print(leases.take({gpu!r}, 10_000), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def _can_unshare() -> None:
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"PID namespaces cannot be made here: {done.stderr.strip()}")


def elsewhere(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a PID namespace of its own."""
    command = [*UNSHARE, sys.executable, "-m", "nbaccel", *arguments]
    return subprocess.run(command, env=place.environ, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


@pytest.fixture
def head(place: Place) -> Iterator[dict[str, Any]]:
    """The record of a shared head that runs in our namespace."""
    assert place.command("start", "--head", "--num-gpus", "1", "--num-cpus", "1").returncode == 0
    (path,) = (place.root / "runtime").glob("nbaccel-*.json")
    yield msgspec.json.decode(path.read_bytes())
    place.command("stop")


def test_who_looks_from_another_namespace_finds_a_head_and_leaves_it(place: Place, head: dict[str, Any]) -> None:
    seen = elsewhere(place, "status")
    assert seen.returncode == 0 and "0 of 1 GPU" in seen.stdout, seen.stderr
    assert Path(head["directory"]).is_dir()
    assert "0 of 1 GPU" in place.command("status").stdout


def test_a_head_is_ended_from_another_namespace(place: Place, head: dict[str, Any]) -> None:
    assert "Ended the head" in elsewhere(place, "stop").stdout
    assert place.command("status").returncode == 1


def test_what_a_killed_head_of_another_namespace_left_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(place.root / "runtime"))
    ended: dict[str, Any] = {"socket": "/nowhere/s", "token": "t", "pid": 2**22, "start_time": 1}
    ended["boot_id"] = proc.boot_id()
    ours = Path(sessions.publish(sessions.SessionRecord("ours", **ended)))
    theirs = Path(sessions.publish(sessions.SessionRecord("theirs", **ended, pid_namespace=1)))
    assert sessions.find() == []
    assert not ours.exists() and theirs.exists()
    theirs.unlink()


def test_a_record_without_a_living_process_costs_no_living_head_its_directory(
    place: Place, head: dict[str, Any]
) -> None:
    junk = {**head, "session": "junk", "pid": 2**22}
    path = place.root / "runtime" / "nbaccel-junk.json"
    path.touch(0o600)
    path.write_bytes(msgspec.json.encode(junk))
    assert "0 of 1 GPU" in place.command("status").stdout
    assert Path(head["directory"]).is_dir()
    path.unlink()


def test_a_head_whose_record_was_removed_writes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    record = sessions.SessionRecord("gone", "/s", "t", os.getpid(), 1, "boot")
    path = Path(sessions.publish(record))
    path.unlink()
    later: list[Any] = []
    poll = SimpleNamespace(after=lambda pause_s, call: later.append(call))
    head: Any = SimpleNamespace(stopping="", poll=poll)
    head._keep_record = lambda *given: Head._keep_record(head, *given)
    head._keep_record(path, record)
    assert path.exists() and len(later) == 1
    path.unlink()
    head.stopping = "it was told to"
    later.pop()()
    assert not path.exists() and later == []


def test_two_namespaces_never_hold_one_device_whole(tmp_path: Path) -> None:
    program = HOLDS.format(folder=str(tmp_path / "leases"), gpu=GPU)
    other = subprocess.Popen(
        [*UNSHARE, sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == "None\n"
        blocker = Leases(tmp_path / "leases", "notebook a.ipynb").take(GPU, 10_000)
        assert blocker is not None and "notebook other.ipynb" in str(blocker)
    finally:
        other.kill()
        other.communicate()
    ours = Leases(tmp_path / "leases", "notebook a.ipynb")
    wait_until(lambda: ours.take(GPU, 10_000) is None, "the end of the other's lease")
    ours.release_all()
    assert [path.name for path in (tmp_path / "leases").iterdir()] == []


def test_a_ray_node_of_another_namespace_is_neither_listed_nor_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    node = node_records.NodeRecord("node", "1.2.3.4:6379", 2**22, 1, proc.boot_id(), str(tmp_path / "log"))
    node.pid_namespace = 1
    node_records.publish(node)
    assert node_records.find() == []
    (left,) = (tmp_path / "nbaccel-ray").glob("*.json")
    left.unlink()
    node.pid_namespace = proc.pid_namespace()
    node_records.publish(node)
    assert node_records.find() == [] and not left.exists()
