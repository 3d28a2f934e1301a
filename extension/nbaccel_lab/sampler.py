"""The sampler: `python -m nbaccel_lab.sampler` writes what this machine does, until its stdin ends.

It writes a line of JSON each second. It is a process of its own, because a vendor's library may take seconds, or never
answer. It reads NVIDIA's devices by NVML; devices of other vendors are shown by the heads that use them.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

EVERY_S = 1.0
MOST_PROCESSES = 64  # of a device
OTHERS = "Start a head to see devices of other vendors."


def main() -> int:
    nvml, reason = library()
    psutil.cpu_percent()  # the next call measures from here
    while True:
        try:
            sys.stdout.write(json.dumps(machine(nvml, reason)) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            return 0
        if select.select([sys.stdin], [], [], EVERY_S)[0]:  # the server has closed it, or has ended
            return 0


def library(name: str = "pynvml") -> tuple[Any, str]:
    """(NVIDIA's library in the module of this name, or None; why there is none)."""
    try:
        nvml = importlib.import_module(name)
    except ImportError:
        return None, "nvidia-ml-py is not installed beside JupyterLab."
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        if getattr(error, "value", None) == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            return None, "This machine has no NVIDIA driver."  # as most laptops: nothing is wrong
        return None, f"NVIDIA's library says: {error}."
    return nvml, ""


def machine(nvml: Any, reason: str) -> dict[str, Any]:
    """What is known of this machine now. `nvml` is the module pynvml, or one like it."""
    devices: list[dict[str, Any]] = []
    if nvml is not None:
        try:
            devices = [_device_or_why(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
        except nvml.NVMLError as error:
            reason = f"NVIDIA's library says: {error}."
        if not devices:
            reason = reason or "NVIDIA's library sees no device."
    memory = psutil.virtual_memory()
    host = {
        "cpus": psutil.cpu_count() or 0,
        "cpu_percent": round(psutil.cpu_percent()),
        "memory_total_bytes": memory.total,
        "memory_used_bytes": _rounded(memory.total - memory.available),
    }
    return {"time": time.time(), "devices": devices, "reason": reason, "others": OTHERS, "host": host}


def _device_or_why(nvml: Any, index: int) -> dict[str, Any]:
    """One device; one that is lost has nothing but the reason."""
    try:
        return _device(nvml, index)
    except nvml.NVMLError as error:
        unknown: dict[str, Any] = dict.fromkeys((
            "uuid", "memory_total_bytes", "memory_used_bytes",
            "utilisation_percent", "temperature_celsius", "power_watts",
        ))  # fmt: skip
        known = {"id": str(index), "name": "", "vendor": "nvidia", "processes": []}
        return {**unknown, **known, "reasons": {"device": str(error)}}


def _device(nvml: Any, index: int) -> dict[str, Any]:
    """One device; a value that the library does not tell is None, with the reason."""
    reasons: dict[str, str] = {}

    def told(name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except nvml.NVMLError as error:
            reasons[name] = str(error)
            return None

    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = told("memory_used_bytes", lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    rates = told("utilisation_percent", lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
    power = told("power_watts", lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    running = told("processes", lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
    return {
        "id": str(index),
        "uuid": _text(told("uuid", lambda: nvml.nvmlDeviceGetUUID(handle))),
        "name": _text(told("name", lambda: nvml.nvmlDeviceGetName(handle))),
        "vendor": "nvidia",
        "memory_total_bytes": None if memory is None else memory.total,
        "memory_used_bytes": None if memory is None else memory.used,
        "utilisation_percent": None if rates is None else rates.gpu,
        "temperature_celsius": told(
            "temperature_celsius", lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
        ),
        "power_watts": None if power is None else round(power / 1000),
        "processes": [_process(one.pid, one.usedGpuMemory) for one in running[:MOST_PROCESSES]],
        "reasons": reasons,
    }


def _process(pid: int, memory_bytes: int | None) -> dict[str, Any]:
    """A process on a device, whoever's it is; one that cannot be seen from here has no name."""
    process = {"pid": pid, "name": "", "user": "", "own": False, "memory_bytes": memory_bytes}
    try:
        facts = psutil.Process(pid)
        process["name"] = _text(facts.name())
        process["own"] = facts.uids().real == os.getuid()
        process["user"] = _text(facts.username())
    except psutil.Error:
        pass  # it has ended, or belongs to another container
    return process


def _text(value: str | bytes | None) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value or ""
    return "".join(character for character in text if character.isprintable())[:100]


def _rounded(size_bytes: int) -> int:
    """Rounded to 64 MB: a machine that idles looks the same for a while, and is then not sent again."""
    return size_bytes >> 26 << 26


if __name__ == "__main__":
    sys.exit(main())
