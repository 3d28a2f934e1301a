"""Device memory on a real NVIDIA GPU: what a reused process keeps is noticed and released, what others use is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.accelerators import Device

pytestmark = pytest.mark.gpu
GIB = 1 << 30


@pytest.fixture
def session(gpus: list[Device]) -> Iterator[Any]:
    """nbaccel, started with the devices that it finds, where torch can use them."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    import nbaccel

    nbaccel.init(num_cpus=2)
    yield nbaccel
    nbaccel.shutdown()


def leave(gibibytes: int) -> int:
    """Leave a tensor of this size in a module, as a careless cache does."""
    import torch

    torch.left_behind = torch.empty(gibibytes * GIB, dtype=torch.uint8, device="cuda") if gibibytes else None
    return os.getpid()


def test_tensors_left_behind_by_a_reused_process_are_noticed_and_released(session: Any) -> None:
    left = session.remote(num_gpus=1, max_calls=0, name="left")(leave)
    first = session.get(left.remote(2))
    second = session.get(left.remote(0))
    assert second != first, "the process was replaced before the next task got the device"
    (alert,) = [alert for alert in session.snapshot().alerts if alert.kind == "leak"]
    assert f"left ended, but its process (pid {first}) kept 2 GiB of the memory of GPU" in alert.message
    assert session.get(left.remote(0)) == second, "what keeps nothing goes on"


def test_a_tensor_that_is_dropped_is_no_leak(session: Any) -> None:
    @session.remote(num_gpus=1, max_calls=0)
    def drop() -> int:
        import torch

        tensor = torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
        del tensor  # torch's pool keeps the memory until it is told to give it back
        return os.getpid()

    assert len({session.get(drop.remote()) for _ in range(2)}) == 1
    (row, *_) = [row for row in session.snapshot().tasks if row.name == "drop"]
    assert row.peak_memory_bytes is not None and row.peak_memory_bytes >= 2 * GIB


def test_a_probe_proves_that_the_driver_works(session: Any) -> None:
    def one_on_the_device() -> float:
        import torch

        return float(torch.ones(1, device="cuda").item())

    probe = session.probe(num_gpus=1, verify=one_on_the_device)
    assert probe and probe.value == 1.0


def test_out_of_memory_is_answered_by_the_fallback(session: Any) -> None:
    import torch

    @session.remote(num_gpus=1, fallback="cpu", fallback_on=(torch.OutOfMemoryError,))
    def grow() -> str:
        import torch

        if session.get_runtime_context().fallback_taken:
            return "cpu"
        return str(torch.empty(1 << 44, dtype=torch.uint8, device="cuda").device)

    assert session.get(grow.remote()) == "cpu"
