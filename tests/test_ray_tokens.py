"""A token of a cluster is read from a file that nobody else may read, and shown as Ray wants it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import nbaccel
from nbaccel import ray_preflight

TOKEN = "ab" * 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    ray_preflight.write_token(tmp_path / ".ray" / "auth_token", TOKEN)
    return tmp_path / ".ray" / "auth_token"


def test_a_written_token_is_for_this_user_alone(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ray_preflight.read_token(file) == TOKEN
    assert list(file.parent.iterdir()) == [file]


def test_a_token_is_replaced_together_with_its_mode(file: Path) -> None:
    file.chmod(0o644)
    ray_preflight.write_token(file, "cd" * 32)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ray_preflight.read_token(file) == "cd" * 32


def test_a_file_that_others_may_read_is_refused_with_the_line_to_type(file: Path) -> None:
    file.chmod(0o640)
    with pytest.raises(PermissionError, match=f"its mode is 0640.*chmod 600 {file}"):
        ray_preflight.read_token(file)


def test_a_file_without_a_token_is_refused_with_the_way_to_get_it(tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("two words", b"a b"), ("bytes", b"\xff")):
        file = tmp_path / name
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(ValueError, match=r"scp head:~/\.ray/auth_token"):
            ray_preflight.read_token(file)
    with pytest.raises(ValueError, match=r"No such file or directory.*scp head"):
        ray_preflight.read_token(tmp_path / "missing")


def test_rays_variables_name_the_file_and_the_mode(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"):
        monkeypatch.setenv(name, "before")
    ray_preflight.show_token_of(str(file))
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert os.environ["RAY_AUTH_TOKEN_PATH"] == str(file) == str(ray_preflight.usual_file())
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_two_tokens_are_never_the_same() -> None:
    assert len({ray_preflight.make_token() for _ in range(20)}) == 20


@pytest.mark.parametrize("given", [{}, {"address": "local"}, {"address": "/a/socket"}, {"engine": "debug"}])
def test_a_token_file_without_a_cluster_to_show_it_to_is_refused(given: dict[str, str], file: Path) -> None:
    with pytest.raises(ValueError, match="token_file"):
        nbaccel.init(token_file=str(file), **given)


def test_init_refuses_a_token_that_others_may_read_before_it_connects(file: Path) -> None:
    pytest.importorskip("ray")
    file.chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        nbaccel.init(address="127.0.0.1:1", engine="ray", token_file=str(file))
