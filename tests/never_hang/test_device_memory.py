"""What a process says of the devices' memory, with frameworks that are stood in for in `sys.modules`."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel import device_memory

MIB = 1 << 20


class Devices:
    """torch.cuda: a pool, some of it in use, and a peak."""

    def __init__(self, reserved: int, live: int = 0, peak: int = 0, opened: bool = True) -> None:
        self.reserved, self.live, self.peak, self.opened = reserved, live, max(peak, reserved), opened
        self.calls: list[str] = []

    def is_initialized(self) -> bool:
        return self.opened

    def device_count(self) -> int:
        assert self.opened, "counting would open the driver"
        return 1

    def memory_reserved(self, index: int) -> int:
        return self.reserved

    def max_memory_reserved(self, index: int) -> int:
        return self.peak

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")
        self.reserved = self.live

    def reset_peak_memory_stats(self, index: int) -> None:
        self.calls.append("reset")
        self.peak = self.reserved


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that puts modules into this process, and takes the others out."""
    for name in ("torch", "cupy", "jax", "jax._src.xla_bridge"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def put(**modules: Any) -> None:
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name.replace("__", "."), module)

    return put


def test_nothing_is_known_where_no_framework_has_opened_a_device(loaded: Any) -> None:
    report = device_memory.measure()
    assert (report.held_bytes, report.peak_bytes) == (None, None)
    assert "none of the frameworks that tell (torch, cupy, jax)" in report.why


def test_a_framework_that_has_not_opened_a_device_is_left_alone(loaded: Any) -> None:
    cuda = Devices(0, opened=False)
    loaded(torch=SimpleNamespace(cuda=cuda))
    device_memory.begin()
    assert device_memory.measure().held_bytes is None
    assert cuda.calls == []


def test_torch_says_what_its_pool_holds_and_the_peak_since_the_beginning(loaded: Any) -> None:
    cuda = Devices(10 * MIB, live=10 * MIB, peak=900 * MIB)
    loaded(torch=SimpleNamespace(cuda=cuda, xpu=Devices(0, opened=False)))
    device_memory.begin()
    cuda.peak = 300 * MIB
    report = device_memory.measure()
    assert (report.held_bytes, report.peak_bytes) == (10 * MIB, 300 * MIB)
    assert "torch tensors that something still refers to" in report.why
    assert "empty_cache" not in cuda.calls


def test_above_the_threshold_what_is_not_in_use_is_given_back_first(loaded: Any) -> None:
    cuda = Devices(2048 * MIB, live=20 * MIB)
    loaded(torch=SimpleNamespace(cuda=cuda))
    report = device_memory.measure(256 * MIB)
    assert (report.held_bytes, report.peak_bytes) == (20 * MIB, 2048 * MIB)


def test_garbage_that_holds_tensors_is_collected(loaded: Any) -> None:
    class Tensor:
        def __del__(self) -> None:
            cuda.live = 0

    cuda = Devices(2048 * MIB, live=2048 * MIB)
    loaded(torch=SimpleNamespace(cuda=cuda))
    tensor: Any = Tensor()
    tensor.itself = tensor
    del tensor
    assert device_memory.measure().held_bytes == 0


def test_cupy_says_what_its_pool_holds_and_knows_no_peak(loaded: Any) -> None:
    pool = SimpleNamespace(total_bytes=lambda: 5 * MIB, free_all_blocks=lambda: None)
    loaded(cupy=SimpleNamespace(get_default_memory_pool=lambda: pool))
    device_memory.begin()
    assert device_memory.measure() == (5 * MIB, None, "cupy arrays that something still refers to: a global variable "
                                       "or a cache")  # fmt: skip


def test_jax_is_asked_only_when_it_has_opened_its_devices(loaded: Any) -> None:
    stats = {"bytes_in_use": MIB, "peak_bytes_in_use": 7 * MIB, "pool_bytes": 30 * MIB, "peak_pool_bytes": 30 * MIB}
    devices = [SimpleNamespace(platform="gpu", memory_stats=lambda: stats)]
    bridge = SimpleNamespace(backends_are_initialized=lambda: False)
    loaded(jax=SimpleNamespace(local_devices=lambda: devices), jax___src__xla_bridge=bridge)
    assert device_memory.measure().held_bytes is None
    bridge.backends_are_initialized = lambda: True
    report = device_memory.measure()
    assert (report.held_bytes, report.peak_bytes) == (30 * MIB, 30 * MIB)
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in report.why


def test_a_framework_that_cannot_be_asked_is_named(loaded: Any) -> None:
    def broken() -> bool:
        raise RuntimeError("the driver is gone")

    loaded(torch=SimpleNamespace(cuda=SimpleNamespace(is_initialized=broken)))
    device_memory.begin()
    report = device_memory.measure()
    assert report.held_bytes is None
    assert report.why == "torch could not be asked (RuntimeError: the driver is gone)"
