"""AMD GPUs, through sysfs (the compute topology, else the graphics cards), with names from amdsmi when it is there.

Odd about this vendor: ROCR_VISIBLE_DEVICES filters first and HIP_VISIBLE_DEVICES (or, for CUDA's sake,
CUDA_VISIBLE_DEVICES) counts what is left, so a task gets the first alone, with physical numbers, and the others unset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from nbaccel.accelerators.machine import in_container, of_maker
from nbaccel.accelerators.vendor import Device, Filter, Finding, Machine, PciDevice, Say, Vendor
from nbaccel.accelerators.visibility import parse_list

VARIABLE = "ROCR_VISIBLE_DEVICES"
_MAKER = "0x1002"
_NODES = "/sys/class/kfd/kfd/topology/nodes"
_GIB = 1 << 30

# From the PCI id list (pci.ids); several ids are virtual functions of the same card.
TYPES = {
    "0x7388": "AMD-Instinct-MI100",
    "0x738c": "AMD-Instinct-MI100",
    "0x738e": "AMD-Instinct-MI100",
    "0x7408": "AMD-Instinct-MI250X",
    "0x740c": "AMD-Instinct-MI250X-MI250",
    "0x740f": "AMD-Instinct-MI210",
    "0x7410": "AMD-Instinct-MI210",
    "0x74a0": "AMD-Instinct-MI300A",
    "0x74a1": "AMD-Instinct-MI300X-OAM",
    "0x74b5": "AMD-Instinct-MI300X-OAM",
    "0x74a2": "AMD-Instinct-MI308X",
    "0x74b6": "AMD-Instinct-MI308X",
    "0x74a5": "AMD-Instinct-MI325X-OAM",
    "0x74b9": "AMD-Instinct-MI325X-OAM",
    "0x74a9": "AMD-Instinct-MI300X-HF",
    "0x74bd": "AMD-Instinct-MI300X-HF",
    "0x75a0": "AMD-Instinct-MI350X-OAM",
    "0x75b0": "AMD-Instinct-MI350X-OAM",
    "0x75a3": "AMD-Instinct-MI355X-OAM",
    "0x75b3": "AMD-Instinct-MI355X-OAM",
    "0x6798": "AMD-Radeon-R9-200-HD-7900",
    "0x6799": "AMD-Radeon-HD-7900",
    "0x679a": "AMD-Radeon-HD-7900",
    "0x679b": "AMD-Radeon-HD-7900",
}

# Firmware gives an integrated GPU less of the main memory than any discrete card of a ROCm machine has.
SMALLEST_DISCRETE_BYTES = 2 * _GIB


def type_of(name: str) -> str | None:
    """The accelerator type in a model's name, e.g. "AMD Instinct MI300X" (a card's type comes from its PCI id)."""
    wanted = re.search(r"MI\d+[A-Z]*|HD-7900", name)
    if wanted is None:
        return None
    exact = [kind for kind in TYPES.values() if re.search(rf"-{wanted[0]}(-OAM)?$", kind)]
    return exact[0] if exact else None


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    found = [path for path in ("/dev/kfd", "/sys/class/kfd") if machine.exists(path)]
    return found + [f"PCI device {one.address}" for one in of_maker(pci, _MAKER, display=True)]


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    finding = VENDOR.finding()
    say("sysfs about AMD GPUs")
    finding.devices = _from_topology(machine) or _from_cards(machine, pci)
    if not finding.devices:
        return _nothing(machine, pci, finding)
    repeated = Counter(device.uuid for device in finding.devices)
    finding.devices = [
        replace(device, uuid=None if repeated[device.uuid] > 1 else device.uuid, unavailable=_closed(machine))
        for device in finding.devices
    ]
    say("amdsmi")
    names = _names_from_amdsmi(machine, finding.errors)
    finding.devices = [replace(one, name=names.get(one.address or "", one.name)) for one in finding.devices]
    return finding


def _from_topology(machine: Machine) -> list[Device]:
    """The GPUs in ROCm's order: its nodes with compute units that this process may read."""
    devices: list[Device] = []
    for folder in machine.list_path(f"{_NODES}/[0-9]*"):
        facts = _properties(machine.read(f"{folder}/properties"))
        if facts.get("simd_count", 0) > 0:
            devices.append(_device(machine, len(devices), facts))
    return devices


def _properties(text: str | None) -> dict[str, int]:
    pairs = [line.split() for line in (text or "").splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _device(machine: Machine, ordinal: int, facts: Mapping[str, int]) -> Device:
    location, domain = facts.get("location_id", 0), facts.get("domain", 0)
    address = f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
    folder = f"/sys/class/drm/renderD{facts.get('drm_render_minor', 0)}/device"
    memory = _number(machine.read(f"{folder}/mem_info_vram_total"))
    return _card(
        machine,
        ordinal,
        folder,
        address=address,
        device_id=f"0x{facts.get('device_id', 0):04x}",
        memory=memory,
        shares_cpu=facts.get("cpu_cores_count", 0) > 0,
        uuid=f"GPU-{facts['unique_id']:016x}" if facts.get("unique_id") else None,
    )


def _card(
    machine: Machine,
    ordinal: int,
    folder: str,
    *,
    address: str,
    device_id: str,
    memory: int | None,
    shares_cpu: bool,
    uuid: str | None,
) -> Device:
    kind = TYPES.get(device_id)
    small = memory is not None and memory < SMALLEST_DISCRETE_BYTES
    return VENDOR.device(
        ordinal,
        type=kind,
        name=machine.read(f"{folder}/product_name") or (kind or f"AMD GPU {device_id}").replace("-", " "),
        uuid=uuid,
        memory_bytes=memory,
        address=address,
        integrated=kind is None and (shares_cpu or small),
    )


def _from_cards(machine: Machine, pci: Sequence[PciDevice]) -> list[Device]:
    """The graphics cards of the amdgpu driver, for kernels without a compute topology."""
    devices: list[Device] = []
    for one in of_maker(pci, _MAKER, display=True):
        folder = f"/sys/bus/pci/devices/{one.address}"
        memory = _number(machine.read(f"{folder}/mem_info_vram_total"))
        if memory is None:
            continue
        devices.append(
            _card(
                machine,
                len(devices),
                folder,
                address=one.address,
                device_id=one.device,
                memory=memory,
                shares_cpu=False,
                uuid=None,
            )
        )
    return devices


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None


def _closed(machine: Machine) -> str | None:
    if not machine.exists("/dev/kfd"):
        return "there is no /dev/kfd (the container was started without it, or the driver lacks compute support)"
    if not machine.may_open("/dev/kfd"):
        return "this user may not open /dev/kfd; join the groups render and video (usermod -aG render,video $USER)"
    return None


def _names_from_amdsmi(machine: Machine, errors: list[str]) -> dict[str, str]:
    """Marketing names by PCI address, when the vendor's library is installed and works."""
    try:
        amdsmi = machine.import_module("amdsmi")
    except ImportError:
        return {}
    except Exception as error:  # amdsmi loads its C library while it is imported, and says so in many ways
        errors.append(f"amdsmi: {error}")
        return {}
    try:
        amdsmi.amdsmi_init()
        handles = amdsmi.amdsmi_get_processor_handles()
        bdf, info = amdsmi.amdsmi_get_gpu_device_bdf, amdsmi.amdsmi_get_gpu_asic_info
        named = {bdf(one).lower(): str(info(one).get("market_name") or "") for one in handles}
        amdsmi.amdsmi_shut_down()
    except Exception as error:  # a vendor's library: its errors share no class
        errors.append(f"amdsmi: {error}")
        return {}
    return {address: name for address, name in named.items() if name not in ("", "N/A")}


def _nothing(machine: Machine, pci: Sequence[PciDevice], finding: Finding) -> Finding:
    cards = of_maker(pci, _MAKER, display=True)
    if cards:
        finding.reason = f"AMD card at {cards[0].address}, but the amdgpu driver does not hold it."
        finding.advice = "Load the driver (modprobe amdgpu) and look at dmesg."
    else:
        finding.reason = "the AMD compute driver is loaded, but shows no GPU."
        finding.advice = "See what rocminfo says."
    if in_container(machine):
        finding.advice = "This looks like a container: start it with --device /dev/kfd --device /dev/dri."
    return finding


def filters(environ: Mapping[str, str]) -> list[Filter]:
    """ROCr's list first, then HIP's, which counts what ROCr left; CUDA's counts only if neither is set."""
    rocr, hip = parse_list(VARIABLE, environ), parse_list("HIP_VISIBLE_DEVICES", environ)
    if rocr is None and hip is None:
        hip = parse_list("CUDA_VISIBLE_DEVICES", environ)
    return [one for one in (rocr, hip) if one is not None]


def matches(device: Device, entry: str) -> bool:
    if entry.isdecimal():
        return device.ordinal == int(entry)
    return entry.startswith("GPU-") and (device.uuid or "").lower().startswith(entry.lower())


VENDOR = Vendor(
    name="amd",
    family="AMD GPU",
    resource="GPU",
    variable=VARIABLE,
    unset=("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
    noset=(VARIABLE, "HIP_VISIBLE_DEVICES"),
    fractions=True,
    looked_for=("/dev/kfd", "/sys/class/kfd", "a PCI display device of maker 0x1002"),
    signs=signs,
    probe=probe,
    filters=filters,
    matches=matches,
    type_of=type_of,
)
