"""A small NVML, compiled by the system's C compiler, for the real pynvml bindings to talk to.

Programs that are to see it run as children with `FakeNvml.environment()`: this process never loads it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig import DEADLINE_S

SOURCE = Path(__file__).with_name("fake_nvml.c")
GIB = 1 << 30
_C_TYPES = {ctypes.c_uint: "unsigned int", ctypes.c_ulonglong: "unsigned long long", ctypes.c_char: "char"}
_STRUCTS = (
    "nvmlPciInfo_t",
    "c_nvmlMemory_t",
    "c_nvmlMemory_v2_t",
    "c_nvmlUtilization_t",
    "c_nvmlProcessInfo_v2_t",
    "c_nvmlDeviceAttributes",
)


def header() -> str:
    """C declarations of pynvml's structures, their sizes and offsets checked by the compiler against ctypes."""
    import pynvml

    lines = ["#include <stddef.h>"]
    for name in _STRUCTS:
        structure = getattr(pynvml, name)
        lines += ["typedef struct {", *_members(structure), f"}} {name};"]
        lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "size");')
        for field in structure._fields_:
            offset = getattr(structure, field[0]).offset
            lines.append(f'_Static_assert(offsetof({name}, {field[0]}) == {offset}, "offset");')
    return "\n".join(lines) + "\n"


def _members(structure: Any) -> Iterator[str]:
    for name, kind in structure._fields_:
        length = f"[{kind._length_}]" if hasattr(kind, "_length_") else ""
        yield f"    {_C_TYPES[getattr(kind, '_type_', kind) if length else kind]} {name}{length};"


def build(folder: Path) -> Path | None:
    """Compile the library into a folder; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    (folder / "nvml_structs.h").write_text(header())
    library = folder / "libnvidia-ml.so.1"
    options = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", f"-I{folder}"]
    subprocess.run([compiler, *options, str(SOURCE), "-o", str(library), "-lpthread"], check=True, timeout=DEADLINE_S)
    return library


@dataclass(slots=True)
class Gpu:
    """A card as the fake NVML shows it."""

    uuid: str
    name: str = "NVIDIA A100-SXM4-40GB"
    total: int = 40 * GIB
    used: int = GIB
    util: int = 37
    celsius: int = 51
    milliwatts: int = 123_000
    compute_mode: int = 0
    mig_mode: str = "0"
    status: int = 0
    bus: str = "00000000:01:00.0"

    def line(self) -> str:
        fields = (self.uuid, self.name, self.total, self.used, self.util, self.celsius, self.milliwatts)
        return "|".join(map(str, ("gpu", *fields, self.compute_mode, self.mig_mode, self.status, self.bus)))


class FakeNvml:
    """The library, its state file, and a tree of files that makes this machine look as if it had a driver."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._library = library
        self.state = folder / "nvml.state"
        self.root = folder / "root"
        (self.root / "proc/driver/nvidia").mkdir(parents=True)
        self.state.write_text("")

    def has(self, *cards: Gpu | str) -> None:
        """Set the whole state at once: cards, and further lines as fake_nvml.c describes them."""
        fresh = self.state.with_suffix(".new")
        fresh.write_text("".join(f"{card.line() if isinstance(card, Gpu) else card}\n" for card in cards))
        fresh.replace(self.state)  # a program that reads meanwhile finds the old state or the new one

    def environment(self, **variables: str) -> dict[str, str]:
        inherited = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        return {
            **inherited,
            "LD_LIBRARY_PATH": str(self._library.parent),
            "NVML_STATE_FILE": str(self.state),
            **variables,
        }

    def run(self, program: str, **variables: str) -> str:
        """Run Python text in a child that has this NVML; `machine` is defined there. Returns what it printed."""
        prelude = f"from nbaccel.accelerators import *\nmachine = RealMachine({str(self.root)!r})\n"
        child = subprocess.run(
            [sys.executable, "-c", prelude + program],
            env=self.environment(**variables),
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert child.returncode == 0, child.stderr
        return child.stdout
