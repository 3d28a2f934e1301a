"""Device memory that a task leaves in a process that others would use: told, and given back, on a real Ray."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import nbaccel
from nbaccel.views import sinks
from tests.rig import is_alive, wait_until

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(400)]
pytest.importorskip("ray")
MIB = 1 << 20


class Devices:
    """As torch.cuda, with a device that holds what a test says."""

    held = 0

    def is_initialized(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def memory_reserved(self, index: int) -> int:
        return Devices.held

    max_memory_reserved = memory_reserved

    def empty_cache(self) -> None: ...

    def reset_peak_memory_stats(self, index: int) -> None: ...


class Tensor:
    """An array on the device, as frameworks tell each other of it."""

    __cuda_array_interface__: dict[str, Any] = {}

    def __init__(self, size: int) -> None:
        self.nbytes = size

    def __reduce__(self) -> Any:
        return (int, (self.nbytes,))  # on its way to others it is a copy in the memory of the host


def opened() -> Any:
    """The devices of this process, by a torch that stands in for the real one."""
    sys.modules.pop("torch", None)
    torch: Any = type(sys)("torch")
    torch.cuda = Devices()
    sys.modules["torch"] = torch
    return Devices


@nbaccel.remote(num_gpus=1, num_cpus=0, max_calls=0)
def leave(size: int, *, fails: bool = False, returns: int = 0) -> Any:
    opened().held = size + returns
    if fails:
        raise ValueError("it fails")
    return Tensor(returns) if returns else os.getpid()


@pytest.fixture(scope="module")
def joined() -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    nbaccel.init(engine="ray", num_cpus=2, num_gpus=1)
    yield
    nbaccel.shutdown()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What workers have printed."""
    found: list[str] = []
    monkeypatch.setattr(sinks.installed, "lines", lambda printed: found.append(printed.text.decode()))
    return found


def test_a_process_that_leaves_little_goes_on(joined: None) -> None:
    pids = [nbaccel.get(leave.remote(100 * MIB)) for _ in range(4)]
    assert len(set(pids)) < 4  # Ray chooses which of its processes runs a task, and ends those that are idle


def test_a_process_that_keeps_much_is_replaced_and_it_is_told(joined: None, lines: list[str]) -> None:
    nbaccel.get(leave.remote(0))
    nbaccel.snapshot()  # somebody watches
    kept = nbaccel.get(leave.remote(300 * MIB))
    assert nbaccel.get(leave.remote(0)) != kept
    wait_until(lambda: not is_alive(kept))
    wait_until(lambda: any("kept 300 MiB of the memory of GPU 0" in line for line in lines))


def test_a_task_that_fails_leaves_no_more_than_one_that_returns(joined: None) -> None:
    nbaccel.get(leave.remote(0))
    nbaccel.snapshot()  # somebody watches
    with pytest.raises(ValueError, match="it fails"):
        nbaccel.get(leave.remote(400 * MIB, fails=True))
    (told,) = wait_until(lambda: [each.message for each in nbaccel.snapshot().alerts if "kept 400 MiB" in each.message])
    assert "The process is replaced before the next task gets the device." in told


def test_what_a_task_returns_is_not_left_behind(joined: None) -> None:
    nbaccel.get(leave.remote(0))
    nbaccel.snapshot()  # somebody watches
    assert nbaccel.get(leave.remote(70 * MIB, returns=300 * MIB)) == 300 * MIB
    assert nbaccel.get(leave.remote(0))
    assert not [each.message for each in nbaccel.snapshot().alerts if "kept 370 MiB" in each.message]


def test_so_many_calls_end_with_the_first_that_leaves_much(joined: None) -> None:
    some = nbaccel.remote(num_gpus=1, num_cpus=0, max_calls=3)(leave._function)
    kept = nbaccel.get(some.remote(500 * MIB))
    wait_until(lambda: not is_alive(kept))
