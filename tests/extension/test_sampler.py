"""What the sampler says of this machine, and the process that says it."""

from __future__ import annotations

import asyncio
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="jupyter_server is not installed")

from nbaccel_lab import metrics, sampler
from nbaccel_lab.sampling import Sampler

from tests.extension.fake_head import until


class NVMLError(Exception):
    """As pynvml's."""


class FakeLibrary:
    """Two devices: the first says everything, the second as little as one under MIG does."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return SimpleNamespace(total=80 << 30, used=8 << 30)

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        if device:
            raise NVMLError("Not Supported")
        return SimpleNamespace(gpu=34)

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:
        return 123_456

    def nvmlDeviceGetTemperature(self, device: int, kind: int) -> int:
        return 41

    def nvmlDeviceGetUUID(self, device: int) -> str:
        return f"GPU-{device}"

    def nvmlDeviceGetName(self, device: int) -> bytes:
        return b"NVIDIA <b>H100</b>"

    def nvmlDeviceGetComputeRunningProcesses(self, device: int) -> list[Any]:
        ours, nobodys = os.getpid(), 2**22 + 1
        return [SimpleNamespace(pid=ours, usedGpuMemory=1 << 30), SimpleNamespace(pid=nobodys, usedGpuMemory=None)]


def test_devices_have_their_processes_and_say_why_a_value_is_unknown() -> None:
    machine = sampler.machine(FakeLibrary(), "")
    first, second = machine["devices"]
    assert (first["utilisation_percent"], first["power_watts"], first["reasons"]) == (34, 123, {})
    assert second["utilisation_percent"] is None and second["reasons"] == {"utilisation_percent": "Not Supported"}
    ours, nobodys = first["processes"]
    assert ours["own"] and ours["name"] and ours["memory_bytes"] == 1 << 30
    assert nobodys == {"pid": 2**22 + 1, "name": "", "user": "", "own": False, "memory_bytes": None}
    assert machine["reason"] == "" and "Start a head" in machine["others"]


def test_a_device_that_is_lost_hides_no_other_and_says_why() -> None:
    class WithALostOne(FakeLibrary):
        def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
            if index == 0:
                raise NVMLError("GPU is lost")
            return index

    machine = sampler.machine(WithALostOne(), "")
    lost, other = machine["devices"]
    assert lost["id"] == "0" and lost["reasons"] == {"device": "GPU is lost"}
    assert lost.keys() == other.keys() and lost["uuid"] is None and lost["memory_used_bytes"] is None
    assert other["memory_used_bytes"] == 8 << 30 and machine["reason"] == ""
    assert "GPU is lost" not in metrics.text(metrics.of_machine(machine)) and "GPU-1" in metrics.text(
        metrics.of_machine(machine)
    )


class ErrorWithNumber(NVMLError):
    """As pynvml's own: it has the number of what went wrong."""

    def __init__(self, value: int) -> None:
        super().__init__({12: "NVML Shared Library Not Found", 9: "Driver Not Loaded"}[value])
        self.value = value


@pytest.mark.parametrize(
    "number, said",
    [(12, "This machine has no NVIDIA driver."), (9, "NVIDIA's library says: Driver Not Loaded.")],
    ids=["no driver", "a driver that does not work"],
)
def test_a_machine_without_a_driver_is_no_fault(monkeypatch: pytest.MonkeyPatch, number: int, said: str) -> None:
    class Module(ModuleType):
        NVMLError = NVMLError
        NVML_ERROR_LIBRARY_NOT_FOUND = 12

        def nvmlInit(self) -> None:
            raise ErrorWithNumber(number)

    monkeypatch.setitem(sys.modules, "a_library", Module("a_library"))
    assert sampler.library("a_library") == (None, said)


def test_a_machine_without_a_library_says_so() -> None:
    machine = sampler.machine(None, "NVIDIA's library says: not found.")
    assert machine["devices"] == [] and machine["reason"] == "NVIDIA's library says: not found."
    assert machine["host"]["memory_total_bytes"] > machine["host"]["memory_used_bytes"] > 0


def test_a_sampler_that_says_the_same_is_not_repeated_and_one_that_ends_is_told() -> None:
    lines = ['{"time": 1, "devices": []}', '{"time": 2, "devices": []}', '{"time": 3, "devices": [1]}']
    said: list[dict[str, Any]] = []

    async def look() -> None:
        program = f"for line in {lines!r}: print(line, flush=True)"
        watched = Sampler(said.append, (sys.executable, "-c", program))
        async with watched.borrowed():
            await until(lambda: len(said) == 3, "the end of the sampler to be told")
        assert not watched.runs

    asyncio.run(look())
    assert [each["time"] for each in said[:2]] == [1, 3]
    assert said[2]["reason"] == "The sampler of nbaccel-lab has ended; it is started again."


def test_a_sampler_that_cannot_start_is_told_and_one_that_hangs_ends_with_its_last_user() -> None:
    async def look() -> None:
        missing = Sampler(lambda machine: None, ("/nowhere/python",))
        assert "could not be started" in (await missing.machine())["reason"]
        hangs = Sampler(lambda machine: None, (sys.executable, "-c", "input()"))
        with pytest.raises(TimeoutError):
            await hangs.machine(timeout_s=0.01)
        assert not hangs.runs

    asyncio.run(look())
