"""Huawei Ascend NPUs, through `npu-smi`, else the runtime's Python binding `acl`, else /dev/davinci*.

Peculiar to this vendor: a card may have two chips, each a device; the runtime numbers chips one after the other, and
needs its list in rising order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from nbaccel.accelerators.vendor import Device, Environment, Finding, Machine, PciDevice, Say, Vendor

VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"
_MIB = 1 << 20
_TOOL_TIMEOUT_S = 8.0


class Chip(Struct):
    """The two rows of a chip in `npu-smi info`; a fact that the table lacks is None."""

    card: int
    chip: int
    name: str
    healthy: str
    address: str | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None
    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


def type_of(name: str) -> str | None:
    """The accelerator type of a chip: npu-smi says "910B", the runtime "Ascend910B"."""
    words = name.split()
    return None if not words else words[0] if words[0].startswith("Ascend") else f"Ascend{words[0]}"


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    return machine.list_path("/dev/davinci[0-9]*")


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    finding = VENDOR.finding()
    say("npu-smi")
    answer = machine.run(["npu-smi", "info"], _TOOL_TIMEOUT_S)
    chips = parse_chips(answer.stdout) if answer.ok else []
    if chips:
        finding.devices = [_device(ordinal, chip) for ordinal, chip in enumerate(chips)]
        return finding
    finding.errors.append(f"npu-smi: {answer.complaint() if not answer.ok else 'printed no table of chips'}")
    say("acl")
    finding.devices = _from_runtime(machine, finding.errors) or _from_device_files(machine)
    closed = [device for device in finding.devices if device.unavailable]
    if closed:
        finding.advice = "Join the group that owns /dev/davinci* (usermod -aG HwHiAiUser $USER), then log in again."
    return finding


def parse_chips(text: str) -> list[Chip]:
    """Read the table of `npu-smi info`: two rows for each chip, the process table below it is left out.

    The first row holds card, name, health, power and temperature; the second chip, bus id, load and memory, of which
    the last used/total pair with a size is the device's (older cards have no HBM and only the first pair).
    """
    chips: list[Chip] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells and cells[0].startswith("NPU") and "Process" in line:
            break
        first = re.fullmatch(r"(\d+)\s+(\S.*)", cells[0]) if len(cells) == 3 else None
        if first and not re.search(r"[0-9a-fA-F]+:[0-9a-fA-F]+:", cells[1]):
            chips.append(_upper_row(int(first[1]), first[2], cells[1], cells[2]))
        elif len(cells) == 3 and chips and re.match(r"\d+", cells[0]):
            _lower_row(chips[-1], cells)
    return chips


def _upper_row(card: int, name: str, health: str, measures: str) -> Chip:
    numbers = re.findall(r"\d+(?:\.\d+)?|-|NA", measures)
    values = [float(number) if number[0].isdigit() else None for number in numbers]
    power, temperature = [*values, None, None][:2]
    return Chip(card, 0, name, health, power_watts=power, temperature_celsius=temperature)


def _lower_row(chip: Chip, cells: Sequence[str]) -> None:
    chip.chip, chip.address = int(cells[0].split()[0]), cells[1].lower()
    load = re.match(r"\d+(?:\.\d+)?", cells[2])
    chip.utilisation_percent = float(load[0]) if load else None
    pairs = [(int(used), int(total)) for used, total in re.findall(r"(\d+)\s*/\s*(\d+)", cells[2])]
    for used, total in pairs:
        if total > 0:
            chip.memory_used_bytes, chip.memory_total_bytes = used * _MIB, total * _MIB


def _device(ordinal: int, chip: Chip) -> Device:
    kind = type_of(chip.name)
    return VENDOR.device(
        ordinal,
        name=kind.replace("Ascend", "Ascend ") if kind else VENDOR.family,
        type=kind,
        memory_bytes=chip.memory_total_bytes,
        address=chip.address,
        unavailable=None if chip.healthy.upper() in ("OK", "WARNING") else f"npu-smi calls its health {chip.healthy}",
    )


def _from_runtime(machine: Machine, errors: list[str]) -> list[Device]:
    try:
        acl = machine.import_module("acl")
        count, status = acl.rt.get_device_count()
        if status != 0:
            errors.append(f"acl.rt.get_device_count: status {status}")
            return []
        name = str(acl.get_soc_name())
    except ImportError:
        return []
    except Exception as error:  # a vendor's library: its errors share no class
        errors.append(f"acl: {error}")
        return []
    return [VENDOR.device(ordinal, name=name, type=type_of(name)) for ordinal in range(int(count))]


def _from_device_files(machine: Machine) -> list[Device]:
    devices = []
    for path in machine.list_path("/dev/davinci[0-9]*"):
        closed = None if machine.may_open(path) else f"this user may not open {path}"
        number = path.removeprefix("/dev/davinci")
        if number.isdecimal():
            devices.append(VENDOR.device(int(number), address=path, unavailable=closed))
    return devices


def assign(devices: Sequence[Device], environ: Mapping[str, str], node_device_count: int) -> Environment:
    values = sorted((device.visible_value for device in devices), key=lambda value: (len(value), value))
    return {VARIABLE: ",".join(values)}


VENDOR = Vendor(
    name="ascend",
    family="Huawei Ascend NPU",
    resource="NPU",
    variable=VARIABLE,
    unset=("ASCEND_DEVICE_ID",),
    fractions=True,
    looked_for=("/dev/davinci*",),
    signs=signs,
    probe=probe,
    type_of=type_of,
    assign=assign,
)
