"""Files in the lease directory: no head fails at them, none writes anywhere else, and nobody but the living holds."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from nbaccel import leases, proc
from nbaccel.leases import Leases
from nbaccel.quantities import UNIT
from tools.fuzz import written_files
from tools.fuzz.cases import Cases

DEVICE = "GPU-4f2c"
PRECIOUS = b"precious"


def run(seconds: float, seed: int) -> None:
    """Let heads lease among such files for so long. Raises AssertionError where one takes harm."""
    cases = Cases(seed)
    with tempfile.TemporaryDirectory() as folder:
        victim, directory = Path(folder, "victim"), Path(folder, "leases")
        victim.write_bytes(PRECIOUS)
        first, second = Leases(directory, "a.ipynb"), Leases(directory, "b.ipynb")
        end, count = time.monotonic() + seconds, 0
        while not count or time.monotonic() < end:
            _one(cases, directory, victim, first, second, f"case {count} of seed {seed}")
            count += 1


def _one(cases: Cases, directory: Path, victim: Path, first: Leases, second: Leases, case: str) -> None:
    planted = [directory / name for name in _names(cases)]
    for path in planted:
        written_files.place(cases, path, _record(cases), victim)
    try:
        amount = cases.rng.choice((1, 2_500, UNIT))
        holder = first.take(DEVICE, amount)
        other = second.take(DEVICE, UNIT)
        assert holder is not None or other is not None, f"{case}: two heads got one device"
        told = [leases.held_by(DEVICE), str(holder), str(other), *map(str, second.held_by_others(DEVICE))]
        assert all(line.isprintable() for line in told), f"{case}: {told}"
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error
    finally:
        for each in (first, second):
            each.release_all()
        for path in directory.iterdir():
            written_files.clear(path)
    assert victim.read_bytes() == PRECIOUS, f"{case}: a file elsewhere was written"
    assert first.take(DEVICE, UNIT) is None, f"{case}: something is held that nobody holds"
    first.release_all()
    assert not list(directory.iterdir()), f"{case}: a file was left"


def _names(cases: Cases) -> list[str]:
    """The heads' own, other users', and what is no record's."""
    me = os.geteuid()
    names = [f"{DEVICE}.{me}.lease", f"{DEVICE}.{me}.names", f"{DEVICE}.1000.lease", f"{DEVICE}..lease", "x", "x.lease"]
    return cases.rng.sample(names, cases.rng.randrange(1, 4))


def _record(cases: Cases) -> dict[str, Any]:
    """A holder that lives, or did; or the names of some."""
    if cases.rng.random() < 0.2:
        return {"t": cases.rng.choice(cases.texts), "u": "\x1b[31mred"}
    holder = {
        "pid": cases.rng.choice((os.getpid(), os.getppid(), 1, 2**22)),
        "started": cases.rng.choice((0, leases._start_of(os.getpid()))),
        "boot_id": cases.rng.choice((proc.boot_id(), "", "another")),
        "token": cases.rng.choice(("t", "u")),
        "amount": cases.rng.choice((1, 5_000, UNIT)),
        "since": 1.0,
        "owner_pid": 0,
    }
    return {"holders": [holder] * cases.rng.choice((1, 1, 3))}
