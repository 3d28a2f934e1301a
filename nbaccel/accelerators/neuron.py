"""AWS Neuron cores, through `neuron-ls`.

Peculiar to this vendor: a task gets cores, not devices; cores are numbered across all devices of the machine, and
the visible-cores variable takes ranges ("0-3").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.accelerators.vendor import Device, Finding, Machine, PciDevice, Say, Vendor

VARIABLE = "NEURON_RT_VISIBLE_CORES"
TYPE = "aws-neuron-core"
TOOLS = "/opt/aws/neuron/bin"
_TOOL_TIMEOUT_S = 8.0


def type_of(name: str) -> str | None:
    return TYPE


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    # The tools are part of AWS's machine images, also on machines without the chip: they are no sign.
    return machine.list_path("/dev/neuron[0-9]*")


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    finding = VENDOR.finding()
    say("neuron-ls")
    tool = f"{TOOLS}/neuron-ls" if machine.exists(f"{TOOLS}/neuron-ls") else "neuron-ls"
    answer = machine.run([tool, "--json-output"], _TOOL_TIMEOUT_S)
    if not answer.ok:
        finding.errors.append(f"neuron-ls: {answer.complaint()}")
        finding.reason = (
            f"there are Neuron devices in /dev, but neuron-ls does not tell about them: {answer.complaint()}."
        )
        finding.advice = "Install aws-neuronx-tools, and see what neuron-ls prints."
        return finding
    try:
        chips = [_cores_of(chip) for chip in json.loads(answer.stdout)]
    except (ValueError, KeyError, TypeError) as error:
        finding.errors.append(f"neuron-ls: {error!r} in {answer.stdout[:80]!r}")
        finding.reason = (
            f"neuron-ls printed something that is not the list of devices it is known for: {answer.stdout[:40]!r}."
        )
        finding.advice = "Run neuron-ls --json-output by hand; its format may be newer than this version knows."
        return finding
    finding.devices = _cores(chips)
    if not finding.devices:
        finding.reason = "neuron-ls runs, but lists no device."
    return finding


def _cores_of(chip: Mapping[str, Any]) -> tuple[int, int, int | None, str | None]:
    """A device's number, its cores, the memory of one core, and its PCI address."""
    cores = int(chip["nc_count"])
    memory = chip.get("memory_size")
    return int(chip["neuron_device"]), cores, int(memory) // cores if memory and cores else None, chip.get("bdf")


def _cores(chips: Sequence[tuple[int, int, int | None, str | None]]) -> list[Device]:
    devices: list[Device] = []
    for number, cores, memory_bytes, address in sorted(chips, key=lambda chip: chip[0]):
        for core in range(cores):
            name = f"NeuronCore {core} of device {number}"
            facts = {"memory_bytes": memory_bytes, "address": address}
            devices.append(VENDOR.device(len(devices), name=name, type=TYPE, **facts))
    return devices


VENDOR = Vendor(
    name="neuron",
    family="AWS Neuron core",
    resource="neuron_cores",
    variable=VARIABLE,
    # A number of cores beside a list of cores would ask for cores twice.
    unset=("NEURON_RT_NUM_CORES",),
    only_type=TYPE,
    looked_for=("/dev/neuron*",),
    signs=signs,
    probe=probe,
    ranges=True,
    type_of=type_of,
)
