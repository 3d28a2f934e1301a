"""Metrics of each device: memory, load, heat, and processes. A fact that a vendor does not tell is None with a reason.

`Sampler` keeps its handles (NVML, counters) between samples. Its calls may block in a driver, so it belongs in a
process that may be lost, and runs only while somebody looks. Memory is bytes in use, never the load of the memory bus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from nbaccel.accelerators.vendor import Device, DeviceKind, Machine

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
    from nbaccel.accelerators import nvml_metrics, sysfs_metrics, tool_metrics

    if vendor == "nvidia":
        return nvml_metrics.NvmlReader(machine)
    if vendor == "tpu":
        return Silent("libtpu tells it only inside the process that holds the chip.")
    by_vendor: dict[str, Callable[[Machine], MetricsReader]] = {
        "amd": sysfs_metrics.AmdReader,
        "intel": sysfs_metrics.IntelReader,
        "neuron": sysfs_metrics.NeuronReader,
        "gaudi": tool_metrics.GaudiReader,
        "ascend": tool_metrics.AscendReader,
    }
    return by_vendor[vendor](machine)
