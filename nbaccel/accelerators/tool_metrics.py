"""Metrics that only a vendor's command-line tool gives: Intel Gaudi (`hl-smi`) and Huawei Ascend (`npu-smi`)."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.accelerators.ascend import Chip, parse_chips
from nbaccel.accelerators.metrics import DeviceReading, nothing_known
from nbaccel.accelerators.vendor import Completed, Device, Machine

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
