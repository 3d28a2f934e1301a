"""Which workers of a real cluster end when nobody uses them, and which stay."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbaccel
from tests.rig import Gate, is_alive, wait_until

CPUS = 3


@pytest.fixture
def cluster() -> Iterator[None]:
    nbaccel.init(num_cpus=CPUS)
    yield
    nbaccel.shutdown()


@nbaccel.remote
def pid_at(gate: object, folder: str = "") -> int:
    """The process, once all have come to the gate; it imports a module of the user's from this folder."""
    if folder:
        sys.path.insert(0, folder)
        __import__("toolbox_of_a_test")
        sys.path.remove(folder)
    nbaccel.get(gate.wait.remote())  # type: ignore[attr-defined]
    return os.getpid()


def together(*folders: str) -> list[int]:
    """A task for each folder, all at the same time: the processes that they ran in."""
    gate = Gate.remote()
    refs = [pid_at.remote(gate, folder) for folder in folders]
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == len(folders), "the tasks to come to the gate")
    nbaccel.get(gate.open.remote())
    return nbaccel.get(refs)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_workers_with_the_users_modules_stay_and_others_end_when_they_are_idle(tmp_path: Path) -> None:
    (tmp_path / "toolbox_of_a_test.py").write_text("")
    folder = str(tmp_path)
    first, second, third = together(folder, "", "")
    assert len({first, second, third}) == CPUS
    wait_until(lambda: not is_alive(second) and not is_alive(third), "the workers that have loaded nothing to end")
    again = together("", "", "")
    assert first in again and second not in again and third not in again


FREED_BYTES = 50_000_000


@nbaccel.remote
def fill_and_free() -> int:
    """Free much that the C library keeps for the next request: behind it lies something that is still in use."""
    import numpy

    pieces = [bytearray(100_000) for _ in range(FREED_BYTES // 100_000)]
    numpy.kept_by_a_test = bytearray(100_000)  # type: ignore[attr-defined]
    del pieces
    return os.getpid()


def own_bytes(pid: int) -> int:
    """Memory that no other process has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_an_idle_worker_gives_back_what_it_has_freed() -> None:
    pid = nbaccel.get(fill_and_free.remote())
    wait_until(lambda: own_bytes(pid) < FREED_BYTES, "the memory to be given back")
    assert nbaccel.get(fill_and_free.remote()) == pid
