"""Metrics of each device: memory, load, heat, and processes. A fact that a vendor does not tell is None with a reason.

`Sampler` keeps its handles (NVML, counters) between samples. Its calls may block in a driver, so it belongs in a
process that may be lost, and runs only while somebody looks. Memory is bytes in use, never the load of the memory bus.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from nbaccel.accelerators.ascend import Chip, parse_chips
from nbaccel.accelerators.vendor import Completed, Device, DeviceKind, Machine

FIELDS = (
    "utilisation_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "temperature_celsius",
    "power_watts",
    "processes",
)


class DeviceReading(Struct):
    """One device at one moment.

    processes   (pid, bytes of device memory or None) of every process that uses the device
    reasons     why a field is None, for each that is
    lost        why the device counts as lost, or None
    sampled_at  seconds since 1970
    """

    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    processes: list[tuple[int, int | None]] | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    lost: str | None = None
    sampled_at: float | None = None

    def explain_missing(self, reason: str) -> None:
        """Give this reason to every field that is None and has none yet."""
        for name in FIELDS:
            if getattr(self, name) is None:
                self.reasons.setdefault(name, reason)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> DeviceReading:
        processes = record.get("processes")
        pairs = None if processes is None else [(int(pid), size) for pid, size in processes]
        return cls(**{**record, "processes": pairs})


def nothing_known(reason: str, *, lost: str | None = None) -> DeviceReading:
    """The metrics of a device that tells nothing."""
    metrics = DeviceReading(lost=lost)
    metrics.explain_missing(reason)
    return metrics


class MetricsReader(Protocol):
    """The reader of one vendor's metrics; `read` answers for each device in the given order and raises nothing."""

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]: ...

    def close(self) -> None: ...


class Silent:
    """The reader for vendors whose numbers are visible only to the process that holds the device."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        return [nothing_known(self._reason) for _ in devices]

    def close(self) -> None:
        pass


class Sampler:
    """Measures devices repeatedly; close it to release its handles.

    >>> with Sampler(machine) as sampler:
    ...     sampler.sample(devices)[0].memory_used_bytes
    1073741824
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._readers: dict[str, MetricsReader] = {}

    def __enter__(self) -> Sampler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sample(self, devices: Sequence[Device]) -> list[DeviceReading]:
        """Return metrics in the order of `devices`; a failure of one vendor does not affect the others."""
        answers: dict[int, DeviceReading] = {}
        for vendor in dict.fromkeys(device.vendor for device in devices):
            positions = [at for at, device in enumerate(devices) if device.vendor == vendor]
            real = [at for at in positions if devices[at].kind is DeviceKind.REAL]
            read = self._read(vendor, [devices[at] for at in real]) if real else []
            answers |= dict(zip(real, read, strict=True))
        now = time.time()
        sampled = [answers.get(at) or _unreal(device) for at, device in enumerate(devices)]
        for metrics in sampled:
            metrics.sampled_at = now
            metrics.explain_missing("the device does not tell it.")
        return sampled

    def _read(self, vendor: str, devices: Sequence[Device]) -> list[DeviceReading]:
        try:
            if vendor not in self._readers:
                self._readers[vendor] = _reader_for(vendor, self._machine)
            return self._readers[vendor].read(devices)
        except Exception as error:  # a vendor's library: its errors share no class
            return [nothing_known(f"asking failed: {type(error).__name__}: {error}.") for _ in devices]

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()


def sample(devices: Sequence[Device], machine: Machine) -> list[DeviceReading]:
    """One sample of these devices; use a `Sampler` for more than one."""
    with Sampler(machine) as sampler:
        return sampler.sample(devices)


def _unreal(device: Device) -> DeviceReading:
    return nothing_known(f"the device is {device.kind.value}: there is nothing to measure.")


def _reader_for(vendor: str, machine: Machine) -> MetricsReader:

    if vendor == "nvidia":
        return NvmlReader(machine)
    if vendor == "tpu":
        return Silent("libtpu tells it only inside the process that holds the chip.")
    by_vendor: dict[str, Callable[[Machine], MetricsReader]] = {
        "amd": AmdReader,
        "intel": IntelReader,
        "neuron": NeuronReader,
        "gaudi": GaudiReader,
        "ascend": AscendReader,
    }
    return by_vendor[vendor](machine)


# The card's, not the instance's: showing them for each instance would count them several times.


# ---- metrics of NVIDIA GPUs and MIG instances, through NVML, kept open between samples


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


# ---- metrics that only a vendor's command-line tool gives: Intel Gaudi (`hl-smi`) and Huawei Ascend (`npu-smi`)


_TIMEOUT_S = 5.0
_MIB = 1 << 20
_GAUDI_QUERY = "module_id,utilization.aip,memory.used,memory.total,temperature.aip,power.draw"


class GaudiReader:
    """Reads all processors with one call of `hl-smi`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        command = ["hl-smi", "-Q", _GAUDI_QUERY, "-f", "csv,noheader,nounits"]
        answer = self._machine.run(command, _TIMEOUT_S)
        rows = [[cell.strip() for cell in line.split(",")] for line in answer.stdout.splitlines()]
        wanted = len(_GAUDI_QUERY.split(","))
        known = {row[0]: row[1:] for row in rows if len(row) == wanted}
        return [self._one(device, known, answer) for device in devices]

    def close(self) -> None:
        pass

    def _one(self, device: Device, known: dict[str, list[str]], answer: Completed) -> DeviceReading:
        row = known.get(str(device.ordinal))
        if row is None:
            return _missing("hl-smi", device, answer, any_known=bool(known))
        busy, used, total, celsius, watts = (_amount(cell) for cell in row)
        metrics = DeviceReading(
            utilisation_percent=busy,
            memory_used_bytes=None if used is None else int(used) * _MIB,
            memory_total_bytes=None if total is None else int(total) * _MIB,
            temperature_celsius=celsius,
            power_watts=watts,
        )
        metrics.explain_missing("hl-smi does not tell it.")
        return metrics


class AscendReader:
    """Reads all chips with one call of `npu-smi info`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, devices: Sequence[Device]) -> list[DeviceReading]:
        answer = self._machine.run(["npu-smi", "info"], _TIMEOUT_S)
        chips = parse_chips(answer.stdout) if answer.ok else []
        return [self._one(device, chips, answer) for device in devices]

    def close(self) -> None:
        pass

    def _one(self, device: Device, chips: Sequence[Chip], answer: Completed) -> DeviceReading:
        same = [chip for chip in chips if device.address is not None and chip.address == device.address]
        if not same and device.address is None and device.ordinal is not None:
            same = list(chips[device.ordinal : device.ordinal + 1])
        if not same:
            return _missing("npu-smi", device, answer, any_known=bool(chips))
        chip = same[0]
        metrics = DeviceReading(
            utilisation_percent=chip.utilisation_percent,
            memory_used_bytes=chip.memory_used_bytes,
            memory_total_bytes=chip.memory_total_bytes,
            temperature_celsius=chip.temperature_celsius,
            power_watts=chip.power_watts,
        )
        metrics.explain_missing("the table of npu-smi does not tell it.")
        return metrics


def _missing(tool: str, device: Device, answer: Completed, *, any_known: bool) -> DeviceReading:
    if not answer.ok:
        return nothing_known(f"{tool}: {answer.complaint()}.")
    if any_known:
        said = f"{tool} does not list {device.family} {device.id} any more."
        return nothing_known(said, lost=said)
    return nothing_known(f"{tool} printed something else than it is known for.")


def _amount(cell: str) -> float | None:
    """A number with or without its unit; "N/A" is None."""
    word = cell.split()[0] if cell.split() else ""
    try:
        return float(word)
    except ValueError:
        return None


# ---- metrics from files of kernel drivers: AMD and Intel GPUs, AWS Neuron cores


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
