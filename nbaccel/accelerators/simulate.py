"""Simulates a machine with accelerators: "nvidia:4xA100", "amd:2xMI300X,tpu:4", for learning, demos and tests.

Only the findings are simulated. Variables, assigning, scheduling and views then work as with real devices; each
device is marked SIMULATED. Real hardware is not asked.

    list    ::= "none" | group { "," group }
    group   ::= vendor ":" count [ "x" model ] [ ":" MIG profile ]
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from nbaccel.accelerators.table import VENDORS, vendor_of
from nbaccel.accelerators.vendor import Device, DeviceKind, Finding, Vendor

SIMULATE_VARIABLE = "NBACCEL_SIMULATE"
MOST_SIMULATED = 256
_GIB = 1 << 30
_GROUP = re.compile(
    r"(?P<vendor>[a-z_]+):(?P<count>\d+)(?:x(?P<model>[^:,]+))?(?::(?P<profile>\d+g\.(?P<memory>\d+)gb))?",
    re.IGNORECASE,
)
_READ_AS = str.maketrans("OIL", "011")  # letters that look like digits
GRAMMAR = (
    "Write vendor:count or vendor:countxmodel, several joined by commas: "
    '"nvidia:4xA100", "amd:2xMI300X", "intel:2xMax-1550", "nvidia:4xA100,tpu:4", '
    'with MIG "nvidia:7xA100:1g.5gb"; "none" for no device. '
    f"Vendors: {', '.join(vendor.name for vendor in VENDORS)}."
)


class Model(Struct, frozen=True):
    """The facts about a device of this model."""

    name: str
    memory_bytes: int | None


MODELS: dict[str, dict[str, Model]] = {
    "nvidia": {
        "A100": Model("NVIDIA A100-SXM4-40GB", 40 * _GIB),
        "V100": Model("Tesla V100-SXM2-16GB", 16 * _GIB),
        "T4": Model("Tesla T4", 15 * _GIB),
        "A10G": Model("NVIDIA A10G", 23 * _GIB),
        "L4": Model("NVIDIA L4", 23 * _GIB),
        "L40S": Model("NVIDIA L40S", 45 * _GIB),
        "H100": Model("NVIDIA H100 80GB HBM3", 80 * _GIB),
        "H200": Model("NVIDIA H200", 141 * _GIB),
        "B200": Model("NVIDIA B200", 180 * _GIB),
        "RTX-4090": Model("NVIDIA GeForce RTX 4090", 24 * _GIB),
        "RTX-5090": Model("NVIDIA GeForce RTX 5090", 32 * _GIB),
    },
    "amd": {
        "MI210": Model("AMD Instinct MI210", 64 * _GIB),
        "MI250X": Model("AMD Instinct MI250X", 64 * _GIB),
        "MI300X": Model("AMD Instinct MI300X", 192 * _GIB),
        "MI325X": Model("AMD Instinct MI325X", 256 * _GIB),
        "MI355X": Model("AMD Instinct MI355X", 288 * _GIB),
    },
    "intel": {
        "MAX-1550": Model("Intel(R) Data Center GPU Max 1550", 128 * _GIB),
        "MAX-1100": Model("Intel(R) Data Center GPU Max 1100", 48 * _GIB),
        "A770": Model("Intel(R) Arc(TM) A770 Graphics", 16 * _GIB),
        "B580": Model("Intel(R) Arc(TM) B580 Graphics", 12 * _GIB),
    },
    "neuron": {"": Model("NeuronCore", 16 * _GIB)},
    "tpu": {
        "": Model("v4", 32 * _GIB),
        "V4": Model("v4", 32 * _GIB),
        "V5P": Model("v5p", 95 * _GIB),
        "V5LITEPOD": Model("v5litepod", 16 * _GIB),
        "V6E": Model("v6e", 32 * _GIB),
    },
    "gaudi": {
        "": Model("GAUDI2", 96 * _GIB),
        "GAUDI": Model("GAUDI", 32 * _GIB),
        "GAUDI2": Model("GAUDI2", 96 * _GIB),
        "GAUDI3": Model("GAUDI3", 128 * _GIB),
    },
    "ascend": {"": Model("910B", 64 * _GIB), "910B": Model("910B", 64 * _GIB), "910B4": Model("910B4", 32 * _GIB)},
}
_PREFIX = {"nvidia": "NVIDIA", "amd": "AMD Instinct", "intel": "Intel(R) Data Center GPU"}
_USUAL = {"nvidia": "A100", "amd": "MI300X", "intel": "MAX-1550"}


def simulated_findings(text: str) -> list[Finding]:
    """The findings of the machine in `text`, in the order of VENDORS. Raises ValueError with the grammar."""
    devices: dict[str, list[Device]] = {vendor.name: [] for vendor in VENDORS}
    if text.strip().lower() == "none":
        return [_finding(vendor, [], text) for vendor in VENDORS]
    for vendor, count, model, profile, memory_gb in _groups(text):
        first = len(devices[vendor.name])
        if first + count > MOST_SIMULATED:
            raise ValueError(
                f"simulate={text!r}: {MOST_SIMULATED} devices of {vendor.family} are the most there can be."
            )
        if profile:
            devices[vendor.name] += _instances(vendor, model, first, count, profile, memory_gb)
        else:
            devices[vendor.name] += [_device(vendor, model, first + position) for position in range(count)]
    return [_finding(vendor, devices[vendor.name], text) for vendor in VENDORS]


def _groups(text: str) -> Iterator[tuple[Vendor, int, Model, str | None, int]]:
    for part in text.split(","):
        match = _GROUP.fullmatch(part.strip())
        if match is None or int(match["count"]) == 0:
            raise ValueError(f"simulate={text!r} cannot be read at {part.strip()!r}.{_meant(part.strip())} {GRAMMAR}")
        try:
            vendor = vendor_of(match["vendor"])
        except ValueError:
            unknown = f"No accelerator vendor is called {match['vendor']!r}.{_meant(part.strip())}"
            raise ValueError(f"simulate={text!r}: {unknown} {GRAMMAR}") from None
        wanted = (match["model"] or "").upper()
        if wanted not in MODELS[vendor.name] and (alike := wanted.translate(_READ_AS)) in MODELS[vendor.name]:
            meant = _offer(f"{vendor.name}:{match['count']}x{alike}")
            raise ValueError(f"simulate={text!r}: No model is called {match['model']!r}.{meant} {GRAMMAR}")
        if match["profile"] and vendor.name != "nvidia":
            raise ValueError(f"simulate={text!r}: only NVIDIA GPUs have MIG profiles. {GRAMMAR}")
        yield vendor, int(match["count"]), _model(vendor, match["model"]), match["profile"], int(match["memory"] or 0)


def _meant(part: str) -> str:
    """` Did you mean 'nvidia:4xA100'?` where a vendor's or a model's name is near; else ""."""
    for vendor, models in MODELS.items():
        for model in filter(None, models):
            found = re.fullmatch(rf"(?:(\d+)x)?{model}(?::(\d+))?", part, re.IGNORECASE)
            if found:
                return _offer(f"{vendor}:{found[1] or found[2] or 1}x{model}")
    name, _, rest = part.partition(":")
    letters = name.rstrip("0123456789")
    near = difflib.get_close_matches(letters.lower(), [vendor.name for vendor in VENDORS], n=1, cutoff=0.75)
    return _offer(f"{near[0]}:{rest or name[len(letters) :] or 1}") if near else ""


def _offer(text: str) -> str:
    match = _GROUP.fullmatch(text)
    return f" Did you mean {text!r}?" if match is not None and int(match["count"]) else ""


def _model(vendor: Vendor, word: str | None) -> Model:
    """A known model, or one of this name with unknown memory."""
    known = MODELS[vendor.name]
    wanted = (word or _USUAL.get(vendor.name, "")).upper()
    if wanted in known:
        return known[wanted]
    return Model(f"{_PREFIX.get(vendor.name, '')} {word}".strip(), None)


def _device(vendor: Vendor, model: Model, ordinal: int) -> Device:
    kind = vendor.type_of(model.name)
    uuid = f"GPU-51a00000-0000-4000-8000-{ordinal:012x}" if vendor.name == "nvidia" else None
    device = vendor.device(ordinal, name=_shown(vendor, model), type=kind, memory_bytes=model.memory_bytes, uuid=uuid)
    return replace(device, kind=DeviceKind.SIMULATED)


def _shown(vendor: Vendor, model: Model) -> str:
    return model.name if vendor.resource == "GPU" else f"{vendor.family} {model.name}"


def _instances(vendor: Vendor, model: Model, card: int, count: int, profile: str, memory_gb: int) -> list[Device]:
    """The MIG instances of one card."""
    whole = _device(vendor, model, card)
    uuids = [f"MIG-51a00000-0000-4000-8000-{card:06x}{position:06x}" for position in range(count)]
    name, memory_bytes = f"{whole.name} MIG {profile}", memory_gb * _GIB
    part = replace(whole, name=name, profile=profile, parent=whole.uuid, memory_bytes=memory_bytes)
    return [replace(part, id=uuid, uuid=uuid, visible_value=uuid) for uuid in uuids]


def _finding(vendor: Vendor, devices: list[Device], text: str) -> Finding:
    reason = "" if devices else f"this machine is simulated ({text}), and has none; real devices are not asked."
    return vendor.finding(devices=devices, reason=reason, looked_for=[f"simulate={text}"])
