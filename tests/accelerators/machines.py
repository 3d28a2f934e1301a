"""Machines for the tests of this room: trees of files for /sys, /proc and /dev, and tools on a PATH of their own."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbaccel.accelerators import RealMachine

GIB = 1 << 30


class MadeMachine(RealMachine):
    """A real machine over a folder; modules and metadata come from dictionaries, never from this computer."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "root"
        self.bin = folder / "bin"
        self.tree.mkdir()
        self.bin.mkdir()
        self.variables: dict[str, str] = {"PATH": f"{self.bin}:/usr/bin:/bin"}
        self.modules: dict[str, Any] = {}
        self.metadata: dict[str, str] = {}
        super().__init__(str(self.tree), self.variables)
        self.prints("df", "Filesystem 1K-blocks Used Available Use% Mounted on\nshm 8388608 0 8388608 0% /dev/shm\n")

    def file(self, path: str, text: str | int = "") -> None:
        place = self.tree / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n" if text != "" else "")

    def folder(self, path: str) -> None:
        (self.tree / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def link(self, path: str, target: str) -> None:
        place = self.tree / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.tree / target.lstrip("/"), place.parent))

    def tool(self, name: str, script: str) -> None:
        """A program on this machine's PATH, as shell text."""
        place = self.bin / name
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(place.stat().st_mode | stat.S_IXUSR)

    def prints(self, name: str, text: str) -> None:
        """A program that prints this and ends well."""
        (self.bin / f"{name}.txt").write_text(text)
        self.tool(name, f"cat {self.bin}/{name}.txt")

    def pci(self, address: str, vendor: str, device: str, class_code: str = "0x030000") -> str:
        folder = f"/sys/bus/pci/devices/{address}"
        self.file(f"{folder}/vendor", vendor)
        self.file(f"{folder}/device", device)
        self.file(f"{folder}/class", class_code)
        return folder

    def import_module(self, name: str) -> Any:
        if name not in self.modules:
            raise ImportError(f"No module named {name!r}")
        if isinstance(self.modules[name], Exception):
            raise self.modules[name]
        return self.modules[name]

    def loaded_module(self, name: str) -> Any | None:
        return self.modules.get(f"loaded {name}")

    def fetch(self, url: str, headers: Mapping[str, str], timeout_s: float) -> str | None:
        return self.metadata.get(url.rsplit("/", 1)[1])


def add_amd(machine: MadeMachine, count: int = 2, *, device: int = 0x74A1, cores: int = 0) -> None:
    """GPUs in the kernel's compute topology, after a node for the processor."""
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    machine.file(f"{nodes}/0/properties", "cpu_cores_count 64\nsimd_count 0\n")
    for number in range(count):
        bus, minor = 0x10 + number, 128 + number
        folder = machine.pci(f"0000:{bus:02x}:00.0", "0x1002", f"0x{device:04x}")
        facts = {
            "cpu_cores_count": cores,
            "simd_count": 304,
            "device_id": device,
            "location_id": bus << 8,
            "domain": 0,
            "drm_render_minor": minor,
            "unique_id": 0xABCD0000 + number,
        }
        machine.file(f"{nodes}/{number + 1}/properties", "\n".join(f"{key} {value}" for key, value in facts.items()))
        machine.file(f"{nodes}/{number + 1}/gpu_id", 5000 + number)
        machine.file(f"{folder}/mem_info_vram_total", 192 * GIB)
        machine.file(f"{folder}/mem_info_vram_used", 3 * GIB)
        machine.file(f"{folder}/gpu_busy_percent", 42)
        machine.file(f"{folder}/hwmon/hwmon3/temp1_input", 61_000)
        machine.file(f"{folder}/hwmon/hwmon3/power1_average", 250_000_000)
        machine.link(f"/sys/class/drm/renderD{minor}/device", folder)
    machine.file("/dev/kfd")


def add_intel(machine: MadeMachine, count: int = 2, *, device: str = "0x0bd5", integrated: bool = False) -> None:
    """Cards that the xe driver holds."""
    for number in range(count):
        address = "0000:00:02.0" if integrated else f"0000:{0x20 + number:02x}:00.0"
        folder = machine.pci(address, "0x8086", device)
        minor = 160 + number + (20 if integrated else 0)
        machine.folder(f"{folder}/drm/renderD{minor}")
        machine.file(f"{folder}/drm/card{number}/lmem_total_bytes", 128 * GIB)
        machine.file(f"{folder}/drm/card{number}/lmem_avail_bytes", 120 * GIB)
        machine.file(f"{folder}/hwmon/hwmon1/temp1_input", 45_000)
        machine.file(f"{folder}/hwmon/hwmon1/energy1_input", 1_000_000)
        machine.file(f"/dev/dri/renderD{minor}")


NEURON_LS = """[
  {"neuron_device": 1, "bdf": "00:1d.0", "connected_to": [0], "nc_count": 2, "memory_size": 34359738368},
  {"neuron_device": 0, "bdf": "00:1c.0", "connected_to": [1], "nc_count": 2, "memory_size": 34359738368,
   "neuron_processes": []}
]"""


def add_neuron(machine: MadeMachine) -> None:
    """Two Inferentia2 devices of two cores each."""
    machine.file("/dev/neuron0")
    machine.file("/dev/neuron1")
    machine.prints("neuron-ls", NEURON_LS)
    memory = "stats/memory_usage/device_mem/present"
    machine.file(f"/sys/devices/virtual/neuron_device/neuron1/neuron_core1/{memory}", 4096)


def add_tpu(machine: MadeMachine, count: int = 4, *, device: str = "0x005e") -> None:
    """Chips behind /dev/accel*."""
    for number in range(count):
        folder = machine.pci(f"0000:{0x40 + number:02x}:00.0", "0x1ae0", device, "0x120000")
        machine.file(f"/dev/accel{number}")
        machine.link(f"/sys/class/accel/accel{number}/device", folder)


def add_gaudi(machine: MadeMachine, modules: tuple[int, ...] = (1, 0)) -> None:
    """Processors whose numbers in /dev are not their places on the board."""
    for number, module in enumerate(modules):
        folder = machine.pci(f"0000:{0x50 + number:02x}:00.0", "0x1da3", "0x1020", "0x120000")
        machine.link(f"/sys/class/accel/accel{number + 8}/device", folder)
        machine.file(f"{folder}/module_id", module)
        machine.file(f"{folder}/device_type", "GAUDI2")
        machine.file(f"{folder}/status", "operational")


NPU_SMI = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.2.1                 Version: 23.0.2.1                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B                | OK            | 93.6        36                0    / 0             |
| 0                         | 0000:C1:00.0  | 12          0    / 0          4152 / 65536         |
+===========================+===============+====================================================+
| 1     910B                | OK            | 90.1        35                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          3370 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 12345         | python                   | 800                     |
+===========================+===============+====================================================+
"""


def add_ascend(machine: MadeMachine) -> None:
    """Two chips of one each, and the tool that lists them."""
    machine.file("/dev/davinci0")
    machine.file("/dev/davinci1")
    machine.file("/dev/davinci_manager")
    machine.prints("npu-smi", NPU_SMI)
