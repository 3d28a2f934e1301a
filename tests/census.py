"""Running programs in a place of their own, and counting what they leave: processes, shared memory, files.

Every process that descends from a program carries the place's random token in its environment; the session file, the
session directory and the lease records go to directories that belong to the place.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = "NBACCEL_TEST_TOKEN"
PATIENCE_S = 90.0  # far above what anything takes: a busy machine may stand still for twenty seconds
_ROOT = Path(__file__).resolve().parent.parent


def carriers(token: str) -> dict[int, str]:
    """Processes with the token in their environment (pid -> command line); zombies have none."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (path / "environ").read_bytes():
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(path.name)] = line.decode(errors="replace").strip()
        except OSError:
            continue
    return found


def end_carriers(token: str) -> None:
    """Kill the processes with the token, but this one; some may end by themselves meanwhile."""
    for pid in carriers(token).keys() - {os.getpid()}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _names_a_holder(record: Path) -> bool:
    """Whether a lease record says that somebody holds the device; the last holder may remove it at any moment."""
    try:
        return b"pid" in record.read_bytes()
    except FileNotFoundError:
        return False


def _end_with_us() -> None:
    """A test run that is killed leaves no program behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


@dataclass
class Place:
    """Directories and a token of its own for the programs of one test."""

    token: str = field(default_factory=lambda: secrets.token_hex(16))
    # Short: the path of a unix socket has at most 107 bytes.
    root: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="nb-", dir="/tmp")))

    def __post_init__(self) -> None:
        for name in ("tmp", "runtime", "leases"):
            (self.root / name).mkdir(mode=0o700)
        self._shared_memory = set(os.listdir("/dev/shm"))

    @property
    def environ(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")},
            TOKEN: self.token,
            "TMPDIR": str(self.root / "tmp"),
            "JUPYTER_RUNTIME_DIR": str(self.root / "runtime"),
            "NBACCEL_LEASE_DIR": str(self.root / "leases"),
            "PYTHONPATH": str(_ROOT),
            "RAY_worker_niceness": "0",  # on a machine that runs other programs as well, nice workers are late
        }

    def start(self, code: str, **environ: str) -> subprocess.Popen[str]:
        """Start a program of its own; its script lies in the place."""
        script = self.root / f"program-{secrets.token_hex(3)}.py"
        script.write_text(code)
        return subprocess.Popen(
            [sys.executable, str(script)],
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
            preexec_fn=_end_with_us,
        )

    def run(self, code: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        process = self.start(code, **environ)
        try:
            out, err = process.communicate(timeout=PATIENCE_S * 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def command(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the command line."""
        return subprocess.run(
            [sys.executable, "-m", "nbaccel", *arguments],
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 2,
            check=False,
        )

    def left(self, keep: set[int] = frozenset()) -> dict[str, object]:  # type: ignore[assignment]
        """What is there now that should not be."""
        found: dict[str, object] = {
            "processes": {pid: title for pid, title in carriers(self.token).items() if pid not in keep},
            "sessions": sorted(path.name for path in (self.root / "runtime").iterdir()),
            "directories": sorted(path.name for path in (self.root / "tmp").glob("nbaccel-*")),
            "leases": sorted(path.name for path in (self.root / "leases").glob("*.lease") if _names_a_holder(path)),
            "shared memory": sorted(
                name for name in set(os.listdir("/dev/shm")) - self._shared_memory if name.startswith("nbaccel-arena")
            ),
        }
        return {what: things for what, things in found.items() if things}

    def assert_nothing_left(self, keep: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """Wait, with a deadline far above what it takes, until nothing is left."""
        deadline = time.monotonic() + PATIENCE_S
        while left := self.left(keep):
            assert time.monotonic() < deadline, f"after {PATIENCE_S:g} s there still was {left}"
            time.sleep(0.01)

    def clear(self) -> None:
        """Remove the directories, and end what is still there: a test that failed takes no time from those after it."""
        end_carriers(self.token)
        shutil.rmtree(self.root, ignore_errors=True)
