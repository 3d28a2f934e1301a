"""Google TPU chips, through /dev/accel* or /dev/vfio, each with its PCI maker verified.

Peculiar to this vendor: other makers' drivers also own /dev/accel*, so the maker is always checked; a part of a
host's chips needs bounds beside the list of chips; and only 1, 2, 4 or 8 chips form a shape. The type comes from GKE's
environment, else from the PCI id, else from the machine's metadata server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from nbaccel.accelerators.machine import in_container, of_maker
from nbaccel.accelerators.vendor import Device, Environment, Finding, Machine, PciDevice, Say, Vendor

VARIABLE = "TPU_VISIBLE_CHIPS"
LEGAL_QUANTITIES = (1, 2, 4, 8)
_BOUNDS = ("TPU_CHIPS_PER_HOST_BOUNDS", "TPU_HOST_BOUNDS")
_MAKER = "0x1ae0"
_METADATA = "http://169.254.169.254/computeMetadata/v1/instance/attributes"
_METADATA_TIMEOUT_S = 1.0

# PCI ids of chips whose generation the id alone tells (0x0027 is v2 and v3 alike).
TYPES = {
    "0x005e": "TPU-V4",
    "0x0062": "TPU-V5P",
    "0x0063": "TPU-V5LITEPOD",
    "0x006f": "TPU-V6E",
    "0x0076": "TPU-V7X",
}
_CHIPS = ("0x0027", "0x0056", *TYPES)


def type_of(name: str) -> str | None:
    """The accelerator type in a slice's type: "v5litepod-8" is "TPU-V5LITEPOD", "tpu7x-8" is "TPU-V7X"."""
    generation = re.match(r"(?:tpu-?)?v?(\d+[a-z]*)", name.strip().lower())
    return f"TPU-V{generation[1].upper()}" if generation else None


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    return chips(machine) or [f"PCI device {one.address}" for one in of_maker(pci, _MAKER) if one.device in _CHIPS]


def chips(machine: Machine) -> list[str]:
    """The device files of Google's chips; sysfs tells the maker of each."""
    accel = [path for path in machine.list_path("/dev/accel[0-9]*") if _maker_of_accel(machine, path) == _MAKER]
    return accel or [path for path in machine.list_path("/dev/vfio/[0-9]*") if _address_in_group(machine, path)]


def _maker_of_accel(machine: Machine, path: str) -> str | None:
    name = path.rsplit("/", 1)[1]
    return machine.read(f"/sys/class/accel/{name}/device/vendor")


def _address_in_group(machine: Machine, path: str) -> str | None:
    """The PCI address of the chip behind a vfio group."""
    group = path.rsplit("/", 1)[1]
    for folder in machine.list_path(f"/sys/kernel/iommu_groups/{group}/devices/*"):
        if machine.read(f"{folder}/vendor") == _MAKER:
            return folder.rsplit("/", 1)[1]
    return None


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    finding = VENDOR.finding()
    say("device files about TPU chips")
    nodes = chips(machine)
    if not nodes:
        finding.reason = "the PCI bus shows TPU chips, but there is no /dev/accel* or /dev/vfio/* for them."
        finding.advice = "In a container, start it with --privileged or with these devices."
        if not in_container(machine):
            finding.advice = "Install libtpu and the TPU driver of this machine's image."
        return finding
    say("the metadata server")
    slice_facts = read_slice(machine, typed_by_pci=_type_by_pci(pci))
    finding.devices = [_chip(machine, ordinal, path, slice_facts.type) for ordinal, path in enumerate(nodes)]
    finding.labels, finding.extra_resources = slice_facts.labels(), slice_facts.resources()
    return finding


def _type_by_pci(pci: Sequence[PciDevice]) -> str | None:
    known = {TYPES.get(one.device) for one in of_maker(pci, _MAKER) if one.device in _CHIPS}
    return known.pop() if len(known) == 1 else None


def _chip(machine: Machine, ordinal: int, path: str, kind: str | None) -> Device:
    closed = None if machine.may_open(path) else f"this user may not open {path}; an administrator can change its mode"
    device = VENDOR.device(ordinal, name=f"{kind.replace('-', ' ') if kind else 'TPU'} chip", type=kind)
    return replace(device, unavailable=closed, address=_address_in_group(machine, path) or path)


class Slice(Struct, frozen=True):
    """The slice of which this host is a part; an unknown fact is None."""

    type: str | None
    pod_type: str | None
    name: str | None
    worker: str | None
    topology: str | None

    def labels(self) -> dict[str, str]:
        facts = {
            "ray.io/tpu-slice-name": self.name,
            "ray.io/tpu-worker-id": self.worker,
            "ray.io/tpu-topology": self.topology,
            "ray.io/tpu-pod-type": self.pod_type,
        }
        return {key: value for key, value in facts.items() if value}

    def resources(self) -> dict[str, float]:
        """The slice's resources: one with its name on each host, and one for its head on the first host."""
        found = {self.name: 1.0} if self.name and self.worker is not None else {}
        if self.worker == "0" and self.pod_type and self.name:
            found[f"TPU-{self.pod_type}-head"] = 1.0
        return found


def read_slice(machine: Machine, typed_by_pci: str | None) -> Slice:
    """Read the slice from GKE's environment, or, on a machine without GKE, from the metadata server."""
    environ = machine.environ
    accelerator = environ.get("TPU_ACCELERATOR_TYPE")
    if accelerator is None:
        accelerator = _metadata(machine, "accelerator-type")
    in_cloud = accelerator is not None and "TPU_ACCELERATOR_TYPE" not in environ
    worker = environ.get("TPU_WORKER_ID") or (_metadata(machine, "agent-worker-number") if in_cloud else None)
    name = environ.get("TPU_NAME") or (_metadata(machine, "instance-id") if in_cloud else None)
    pod_type = re.sub(r"^tpu", "v", accelerator) if accelerator else None
    return Slice(
        type=(type_of(accelerator) if accelerator else None) or typed_by_pci,
        pod_type=pod_type,
        name=name,
        worker=worker,
        topology=environ.get("TPU_TOPOLOGY"),
    )


def _metadata(machine: Machine, key: str) -> str | None:
    return machine.fetch(f"{_METADATA}/{key}", {"Metadata-Flavor": "Google"}, _METADATA_TIMEOUT_S) or None


def assign(devices: Sequence[Device], environ: Mapping[str, str], node_device_count: int) -> Environment:
    """The variables for these chips: the chips, sorted, and bounds for 1 and 2 of them.

    A task with all chips of a host needs neither list nor bounds, and libtpu finds the host's own shape best by itself.
    A lone chip is always named: its shape is known.
    """
    chips = sorted(
        (device.visible_value for device in devices), key=lambda value: (not value.isdecimal(), len(value), value)
    )
    nothing: Environment = {VARIABLE: None, **dict.fromkeys(_BOUNDS)}
    host_count = max([node_device_count, *(device.host_count or 0 for device in devices)])
    whole_host = len(chips) >= host_count and VARIABLE not in environ
    if len(chips) > 1 and whole_host:
        return nothing
    shapes = {1: "1,1,1", 2: "1,2,1"}
    bounds: Environment = {}
    if len(chips) in shapes:
        bounds = {"TPU_CHIPS_PER_HOST_BOUNDS": shapes[len(chips)], "TPU_HOST_BOUNDS": "1,1,1"}
    return {**nothing, VARIABLE: ",".join(chips), **bounds}


VENDOR = Vendor(
    name="tpu",
    family="Google TPU",
    resource="TPU",
    variable=VARIABLE,
    unset=("TPU_VISIBLE_DEVICES",),
    looked_for=("/dev/accel* and /dev/vfio/* of maker 0x1ae0",),
    signs=signs,
    probe=probe,
    type_of=type_of,
    assign=assign,
)
