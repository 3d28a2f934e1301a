"""The real machine behind the `Machine` protocol: programs, files and modules, each with a bound on time and size."""

from __future__ import annotations

import glob
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.accelerators.vendor import Completed, Machine, PciDevice

# Every file read here is a line or a short list in /sys, /proc or /dev; a larger file is a mistake.
LARGEST_FILE_BYTES = 1 << 20


class RealMachine:
    """This computer, or a tree of files that stands for its /sys, /proc and /dev (`root=`).

    Paths are always given and returned as the machine would name them, without `root`. By default NBACCEL_MACHINE_ROOT
    names it, for the processes of a head that is tested with the files of another machine.
    """

    def __init__(self, root: str | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._root = (root or self._environ.get("NBACCEL_MACHINE_ROOT", "/")).rstrip("/")

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    def run(self, command: Sequence[str], timeout_s: float) -> Completed:
        import subprocess

        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                env=dict(self._environ),
                executable=_executable(command[0], self._environ.get("PATH", os.defpath)),
                encoding="utf-8",
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return Completed("", f"{command[0]} has not answered for {timeout_s:g} s", None)
        except OSError as error:
            return Completed("", f"{command[0]} cannot be run: {error.strerror or error}", None)
        return Completed(done.stdout, done.stderr, done.returncode)

    def list_path(self, pattern: str) -> list[str]:
        found = glob.glob(glob.escape(self._root) + pattern)
        return sorted((path[len(self._root) :] for path in found), key=natural_order)

    def read(self, path: str) -> str | None:
        try:
            with open(self._root + path, encoding="utf-8", errors="replace") as file:
                return file.read(LARGEST_FILE_BYTES).removesuffix("\n")
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._root + path)

    def may_open(self, path: str) -> bool:
        return os.access(self._root + path, os.R_OK | os.W_OK)

    def resolve(self, path: str) -> str:
        resolved = os.path.realpath(self._root + path)
        real_root = os.path.realpath(self._root or "/").rstrip("/")
        return resolved.removeprefix(real_root)

    def import_module(self, name: str) -> Any:
        return importlib.import_module(name)

    def loaded_module(self, name: str) -> Any | None:
        return sys.modules.get(name)

    def fetch(self, url: str, headers: Mapping[str, str], timeout_s: float) -> str | None:
        import urllib.request  # 40 ms, and only a TPU host needs it

        request = urllib.request.Request(url, headers=dict(headers))
        # A proxy cannot reach this machine's own metadata address.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                text: bytes = answer.read(LARGEST_FILE_BYTES)
        except (OSError, ValueError):
            return None
        return text.decode("utf-8", "replace").strip()


def _executable(program: str, path: str) -> str:
    """The file to run, searched on the machine's own PATH (subprocess would search this process's)."""
    if "/" in program:
        return program
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder, program)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise FileNotFoundError(2, "no such program on PATH", program)


def natural_order(text: str) -> list[tuple[int, int, str]]:
    """A key that puts `card2` before `card10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


# Bridges, memory and the like (class 0x05…0x08, 0x0c) are most of a server's bus; only these can be accelerators:
# display controllers, processing accelerators, "other" (0x08, 0xff) and co-processors.


# ---- the PCI bus as the kernel shows it: the makers of the cards, with or without a driver


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
