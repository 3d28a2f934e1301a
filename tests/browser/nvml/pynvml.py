"""NVIDIA's library, for the sampler of a server that the tests start: it reads devices from the file `DEVICES`.

The file is a list of objects: name, used, total (bytes), load (percent), watts, celsius, processes ([[pid, bytes], …]).
One that cannot be reached has "lost" (why) instead.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NVML_TEMPERATURE_GPU = 0


class NVMLError(Exception):
    """As the real one's."""


def nvmlInit() -> None:
    pass


def _devices() -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(Path(os.environ["NBACCEL_TESTS_DEVICES"]).read_text())
        return found
    except (OSError, ValueError):  # not there yet, or being written
        return []


def nvmlDeviceGetCount() -> int:
    return len(_devices())


def nvmlDeviceGetHandleByIndex(index: int) -> dict[str, Any]:
    devices = _devices()
    if index >= len(devices):
        raise NVMLError("Invalid Argument")
    if "lost" in devices[index]:
        raise NVMLError(devices[index]["lost"])
    return {"index": index, **devices[index]}


def nvmlDeviceGetMemoryInfo(device: dict[str, Any]) -> Any:
    return SimpleNamespace(used=device["used"], total=device["total"])


def nvmlDeviceGetUtilizationRates(device: dict[str, Any]) -> Any:
    if device["load"] is None:
        raise NVMLError("Not Supported")
    return SimpleNamespace(gpu=device["load"])


def nvmlDeviceGetPowerUsage(device: dict[str, Any]) -> int:
    return int(device["watts"]) * 1000


def nvmlDeviceGetTemperature(device: dict[str, Any], kind: int) -> int:
    return int(device["celsius"])


def nvmlDeviceGetUUID(device: dict[str, Any]) -> str:
    return f"GPU-of-the-tests-{device['index']}"


def nvmlDeviceGetName(device: dict[str, Any]) -> str:
    return str(device["name"])


def nvmlDeviceGetComputeRunningProcesses(device: dict[str, Any]) -> list[Any]:
    return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in device["processes"]]
