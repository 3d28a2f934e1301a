"""Files in Jupyter's runtime directory that are called like a session's: whoever looks for heads takes no harm."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbaccel import proc
from nbaccel.local_engine import process
from nbaccel.views import sessions
from tools.fuzz import written_files
from tools.fuzz.cases import Cases

PRECIOUS = b"precious"


def run(seconds: float, seed: int) -> None:
    """Look for heads among such files for so long. Raises AssertionError where that does harm."""
    cases = Cases(seed)
    before = os.environ.get("JUPYTER_RUNTIME_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_RUNTIME_DIR"] = folder
        try:
            end, count = time.monotonic() + seconds, 0
            while not count or time.monotonic() < end:
                _one(cases, Path(folder), f"case {count} of seed {seed}")
                count += 1
        finally:
            if before is None:
                del os.environ["JUPYTER_RUNTIME_DIR"]
            else:
                os.environ["JUPYTER_RUNTIME_DIR"] = before


def _one(cases: Cases, folder: Path, case: str) -> None:
    victim = folder / "precious"
    victim.mkdir()
    (victim / "file").write_bytes(PRECIOUS)
    planted = [folder / f"nbaccel-{number}.json" for number in range(cases.rng.randrange(1, 4))]
    for path in planted:
        written_files.place(cases, path, _record(cases, victim), victim / "file")
    try:
        found = [*sessions.find(), *_found_by_jupyter()]
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error
    assert all(record.pid == os.getpid() for record in found), f"{case}: a head was found that does not run: {found}"
    assert (victim / "file").read_bytes() == PRECIOUS, f"{case}: a file elsewhere was removed or written"
    for path in planted:
        written_files.clear(path)
    (victim / "file").unlink()
    victim.rmdir()


def _found_by_jupyter() -> list[Any]:
    """What nbaccel-lab finds, where it is installed."""
    if find_spec("nbaccel_lab") is None:
        return []
    from nbaccel_lab import runtimes

    return list(runtimes.scan()[0])


def _record(cases: Cases, victim: Path) -> dict[str, Any]:
    rng = cases.rng
    return {
        "session": rng.choice(("s", *cases.texts)),
        "socket": rng.choice(("/nowhere", str(victim / "file"))),
        "token": "t",
        "pid": rng.choice((os.getpid(), 1, 2**22, -1)),
        "start_time": rng.choice((process.start_time(os.getpid()), 0)),
        "boot_id": rng.choice((proc.boot_id(), "another")),
        "directory": rng.choice((str(victim), "/", "..", "a\0b", *cases.texts)),
        "shared": rng.random() < 0.5,
        "title": rng.choice(cases.texts),
        "started_at": rng.choice((0.0, 1e308, -1.0)),
        "owner_pid": rng.choice((0, os.getpid(), -1)),
        "host": rng.choice((os.uname().nodename, "", *cases.texts)),
    }
