"""Memory of the store in a real cluster: it is ready for the next large value, and goes when nobody uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import nbaccel
from nbaccel import engine as engines
from tests.rig import wait_until

MIB = 1 << 20


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster in a runtime directory of its own: no other head keeps memory ready there."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    nbaccel.init(num_cpus=1, object_store_memory=600 * MIB)
    yield
    nbaccel.shutdown()


def backed_bytes() -> int:
    """Memory behind the arena, whoever has it."""
    return os.fstat(engines.started()._arena_fd).st_blocks * 512  # type: ignore[union-attr]


def mapped_bytes() -> int:
    """What this process has mapped beforehand."""
    parts = engines.started()._writer.window._mapped.parts  # type: ignore[union-attr]
    return sum(end - start for start, end in parts)


def head_children() -> set[str]:
    """The names of the processes beside the workers."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getpid() in _ancestors(int(entry.name)):
                found.add((entry / "cmdline").read_bytes().split(b"\0")[0].decode())
        except OSError:
            continue  # it has ended
    return found


def _ancestors(pid: int) -> set[int]:
    found = set()
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.add(pid)
    return found


@pytest.mark.usefixtures("store")
@pytest.mark.slow
def test_a_large_value_finds_memory_ready_and_unused_memory_goes() -> None:
    first = numpy.arange(100 * MIB // 8)
    held = nbaccel.put(first)
    wait_until(lambda: mapped_bytes() >= 256 * MIB, "the ready memory to be mapped")
    assert backed_bytes() >= 356 * MIB
    second = first + 1
    other = nbaccel.put(second)
    assert (nbaccel.get(held) == first).all() and (nbaccel.get(other) == second).all()
    del held
    wait_until(lambda: backed_bytes() < 110 * MIB, "the memory of what is not held to go")
    assert (nbaccel.get(other) == second).all()
    wait_until(lambda: "nbaccel::mover" not in head_children(), "the mover to rest")
    third = nbaccel.put(first)
    assert (nbaccel.get(third) == first).all() and (nbaccel.get(other) == second).all()
    del other, third
    wait_until(lambda: backed_bytes() == 0, "all memory to go")
