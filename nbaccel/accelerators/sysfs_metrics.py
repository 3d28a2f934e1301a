"""Metrics from files of kernel drivers: AMD and Intel GPUs, AWS Neuron cores."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from nbaccel.accelerators.metrics import DeviceReading, nothing_known
from nbaccel.accelerators.vendor import Device, Machine


def _number(machine: Machine, pattern: str) -> int | None:
    """The number in the first readable file that matches."""
    for path in machine.list_path(pattern):
        text = (machine.read(path) or "").strip()
        if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", text):
            return int(text, 0)
    return None


def _scaled(number: int | None, divisor: int) -> float | None:
    return None if number is None else number / divisor


def _folder(device: Device) -> str:
    return f"/sys/bus/pci/devices/{device.address}"


def _gone(machine: Machine, device: Device) -> DeviceReading | None:
    """A sentence about a card whose folder has gone; None while the folder exists."""
    if device.address is not None and machine.exists(_folder(device)):
        return None
    said = (
        f"{device.family} {device.id} is not on the PCI bus any more ({device.address or 'its address is not known'})."
    )
    return nothing_known(said, lost=said if device.address else None)


class AmdReader:
    """Reads files of the amdgpu driver, and the memory of processes from the compute driver."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        return [_gone(self._machine, device) or self._one(device) for device in devices]

    def close(self) -> None:
        pass

    def _one(self, device: Device) -> DeviceReading:
        machine, folder = self._machine, _folder(device)
        busy = _number(machine, f"{folder}/gpu_busy_percent")
        power = _number(machine, f"{folder}/hwmon/hwmon*/power1_average")
        if power is None:
            power = _number(machine, f"{folder}/hwmon/hwmon*/power1_input")
        metrics = DeviceReading(
            utilisation_percent=None if busy is None else float(busy),
            memory_used_bytes=_number(machine, f"{folder}/mem_info_vram_used"),
            memory_total_bytes=_number(machine, f"{folder}/mem_info_vram_total"),
            temperature_celsius=_scaled(_number(machine, f"{folder}/hwmon/hwmon*/temp1_input"), 1000),
            power_watts=_scaled(power, 1_000_000),
            processes=self._processes(device),
        )
        metrics.explain_missing("the amdgpu driver shows no such file for this card.")
        return metrics

    def _processes(self, device: Device) -> list[tuple[int, int | None]] | None:
        machine = self._machine
        nodes = machine.list_path("/sys/class/kfd/kfd/topology/nodes/[0-9]*")
        ours = [node for node in nodes if re.search(r"(?m)^simd_count [1-9]", machine.read(f"{node}/properties") or "")]
        if device.ordinal is None or device.ordinal >= len(ours):
            return None
        gpu_id = machine.read(f"{ours[device.ordinal]}/gpu_id")
        found = []
        for path in machine.list_path(f"/sys/class/kfd/kfd/proc/[0-9]*/vram_{gpu_id}"):
            used = _number(machine, path)
            if used:
                found.append((int(path.split("/")[-2]), used))
        return sorted(found)


class IntelReader:
    """Reads files of the i915 and xe drivers; power is the growth of the energy counter between two samples."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._energy: dict[str, tuple[int, float]] = {}

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        return [_gone(self._machine, device) or self._one(device) for device in devices]

    def close(self) -> None:
        self._energy.clear()

    def _one(self, device: Device) -> DeviceReading:
        machine, folder = self._machine, _folder(device)
        total = _number(machine, f"{folder}/drm/card*/lmem_total_bytes")
        free = _number(machine, f"{folder}/drm/card*/lmem_avail_bytes")
        metrics = DeviceReading(
            memory_used_bytes=None if total is None or free is None else total - free,
            memory_total_bytes=total if total is not None else device.memory_bytes,
            temperature_celsius=_scaled(_number(machine, f"{folder}/hwmon/hwmon*/temp[12]_input"), 1000),
            power_watts=self._power(folder),
        )
        metrics.reasons["utilisation_percent"] = "Intel's drivers show no load in sysfs."
        metrics.reasons["processes"] = "Intel's drivers do not list the processes of a card in sysfs."
        metrics.explain_missing("this version of the driver shows no such file for this card.")
        return metrics

    def _power(self, folder: str) -> float | None:
        microjoules, now = _number(self._machine, f"{folder}/hwmon/hwmon*/energy1_input"), time.monotonic()
        before = self._energy.get(folder)
        if microjoules is None:
            return None
        self._energy[folder] = (microjoules, now)
        if before is None or now <= before[1] or microjoules < before[0]:
            return None
        return (microjoules - before[0]) / 1_000_000 / (now - before[1])


class NeuronReader:
    """Reads files of the Neuron driver; a core's memory is the part used of its share of the device's memory."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        return [self._one(device) for device in devices]

    def close(self) -> None:
        pass

    def _one(self, device: Device) -> DeviceReading:
        place = re.fullmatch(r"NeuronCore (\d+) of device (\d+)", device.name)
        if place is None:
            return nothing_known("which core of which device this is cannot be told.")
        root = f"/sys/devices/virtual/neuron_device/neuron{place[2]}"
        if not self._machine.exists(f"/dev/neuron{place[2]}"):
            said = f"Neuron device {place[2]} is gone from /dev."
            return nothing_known(said, lost=said)
        used = _number(self._machine, f"{root}/neuron_core{place[1]}/stats/memory_usage/device_mem/present")
        metrics = DeviceReading(memory_used_bytes=used, memory_total_bytes=device.memory_bytes)
        metrics.explain_missing("only neuron-monitor tells it, as a stream of its own.")
        return metrics
