"""Which files of the runtime directory are used, and what is said of the others."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="jupyter_server is not installed")

from nbaccel_lab import runtimes

from nbaccel.views import observer_lines, sessions
from tests.extension.fake_head import FakeHead


@pytest.fixture
def head(tmp_path: Path) -> Iterator[FakeHead]:
    """A head whose socket is there."""
    fake = FakeHead(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(fake.record["socket"])
        fake.write_file()
        yield fake
    if fake.file.is_dir():
        fake.file.rmdir()
    fake.remove()


def _reason(folder: Path) -> str:
    """Why the only file is ignored."""
    records, [ignored] = runtimes.scan(folder)
    assert not records
    return ignored.reason


def test_a_private_file_of_a_living_process_is_used(head: FakeHead, tmp_path: Path) -> None:
    [record], ignored = runtimes.scan(tmp_path)
    assert (record.id, record.pid, record.title, ignored) == ("ab12", os.getpid(), "notebook b.ipynb", [])
    assert head.record["token"] not in repr(record)


def test_what_nbaccel_writes_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: FakeHead) -> None:
    assert runtimes.PROTOCOL == observer_lines.PROTOCOL
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "of-nbaccel"))
    known = {name: value for name, value in head.record.items() if name in sessions.SessionRecord.__struct_fields__}
    sessions.publish(sessions.SessionRecord(**known))
    [record], ignored = runtimes.scan()
    assert record.id == "ab12" and not ignored


Change = Callable[[FakeHead], Any]
HOSTILE: list[tuple[str, Change, str]] = [
    ("others may read it", lambda head: head.file.chmod(0o644), "mode 0644 instead of 0600"),
    ("the world may write it", lambda head: head.file.chmod(0o666), "mode 0666 instead of 0600"),
    ("it has no bytes", lambda head: head.file.write_bytes(b""), "not JSON"),
    ("it is random bytes", lambda head: head.file.write_bytes(b"\xff\x00\x80"), "not JSON"),
    ("it is deep", lambda head: head.file.write_text("[" * 60_000), "not JSON"),
    ("it is a list", lambda head: head.file.write_text("[1]"), "not an object"),
    ("it is huge", lambda head: head.file.write_text(" " * 70_000), "70,000 bytes"),
    ("it is a link", lambda head: _become_link(head.file), "symbolic link"),
    ("it is a pipe", lambda head: (head.file.unlink(), os.mkfifo(head.file, 0o600)), "not a regular file"),
    ("it is a folder", lambda head: (head.file.unlink(), head.file.mkdir(0o700)), "not a regular file"),
    ("it has another name", lambda head: head.file.rename(head.file.with_name("nbaccel-x y.json")), "name"),
    ("it names another session", lambda head: _write(head, session="cd34"), "another session"),
    ("its token is missing", lambda head: _write(head, token=None), "'token'"),
    ("its pid is text", lambda head: _write(head, pid="1"), "'pid'"),
    ("its pid is true", lambda head: _write(head, pid=True), "'pid'"),
    ("its title is a list", lambda head: _write(head, title=["x"]), "'title'"),
    ("its host is a list", lambda head: _write(head, host=["x"]), "'host'"),
    ("its socket is missing", lambda head: _write(head, socket="/nowhere/s"), "socket is not there"),
    ("its socket has a null in it", lambda head: _write(head, socket="/tmp/\0"), "socket is not there"),
    ("its socket is a file", lambda head: _write(head, socket="/etc/passwd"), "is none"),
    ("its socket is a host", lambda head: _write(head, socket="evil.example:80"), "socket is not there"),
]


def _write(head: FakeHead, **changes: Any) -> None:
    head.record.update(changes)
    head.write_file()


def _become_link(file: Path) -> None:
    target = file.with_name("elsewhere")
    file.rename(target)
    file.symlink_to(target)


@pytest.mark.parametrize(("change", "said"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_hostile_file_is_ignored_with_its_reason(head: FakeHead, tmp_path: Path, change: Change, said: str) -> None:
    change(head)
    assert said in _reason(tmp_path)


NOBODY = 2**22 + 1  # no process has this id
KILLED: dict[str, dict[str, Any]] = {
    "its process has ended": {"pid": NOBODY, "owner_pid": NOBODY},
    "its pid is another process now": {"start_time": 1},
    "the machine has started anew": {"boot_id": "0", "host": os.uname().nodename},
}


@pytest.fixture
def killed(head: FakeHead, tmp_path: Path) -> FakeHead:
    """A head that has been killed; its socket lies in a directory that nothing else uses."""
    directory = tmp_path / "nbaccel-dir"
    directory.mkdir(mode=0o700)
    (directory / "head.log").touch()
    _write(head, directory=str(directory), socket=str(directory / "head.sock"))
    return head


@pytest.mark.parametrize("changes", KILLED.values(), ids=KILLED)
def test_what_a_killed_head_has_left_is_removed_without_a_word(
    killed: FakeHead, tmp_path: Path, changes: dict[str, Any]
) -> None:
    _write(killed, **changes)
    assert runtimes.scan(tmp_path) == ([], [])
    assert not killed.file.exists() and not Path(killed.record["directory"]).exists()


LEFT: dict[str, dict[str, Any]] = {
    "its kernel lives": {"pid": NOBODY, "owner_pid": os.getpid()},
    "another machine has written it": {"boot_id": "0", "host": "another-machine"},
}


@pytest.mark.parametrize("changes", LEFT.values(), ids=LEFT)
def test_what_others_may_still_use_of_an_ended_head_stays_without_a_word(
    killed: FakeHead, tmp_path: Path, changes: dict[str, Any]
) -> None:
    _write(killed, **changes)
    assert runtimes.scan(tmp_path) == ([], [])
    assert killed.file.exists() and Path(killed.record["directory"], "head.log").exists()


def _away(directory: Path, name: str, mode: int = 0o700) -> Path:
    directory.rename(moved := directory.with_name(name))
    moved.chmod(mode)
    return moved


FOREIGN: dict[str, Callable[[Path], dict[str, str]]] = {
    "with another name": lambda place: {"directory": str(moved := _away(place, "work")), "socket": f"{moved}/s"},
    "that others may read": lambda place: {"directory": str(_away(place, place.name, 0o755))},
    "without the socket": lambda place: {"socket": "/nowhere/s"},
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_no_directory_is_removed_but_the_one_that_a_head_makes(
    killed: FakeHead, tmp_path: Path, change: Callable[[Path], dict[str, str]]
) -> None:
    _write(killed, pid=NOBODY, **change(Path(killed.record["directory"])))
    assert runtimes.scan(tmp_path) == ([], [])
    assert not killed.file.exists() and Path(killed.record["directory"], "head.log").exists()


def test_nbaccel_leaves_the_files_of_heads_on_other_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    ended: dict[str, Any] = {"socket": "/nowhere/s", "token": "t", "pid": NOBODY, "start_time": 1, "boot_id": "0"}
    ours = Path(sessions.publish(sessions.SessionRecord("ours", **ended)))
    theirs = Path(sessions.publish(sessions.SessionRecord("theirs", **ended, host="another-machine")))
    assert sessions.find() == []
    assert not ours.exists() and theirs.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_what_belongs_to_another_user_is_ignored(head: FakeHead, tmp_path: Path) -> None:
    os.chown(head.record["socket"], 12345, 12345)
    assert "socket belongs to another user (uid 12345)" in _reason(tmp_path)
    os.chown(head.file, 12345, 12345)
    assert "belongs to another user (uid 12345)" in _reason(tmp_path)


def test_a_name_that_would_be_markup_or_a_control_is_plain_text(head: FakeHead, tmp_path: Path) -> None:
    _write(head, title="<img src=x onerror=alert(1)>\x1b[31m\u202e\ud800" + "x" * 1000)
    [record], _ = runtimes.scan(tmp_path)
    assert record.title.startswith("<img src=x onerror=alert(1)>\N{REPLACEMENT CHARACTER}[31m")
    assert len(record.title) == 300 and record.title.isprintable()
    json.dumps(record.title).encode()


def test_files_that_are_none_hide_no_runtime_and_a_flood_is_not_read(head: FakeHead, tmp_path: Path) -> None:
    for number in range(5000):
        junk = tmp_path / f"nbaccel-{number}.json"
        junk.touch(0o600)
        os.utime(junk, (1, 1))
    records, ignored = runtimes.scan(tmp_path)
    assert [record.id for record in records] == [head.record["session"]]
    assert len(ignored) == 256 and "5001 files; only the newest 4096" in ignored[-1].reason
    for number in range(1000):
        os.utime(tmp_path / f"nbaccel-{number}.json")
    records, _ = runtimes.scan(tmp_path)
    assert [record.id for record in records] == [head.record["session"]]


def test_a_folder_that_is_not_there_has_no_runtimes(tmp_path: Path) -> None:
    assert runtimes.scan(tmp_path / "none") == ([], [])


def test_the_server_extension_imports_nothing_of_nbaccel() -> None:
    folder = Path(runtimes.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        assert "import nbaccel\n" not in file.read_text() and "from nbaccel" + "." not in file.read_text(), file
        assert "from nbaccel import" not in file.read_text(), file
