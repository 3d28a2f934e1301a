"""Device memory that a process keeps after its task: measured, told, and given back before the next task comes."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import nbaccel
from tests.accelerators.fake_nvml import GIB
from tests.census import Place
from tests.never_hang.clusters import wait_until_free

MIB = 1 << 20


def take(kept: int, peak: int = 0) -> int:
    """Stand in for torch in this process: its pool holds so much when the task is over. Returns the pid."""
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 1,
        memory_reserved=lambda index: kept,
        max_memory_reserved=lambda index: max(kept, peak),
        reset_peak_memory_stats=lambda index: None,
        empty_cache=lambda: None,
    )
    sys.modules["torch"] = SimpleNamespace(cuda=cuda)  # type: ignore[assignment]
    return os.getpid()


def leaks() -> list[str]:
    return [alert.message for alert in nbaccel.snapshot().alerts if alert.kind == "leak"]


@pytest.fixture
def train() -> Any:
    """A function whose process is used again."""
    return nbaccel.remote(num_gpus=1, max_calls=0, name="train")(take)


def test_a_process_that_keeps_tensors_is_replaced_and_named(two_a100: Place, train: Any) -> None:
    wait_until_free()
    first = nbaccel.get(train.options(num_gpus=2).remote(3 * GIB))
    second = nbaccel.get(train.options(num_gpus=2).remote(0))
    assert first != second
    (message,) = leaks()
    assert f"train ended, but its process (pid {first}) kept 3 GiB of the memory of GPU 0 and GPU 1" in message
    assert "torch tensors that something still refers to" in message
    (alert,) = [alert for alert in nbaccel.snapshot().alerts if alert.kind == "leak"]
    assert alert.device == "0" and alert.task_id


def test_a_little_that_is_kept_is_no_leak(two_a100: Place, train: Any) -> None:
    wait_until_free()
    before = leaks()
    pids = {nbaccel.get(train.options(num_gpus=2).remote(kept)) for kept in (0, 200 * MIB, 500 * MIB, 0)}
    assert len(pids) == 1, "two devices, 256 MiB each"
    assert leaks() == before


def test_a_process_that_ends_anyway_leaves_nothing(two_a100: Place) -> None:
    before = leaks()
    nbaccel.get(nbaccel.remote(num_gpus=1)(take).remote(30 * GIB))
    assert leaks() == before


def test_an_actor_keeps_what_it_likes(two_a100: Place) -> None:
    before = leaks()

    @nbaccel.remote(num_gpus=1)
    class Keeper:
        def work(self) -> int:
            return take(30 * GIB)

    keeper = Keeper.remote()
    assert nbaccel.get(keeper.work.remote()) == nbaccel.get(keeper.work.remote())
    assert leaks() == before
    nbaccel.kill(keeper)


def test_a_tasks_peak_is_written_down_with_a_hint_when_it_is_small(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=1)
    def small() -> None:
        take(0)
        take(0, 3 * GIB)

    nbaccel.get(small.remote())
    (row,) = [row for row in nbaccel.snapshot().tasks if row.name == "small"]
    assert row.peak_memory_bytes == 3 * GIB
    assert row.hint == (
        "small held 1 GPU (40 GiB) and used 3 GiB of it at most: gpu_memory='4GiB' instead of whole devices would let "
        "others run beside it."
    )
