"""The PCI bus as the kernel shows it: the makers of the cards, with or without a driver."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.accelerators.vendor import Machine, PciDevice

# Bridges, memory and the like (class 0x05…0x08, 0x0c) are most of a server's bus; only these can be accelerators:
# display controllers, processing accelerators, "other" (0x08, 0xff) and co-processors.
_INTERESTING = ("0x03", "0x12", "0x0b", "0x08", "0xff", "0x00")


def scan_pci(machine: Machine) -> list[PciDevice]:
    """Every PCI device that may be an accelerator, in the order of its address."""
    devices = []
    for folder in machine.list_path("/sys/bus/pci/devices/*"):
        class_code = machine.read(f"{folder}/class") or ""
        if not class_code.startswith(_INTERESTING):
            continue
        vendor = (machine.read(f"{folder}/vendor") or "").lower()
        device = (machine.read(f"{folder}/device") or "").lower()
        devices.append(PciDevice(folder.rsplit("/", 1)[1], vendor, device, class_code.lower()))
    return devices


def of_maker(devices: Sequence[PciDevice], vendor_id: str, *, display: bool = False) -> list[PciDevice]:
    """The devices of one maker; with `display`, only graphics cards and cards that compute like them."""
    return [one for one in devices if one.vendor == vendor_id and (one.is_display or not display)]


def in_container(machine: Machine) -> bool:
    """Whether this looks like a container; there, a missing device most often was not passed in."""
    if machine.exists("/.dockerenv") or machine.exists("/run/.containerenv"):
        return True
    return "KUBERNETES_SERVICE_HOST" in machine.environ
