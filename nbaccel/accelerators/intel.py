"""Intel GPUs, through /dev/dri and sysfs, with names from dpctl when it is installed.

Peculiar to this vendor: two variables filter one after the other. ZE_AFFINITY_MASK decides what Level Zero shows at
all, ONEAPI_DEVICE_SELECTOR picks from that, in a small language of its own. A task gets the second, with physical
numbers, and the first unset. Level Zero counts discrete cards before the integrated GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from nbaccel.accelerators.machine import in_container, of_maker
from nbaccel.accelerators.vendor import Device, Filter, Finding, Machine, PciDevice, Say, Vendor
from nbaccel.accelerators.visibility import split_entries

VARIABLE = "ONEAPI_DEVICE_SELECTOR"
_MASK = "ZE_AFFINITY_MASK"
_MAKER = "0x8086"
_INTEGRATED_ADDRESS = ":00:02.0"

# Names as Level Zero gives them, for machines without dpctl (PCI ids from pci.ids).
NAMES = {
    "0x0bd5": "Intel(R) Data Center GPU Max 1550",
    "0x0bd6": "Intel(R) Data Center GPU Max 1550",
    "0x0bd9": "Intel(R) Data Center GPU Max 1100",
    "0x0bda": "Intel(R) Data Center GPU Max 1100",
    "0x0bdb": "Intel(R) Data Center GPU Max 1100",
    "0x56c0": "Intel(R) Data Center GPU Flex 170",
    "0x56c1": "Intel(R) Data Center GPU Flex 140",
    "0x56a0": "Intel(R) Arc(TM) A770 Graphics",
    "0x56a1": "Intel(R) Arc(TM) A750 Graphics",
    "0x56a2": "Intel(R) Arc(TM) A580 Graphics",
    "0x56a5": "Intel(R) Arc(TM) A380 Graphics",
    "0x56a6": "Intel(R) Arc(TM) A310 Graphics",
    "0xe20b": "Intel(R) Arc(TM) B580 Graphics",
    "0xe20c": "Intel(R) Arc(TM) B570 Graphics",
}


def type_of(name: str) -> str | None:
    """The accelerator type in a device's name: its last two words.

    >>> type_of("Intel(R) Data Center GPU Max 1550")
    'Intel-GPU-Max-1550'
    """
    words = name.split()
    return "-".join(["Intel-GPU", *words[-2:]]) if len(words) >= 2 else None


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    """The signs of this vendor: display devices of this maker, since /dev/dri alone may belong to any maker."""
    return [f"PCI device {one.address}" for one in of_maker(pci, _MAKER, display=True)]


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    say("sysfs about Intel GPUs")
    finding = VENDOR.finding()
    cards = [one for one in of_maker(pci, _MAKER, display=True) if _render_node(machine, one)]
    if not cards:
        return _no_driver(machine, pci, finding)
    # Level Zero lists discrete cards first.
    cards.sort(key=lambda one: one.address.endswith(_INTEGRATED_ADDRESS))
    finding.devices = [_device(machine, ordinal, one) for ordinal, one in enumerate(cards)]
    say("dpctl")
    names = _names_from_dpctl(machine, finding.errors)
    if len(names) == len(cards):
        finding.devices = [
            replace(device, name=name, type=type_of(name)) for device, name in zip(finding.devices, names, strict=True)
        ]
    return finding


def _render_node(machine: Machine, one: PciDevice) -> str | None:
    nodes = machine.list_path(f"/sys/bus/pci/devices/{one.address}/drm/renderD*")
    return f"/dev/dri/{nodes[0].rsplit('/', 1)[1]}" if nodes else None


def _device(machine: Machine, ordinal: int, one: PciDevice) -> Device:
    name = NAMES.get(one.device)
    memory = machine.list_path(f"/sys/bus/pci/devices/{one.address}/drm/card*/lmem_total_bytes")
    size = machine.read(memory[0]) if memory else None
    return VENDOR.device(
        ordinal,
        name=name or f"Intel GPU {one.device}",
        type=type_of(name) if name else None,
        memory_bytes=int(size, 0) if size and re.fullmatch(r"0x[0-9a-fA-F]+|\d+", size) else None,
        address=one.address,
        integrated=one.address.endswith(_INTEGRATED_ADDRESS),
        unavailable=_closed(machine, _render_node(machine, one) or ""),
    )


def _closed(machine: Machine, node: str) -> str | None:
    if not machine.exists(node):
        return f"there is no {node} here (a container started without --device /dev/dri)"
    if not machine.may_open(node):
        return f"this user may not open {node}; join the group render (usermod -aG render $USER)"
    return None


def _names_from_dpctl(machine: Machine, errors: list[str]) -> list[str]:
    """The names in Level Zero's order, unless a variable hides devices from dpctl itself."""
    if _MASK in machine.environ or VARIABLE in machine.environ:
        return []
    try:
        dpctl = machine.import_module("dpctl")
        return [str(device.name) for device in dpctl.get_devices(backend="level_zero", device_type="gpu")]
    except ImportError:
        return []
    except Exception as error:  # a vendor's library: its errors share no class
        errors.append(f"dpctl: {error}")
        return []


def _no_driver(machine: Machine, pci: Sequence[PciDevice], finding: Finding) -> Finding:
    card = of_maker(pci, _MAKER, display=True)[0]
    finding.reason = f"Intel display device {card.device} at {card.address}, but neither i915 nor xe drives it."
    finding.advice = "Load the driver (modprobe xe, or i915) and look at dmesg."
    if in_container(machine):
        finding.advice = "This looks like a container: start it with --device /dev/dri."
    return finding


def filters(environ: Mapping[str, str]) -> list[Filter]:
    """The filters: Level Zero's mask first, then the selector, which counts what the mask left."""
    return [one for one in (_mask(environ), _selector(environ)) if one is not None]


def _mask(environ: Mapping[str, str]) -> Filter | None:
    value = environ.get(_MASK)
    # Level Zero takes an empty mask for no mask.
    if value is None or not value.strip():
        return None
    picks, problems = split_entries(_MASK, value.strip())
    return Filter(_MASK, value, *_whole_cards(_MASK, value, picks, problems))


def _whole_cards(
    variable: str, value: str, picks: Sequence[str], problems: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The entries without their tile ("0.1" is tile 1 of card 0), each card once."""
    cards = tuple(dict.fromkeys(pick.partition(".")[0] for pick in picks))
    notes = list(problems)
    if any("." in pick for pick in picks):
        notes.append(f"{variable}={value} names tiles; devices are handed out as whole cards.")
    return cards, (), tuple(notes)


def _selector(environ: Mapping[str, str]) -> Filter | None:
    """`level_zero:0,1`, `*:gpu`, `!level_zero:0`, terms joined by `;`, and plain `1,3`."""
    value = environ.get(VARIABLE)
    if value is None:
        return None
    if not value.strip() or value.strip() == "NoDevFiles":
        return Filter(VARIABLE, value, ())
    terms = [term.strip().lower() for term in value.split(";") if term.strip()]
    accepting = [_term(term) for term in terms if not term.startswith("!")]
    refusing = [_term(term[1:]) for term in terms if term.startswith("!")]
    problems: list[str] = []
    drops = _entries(refusing, value, problems)
    if drops is None:
        return Filter(VARIABLE, value, (), (), tuple(problems))
    wanted = _entries(accepting, value, problems) if accepting else None
    picks, _, notes = _whole_cards(VARIABLE, value, wanted or (), problems)
    return Filter(VARIABLE, value, None if wanted is None else picks, tuple(drops), notes)


def _term(term: str) -> tuple[str, str]:
    backend, colon, devices = term.rpartition(":")
    return (backend, devices) if colon else ("level_zero", devices)


def _entries(terms: Sequence[tuple[str, str]], value: str, problems: list[str]) -> list[str] | None:
    """The Level Zero GPUs that the terms name; None means all of them."""
    named: list[str] = []
    for backend, devices in terms:
        if backend not in ("level_zero", "*", "ext_oneapi_level_zero"):
            continue
        words = [word.strip() for word in devices.split(",")]
        if "*" in words or "gpu" in words:
            return None
        # Other kinds of device (cpu, fpga) are legal here and are no GPUs.
        indexes = ",".join(word for word in words if word not in ("cpu", "fpga", "acc"))
        picks, notes = split_entries(VARIABLE, indexes) if indexes else ([], [])
        named += [pick for pick in picks if pick not in named]
        problems += [note.replace(f"={indexes}", f"={value}", 1) for note in notes]
    return named


VENDOR = Vendor(
    name="intel",
    family="Intel GPU",
    resource="GPU",
    variable=VARIABLE,
    unset=(_MASK,),
    noset=(VARIABLE, _MASK),
    fractions=True,
    looked_for=("a PCI display device of maker 0x8086 with /dev/dri/renderD*",),
    signs=signs,
    probe=probe,
    filters=filters,
    type_of=type_of,
    prefix="level_zero:",
    hidden="!*:gpu",
)
