"""Files in directories where others may write: what is no file is neither waited for nor believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbaccel import plain_files
from nbaccel.ray_engine import starting
from nbaccel.views import sessions


def test_a_file_is_read_up_to_a_length(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert plain_files.read(file, 100) == b"0123456789"
    assert plain_files.read(file, 4) == b"0123"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is not a file"):
        plain_files.read(tmp_path / "pipe", 100)


def test_a_device_and_a_directory_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="zero is not a file"):
        plain_files.read("/dev/zero", 100)
    with pytest.raises(OSError):
        plain_files.read(tmp_path, 100)


def test_a_private_file_is_ours_alone_and_no_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(file)
    file.chmod(0o640)
    with pytest.raises(PermissionError, match="others may read it"):
        plain_files.read(file, 100, private=True)
    file.chmod(0o600)
    assert plain_files.read(file, 100, private=True) == b"x"
    with pytest.raises(OSError):
        plain_files.read(link, 100, private=True)


@pytest.mark.parametrize("content", [b"", b"\xc6", b"[" * 60_000, b'{"session": "\xc6"}', b'{"a": ' + b"[" * 60_000])
def test_a_session_file_that_cannot_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    file = tmp_path / "nbaccel-x.json"
    file.touch(mode=0o600)
    file.write_bytes(content)
    assert sessions.find() == []


def test_a_pipe_named_like_a_session_file_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    os.mkfifo(tmp_path / "nbaccel-x.json", 0o600)
    assert sessions.find() == []


def test_a_pipe_where_ray_leaves_its_note_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    os.mkfifo(tmp_path / "ray" / "ray_current_cluster")
    with pytest.raises(ConnectionError, match="no Ray cluster found"):
        starting.resolved("auto")
