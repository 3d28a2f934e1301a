"""Commands of nbaccel run with the Python of a kernelspec, or a sentence says why not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="jupyter_server is not installed")

from nbaccel_lab import commands
from nbaccel_lab.commands import CommandFailed


def _start(*argv: str, language: str = "python", timeout_s: float = 60.0, **env: str) -> int:
    spec = SimpleNamespace(argv=list(argv), language=language, env=env, display_name="My kernel")
    specs: Any = SimpleNamespace(get_kernel_spec=lambda name: spec)
    return asyncio.run(commands.start(specs, "mine", timeout_s))


def _python(folder: Path, script: str) -> str:
    """A program with the name of a Python."""
    program = folder / "python3"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_the_pid_is_what_the_command_says(tmp_path: Path) -> None:
    says = 'test "$*" = "-m nbaccel start --head" && test "$MINE" = 7 && echo "nbaccel head started, pid 42."'
    assert _start(_python(tmp_path, says), "-m", "ipykernel_launcher", MINE="7") == 42


def test_a_python_without_nbaccel_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="environment of the kernel My kernel has no nbaccel"):
        _start(_python(tmp_path, 'echo "python3: No module named nbaccel" >&2; exit 1'))


def test_what_the_command_says_at_its_end_is_the_reason(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="was not started: no room"):
        _start(_python(tmp_path, 'echo "Error: no room" >&2; exit 1'))


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"within 0\.05 s"):
        _start(_python(tmp_path, "exec sleep 600"), timeout_s=0.05)


def test_a_kernel_whose_python_is_unknown_starts_nothing() -> None:
    with pytest.raises(CommandFailed, match="does not begin with a Python"):
        _start("/usr/bin/ssh", "host", "python3")
    with pytest.raises(CommandFailed, match="does not begin with a Python"):
        _start("R", "--slave", language="R")
    with pytest.raises(CommandFailed, match="is not there"):
        _start("/nowhere/python3", "-m", "ipykernel_launcher")


def test_the_names_that_jupyter_reads_as_its_own_python_are_read_so() -> None:
    spec = SimpleNamespace(argv=["python3"], language="python", display_name="Python 3")
    assert commands._python(spec) == sys.executable
