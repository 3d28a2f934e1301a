"""Intel Gaudi (Habana) processors, through sysfs, else `hl-smi`, else the framework when this process has loaded it.

Peculiar to this vendor: the variable takes module ids, the place on the baseboard, which are not the numbers of
/dev/accel/accel*; on current drivers sysfs and hl-smi both tell them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbaccel.accelerators.machine import of_maker
from nbaccel.accelerators.vendor import Device, Finding, Machine, PciDevice, Say, Vendor

VARIABLE = "HABANA_VISIBLE_MODULES"
_MAKER = "0x1da3"
_MIB = 1 << 20
_TOOL_TIMEOUT_S = 8.0
_QUERY = "module_id,uuid,name,memory.total,bus_id"


def type_of(name: str) -> str | None:
    """The accelerator type of a model: hl-smi's "HL-225" is a Gaudi 2, sysfs and frameworks say "GAUDI2"."""
    text = name.upper().replace(" ", "")
    generation = re.search(r"GAUDI\d?[A-D]?", text)
    if generation:
        return f"Intel-{generation[0]}"
    board = re.search(r"HL-([23])(\d)\d", text)
    if board is None:
        return None
    return "Intel-GAUDI3" if board[1] == "3" else "Intel-GAUDI2" if int(board[2]) >= 2 else "Intel-GAUDI"


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    return _folders(machine) or [f"PCI device {one.address}" for one in of_maker(pci, _MAKER)]


def _folders(machine: Machine) -> list[str]:
    """The sysfs folders of Gaudi processors; devices of several makers have the class "accel"."""
    accel = [path for path in machine.list_path("/sys/class/accel/accel*") if re.search(r"/accel\d+$", path)]
    ours = [path for path in accel if machine.read(f"{path}/device/vendor") == _MAKER]
    return ours or machine.list_path("/sys/class/habanalabs/hl[0-9]")


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    finding = VENDOR.finding()
    say("sysfs about Gaudi processors")
    finding.devices = _from_sysfs(machine)
    if finding.devices:
        return finding
    say("hl-smi")
    answer = machine.run(["hl-smi", "-Q", _QUERY, "-f", "csv,noheader,nounits"], _TOOL_TIMEOUT_S)
    finding.devices = _from_tool(answer.stdout) if answer.ok else []
    if finding.devices:
        return finding
    finding.errors.append(f"hl-smi: {answer.complaint() if not answer.ok else f'printed {answer.stdout[:80]!r}'}")
    finding.devices = _from_framework(machine, finding.errors)
    if not finding.devices:
        finding.reason = f"there are Gaudi processors on the PCI bus, but no way to ask them: {finding.errors[0]}."
        finding.advice = (
            "Load the driver (modprobe habanalabs), then see hl-smi; in a container, use the habana runtime."
        )
    return finding


def _from_sysfs(machine: Machine) -> list[Device]:
    """The processors whose driver tells their module id (drivers since 2024)."""
    devices = []
    for folder in _folders(machine):
        module = machine.read(f"{folder}/device/module_id")
        if module is None or not module.strip().isdecimal():
            return []
        name = machine.read(f"{folder}/device/device_type") or ""
        status = machine.read(f"{folder}/device/status") or "operational"
        devices.append(
            VENDOR.device(
                int(module),
                name=f"Intel {name}" if name else VENDOR.family,
                type=type_of(name),
                address=machine.resolve(f"{folder}/device").rsplit("/", 1)[1],
                unavailable=None if status.lower() == "operational" else f"its driver says: {status}",
            )
        )
    return sorted(devices, key=lambda device: device.index)


def _from_tool(text: str) -> list[Device]:
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    devices = []
    for row in rows:
        if len(row) != len(_QUERY.split(",")) or not row[0].isdecimal():
            return []
        module, uuid, name, memory, address = row
        size = int(memory) * _MIB if memory.isdecimal() else None
        facts = {"uuid": uuid or None, "address": address or None, "memory_bytes": size}
        devices.append(VENDOR.device(int(module), name=f"Intel Gaudi {name}", type=type_of(name), **facts))
    return sorted(devices, key=lambda device: device.index)


def _from_framework(machine: Machine, errors: list[str]) -> list[Device]:
    """The processors as a framework counts them, if this process has loaded it; it is never loaded for this."""
    hpu = machine.loaded_module("habana_frameworks.torch.hpu")
    if hpu is None:
        return []
    try:
        name, count = str(hpu.get_device_name()), int(hpu.device_count())
    except Exception as error:  # a vendor's library: its errors share no class
        errors.append(f"habana_frameworks: {error}")
        return []
    return [VENDOR.device(ordinal, name=f"Intel {name}", type=type_of(name)) for ordinal in range(count)]


VENDOR = Vendor(
    name="gaudi",
    family="Intel Gaudi",
    resource="HPU",
    variable=VARIABLE,
    looked_for=("/sys/class/accel (maker 0x1da3)", "/sys/class/habanalabs", "a PCI device of maker 0x1da3"),
    signs=signs,
    probe=probe,
    type_of=type_of,
)
