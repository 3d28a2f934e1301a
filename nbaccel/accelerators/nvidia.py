"""NVIDIA GPUs, through NVML.

Peculiar to this vendor: a card in MIG mode is not usable itself, its instances are; and CUDA numbers cards by speed
unless CUDA_DEVICE_ORDER says PCI_BUS_ID, while NVML numbers them by bus, so on a machine with mixed cards an index
means two different cards. There UUIDs are passed, and an index that the user has preset stays exactly as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from nbaccel.accelerators.machine import in_container, of_maker
from nbaccel.accelerators.vendor import Device, Environment, Finding, Machine, PciDevice, Say, Vendor
from nbaccel.accelerators.visibility import filters_of

VARIABLE = "CUDA_VISIBLE_DEVICES"
_MAKER = "0x10de"


def type_of(name: str) -> str | None:
    """The accelerator type in a card's marketing name.

    >>> type_of("Tesla V100-SXM2-16GB"), type_of("NVIDIA GeForce RTX 5090")
    ('V100', 'GeForce-RTX-5090')
    """
    words = name.split()
    if len(words) < 2:
        return name or None
    series: list[str] = []
    for word in words[1:]:
        model = re.match(r"[A-Z0-9]*\d[A-Z0-9]*", word)
        if model:
            return "-".join([*series, model[0]])
        if not re.fullmatch(r"[A-Z]+", word):
            break
        series.append(word)
    return "-".join(words[1:] if words[0] == "NVIDIA" else words)


def signs(machine: Machine, pci: Sequence[PciDevice]) -> list[str]:
    found = machine.list_path("/dev/nvidia[0-9]*")
    found += [path for path in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg") if machine.exists(path)]
    return found + [f"PCI device {one.address}" for one in of_maker(pci, _MAKER, display=True)]


def probe(machine: Machine, pci: Sequence[PciDevice], say: Say) -> Finding:
    try:
        nvml = machine.import_module("pynvml")
    except ImportError:
        return VENDOR.finding(
            reason="there are signs of an NVIDIA driver, but the package nvidia-ml-py is not installed.",
            advice="Type: pip install nvidia-ml-py",
        )
    say("nvmlInit")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return _no_nvml(machine, pci, nvml, error)
    try:
        return _read_cards(nvml, say)
    finally:
        nvml.nvmlShutdown()


def _read_cards(nvml: Any, say: Say) -> Finding:
    finding = VENDOR.finding()
    say("nvmlDeviceGetCount")
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        finding.errors.append(f"nvmlDeviceGetCount: {error}")
        finding.reason = f"NVML started, but cannot count the cards: {error}."
        return finding
    for ordinal in range(count):
        say(f"NVML about GPU {ordinal}")
        try:
            finding.devices += _read_card(nvml, ordinal, finding.errors)
        except nvml.NVMLError as error:
            finding.errors.append(f"GPU {ordinal}: {error}")
    if not finding.devices:
        finding.reason = _nothing_usable(count, finding.errors)
    return finding


def _nothing_usable(count: int, errors: list[str]) -> str:
    if count == 0:
        return (
            "the driver runs, but shows no card (a container started without GPUs, or all are bound to another driver)."
        )
    return f"NVML counts {count} cards, but none of them can be used: {'; '.join(errors)}."


def _read_card(nvml: Any, ordinal: int, errors: list[str]) -> list[Device]:
    """One card, or the MIG instances of a card that is in MIG mode."""
    handle = nvml.nvmlDeviceGetHandleByIndex(ordinal)
    name, uuid = _text(nvml.nvmlDeviceGetName(handle)), _text(nvml.nvmlDeviceGetUUID(handle))
    card = VENDOR.device(
        ordinal,
        name=name,
        type=type_of(name),
        uuid=uuid,
        memory_bytes=_optional(nvml, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
        unavailable=_compute_refused(nvml, handle),
        address=_optional(nvml, lambda: _text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()[-12:]),
    )
    mode = _optional(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle)[0])
    if not mode:
        return [card]
    instances = [_mig_instance(nvml, card, one) for one in _mig_handles(nvml, handle, ordinal, errors)]
    if not instances:
        errors.append(
            f"GPU {ordinal} ({name}) is in MIG mode without an instance, so nothing can run on it; "
            f"create one (nvidia-smi mig -cgi …) or leave MIG mode (nvidia-smi -mig 0)."
        )
    return instances


def _mig_handles(nvml: Any, handle: Any, ordinal: int, errors: list[str]) -> Iterator[Any]:
    for slot in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            yield nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
        except nvml.NVMLError_NotFound:
            continue
        except nvml.NVMLError as error:
            errors.append(f"GPU {ordinal}, MIG slot {slot}: {error}")


def _mig_instance(nvml: Any, card: Device, handle: Any) -> Device:
    uuid = _text(nvml.nvmlDeviceGetUUID(handle))
    name = _text(_optional(nvml, lambda: nvml.nvmlDeviceGetName(handle)) or card.name)
    profile = name.partition(" MIG ")[2] or _optional(nvml, lambda: _profile(nvml.nvmlDeviceGetAttributes(handle)))
    memory = _optional(nvml, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total))
    return replace(
        card,
        id=uuid,
        visible_value=uuid,
        uuid=uuid,
        name=name,
        memory_bytes=memory,
        parent=card.uuid,
        profile=profile or "MIG",
    )


def _profile(attributes: Any) -> str:
    return f"{attributes.gpuInstanceSliceCount}g.{round(attributes.memorySizeMB / 1024)}gb"


def _compute_refused(nvml: Any, handle: Any) -> str | None:
    mode = _optional(nvml, lambda: nvml.nvmlDeviceGetComputeMode(handle))
    if mode == nvml.NVML_COMPUTEMODE_PROHIBITED:
        return "its compute mode is PROHIBITED; an administrator can change that with nvidia-smi -c DEFAULT"
    return None


def _optional(nvml: Any, ask: Callable[[], Any]) -> Any:
    """A fact that a card may not have; None when NVML does not tell it."""
    try:
        return ask()
    except nvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _no_nvml(machine: Machine, pci: Sequence[PciDevice], nvml: Any, error: Any) -> Finding:
    cards = of_maker(pci, _MAKER, display=True)
    on_bus = f" (on the PCI bus: {', '.join(card.address for card in cards)})" if cards else ""
    reason, advice = _init_failure(nvml, error)
    if in_container(machine):
        advice = f"This looks like a container: start it with its GPUs (docker run --gpus all). Otherwise: {advice}"
    return VENDOR.finding(reason=f"{reason}{on_bus}.", errors=[f"nvmlInit: {error}"], advice=advice)


def _init_failure(nvml: Any, error: Any) -> tuple[str, str]:
    known = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
            "the driver's library libnvidia-ml.so.1 was not found",
            "install the NVIDIA driver, or add its folder to LD_LIBRARY_PATH",
        ),
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: (
            "the NVIDIA kernel driver is not loaded",
            "load it (modprobe nvidia) or reboot, then see nvidia-smi",
        ),
        nvml.NVML_ERROR_NO_PERMISSION: (
            "this user may not open the NVIDIA devices",
            "look at ls -l /dev/nvidia*, and join the group that may open them",
        ),
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
            "the driver's library and its kernel module are of different versions (an update without a reboot)",
            "reboot this machine",
        ),
        nvml.NVML_ERROR_GPU_IS_LOST: ("a GPU has fallen off the bus", "look at dmesg for Xid 79, then reboot"),
    }
    fallback = (f"NVML does not start: {error}", "see what nvidia-smi says")
    return known.get(error.value, fallback)


def matches(device: Device, entry: str) -> bool:
    """Whether an entry (index, UUID or the beginning of one) names this card, or the card of this instance."""
    if entry.isdecimal():
        return device.ordinal == int(entry)
    if entry.startswith("MIG-"):
        return bool(device.profile) and (device.uuid or "").startswith(entry)
    if not entry.startswith("GPU-"):
        return False
    return (device.uuid or "").startswith(entry) or (device.parent or "").startswith(entry)


def indexes_are_ambiguous(devices: Sequence[Device], environ: Mapping[str, str]) -> bool:
    """Whether CUDA would number these cards in another order than NVML."""
    if environ.get("CUDA_DEVICE_ORDER", "").strip().upper() == "PCI_BUS_ID":
        return False
    return len({device.name.partition(" MIG ")[0] for device in devices if device.ordinal is not None}) > 1


def pinned(
    found: Sequence[Device], selected: Sequence[Device], environ: Mapping[str, str]
) -> tuple[list[Device], list[str]]:
    """The selected devices with the text that names them to CUDA, and notes for the user.

    On mixed cards without CUDA_DEVICE_ORDER, an index that the user preset means "CUDA's nth fastest": it is passed on
    as it stands, and which card that is stays unknown. Devices that nobody named by index get their UUIDs.
    """
    preset = {entry for one in filters_of(VENDOR, environ) for entry in one.picks or ()}
    by_uuid = {entry for entry in preset if not entry.isdecimal()}
    ambiguous = indexes_are_ambiguous(found, environ)
    if not ambiguous:
        return [_named_by(device, by_uuid) for device in selected], []
    notes = []
    devices = []
    for device in selected:
        if device.id in preset and device.id.isdecimal():
            devices.append(
                replace(device, name=f"CUDA device {device.id}", type=None, uuid=None, memory_bytes=None, address=None)
            )
            notes.append(f"{VARIABLE} names {device.id}, and this machine has cards of different kinds")
        else:
            devices.append(replace(_named_by(device, by_uuid), visible_value=device.uuid or device.visible_value))
    return devices, notes and [_order_note(notes[0])]


def _order_note(fact: str) -> str:
    return (
        f"{fact}: CUDA counts them from the fastest, so which card is meant is not known here. "
        f"It is passed on as it stands; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name cards by UUID, to see which it is."
    )


def _named_by(device: Device, by_uuid: set[str]) -> Device:
    """A card that the user named by UUID is shown by its UUID."""
    if device.uuid and any(matches(device, entry) for entry in by_uuid):
        return replace(device, id=device.uuid, visible_value=device.uuid)
    return device


def assign(devices: Sequence[Device], environ: Mapping[str, str], node_device_count: int) -> Environment:
    values = [device.visible_value for device in devices]
    indexes = [value.isdecimal() for value in values]
    if any(indexes) and not all(indexes):
        # CUDA takes a list of indexes or of UUIDs, never a mixture.
        values = [device.uuid or device.visible_value for device in devices]
    return {VARIABLE: ",".join(values)}


VENDOR = Vendor(
    name="nvidia",
    family="NVIDIA GPU",
    resource="GPU",
    variable=VARIABLE,
    fractions=True,
    looked_for=("/dev/nvidia*", "/proc/driver/nvidia", "/dev/dxg (WSL)", "a PCI display device of maker 0x10de"),
    signs=signs,
    probe=probe,
    matches=matches,
    type_of=type_of,
    assign=assign,
    pin=pinned,
)
