"""Programs that behave as `ray start --block` does, and a folder for the records of what a test starts."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbaccel.machines import node_records, ray_processes
from nbaccel.machines.node_records import NodeRecord

# It has a child, as Ray's own process has, which does not end with it.
NODE = """
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
print("Ray runtime started.", flush=True)
signal.pause()
"""
# Not before `breaks`: who starts a node may look at it only after it has ended.
ENDS_LATER = (
    "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])"
    + NODE.removesuffix("signal.pause()\n")
    + "signal.sigwait([signal.SIGUSR1])\nprint('Some Ray subprocesses exited unexpectedly:\\n  raylet')\n"
)
DEAF = NODE.replace("lambda *_: sys.exit(1)", "signal.SIG_IGN")


def line(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


def started(program: str = NODE, *arguments: str, is_head: bool = False, **environ: str) -> NodeRecord:
    return ray_processes.start(line(program, *arguments), environ, address="10.0.0.5:6379", is_head=is_head)


def breaks(pid: int) -> None:
    """A node of `ENDS_LATER` ends now."""
    os.kill(pid, signal.SIGUSR1)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the records lie. What still runs in the end is killed."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path / "runtime" / "nbaccel-ray"
    for record in node_records.find():
        node_records.end(record, force=True)
    ray_processes.forget_ended()
