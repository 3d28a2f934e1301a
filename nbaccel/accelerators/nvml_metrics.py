"""Metrics of NVIDIA GPUs and MIG instances, through NVML, kept open between samples."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from nbaccel.accelerators.metrics import DeviceReading, nothing_known
from nbaccel.accelerators.vendor import Device, Machine

# The card's, not the instance's: showing them for each instance would count them several times.
_CARD_ONLY = ("utilisation_percent", "temperature_celsius", "power_watts")


class NvmlReader:
    """One NVML session; it gets a handle once for each device, and again after a failure."""

    def __init__(self, machine: Machine) -> None:
        self._nvml: Any = machine.import_module("pynvml")
        self._handles: dict[str, Any] = {}
        self._open = False

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        if not self._open:
            try:
                self._nvml.nvmlInit()
            except self._nvml.NVMLError as error:
                return [nothing_known(f"NVML does not start: {error}.") for _ in devices]
            self._open = True
        return [self._one(device) for device in devices]

    def close(self) -> None:
        self._handles.clear()
        if self._open:
            self._open = False
            self._nvml.nvmlShutdown()

    def _one(self, device: Device) -> DeviceReading:
        if device.uuid is None and device.ordinal is None:
            return nothing_known("which card this is cannot be told.")
        try:
            handle = self._handle(device)
        except self._nvml.NVMLError as error:
            return self._gone(device, error)
        metrics = DeviceReading()
        nvml = self._nvml
        self._put(metrics, "memory_used_bytes", lambda: self._memory(handle, metrics))
        if device.profile is None:
            celsius = nvml.NVML_TEMPERATURE_GPU
            self._put(metrics, "utilisation_percent", lambda: float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu))
            self._put(metrics, "temperature_celsius", lambda: float(nvml.nvmlDeviceGetTemperature(handle, celsius)))
            self._put(metrics, "power_watts", lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
        else:
            said = "NVML tells it for the whole card, not for a MIG instance."
            metrics.reasons |= dict.fromkeys(_CARD_ONLY, said)
        self._put(metrics, "processes", lambda: self._processes(handle))
        if metrics.lost:
            self._handles.pop(device.lease_key, None)
        return metrics

    def _handle(self, device: Device) -> Any:
        key = device.lease_key
        if key not in self._handles:
            if device.uuid:
                self._handles[key] = self._nvml.nvmlDeviceGetHandleByUUID(device.uuid)
            else:
                self._handles[key] = self._nvml.nvmlDeviceGetHandleByIndex(device.ordinal)
        return self._handles[key]

    def _gone(self, device: Device, error: Any) -> DeviceReading:
        nvml = self._nvml
        lost = error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_NOT_FOUND)
        said = f"{device.family} {device.id} does not answer any more: {error}."
        return nothing_known(said, lost=said if lost else None)

    def _put(self, metrics: DeviceReading, name: str, ask: Callable[[], Any]) -> None:
        try:
            setattr(metrics, name, ask())
        except self._nvml.NVMLError as error:
            metrics.reasons[name] = f"NVML: {error}."
            if error.value == self._nvml.NVML_ERROR_GPU_IS_LOST:
                metrics.lost = f"the GPU has fallen off the bus (NVML: {error}); see dmesg for Xid 79."

    def _memory(self, handle: Any, metrics: DeviceReading) -> int:
        """The used bytes, without the driver's own reserve if the driver can tell them apart."""
        try:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(handle, version=self._nvml.nvmlMemory_v2)
        except (self._nvml.NVMLError_FunctionNotFound, self._nvml.NVMLError_NotSupported):
            memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        metrics.memory_total_bytes = int(memory.total)
        return int(memory.used)

    def _processes(self, handle: Any) -> list[tuple[int, int | None]]:
        """The processes with a compute or a graphics context, each once, with pids of this process's namespace."""
        found: dict[int, int | None] = {}
        nvml = self._nvml
        running = list(nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        with contextlib.suppress(nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
            running += nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)
        for process in running:
            found[int(process.pid)] = None if process.usedGpuMemory is None else int(process.usedGpuMemory)
        return sorted(found.items())
