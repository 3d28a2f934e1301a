"""Checks what may make work on devices fail or wait: driver, CUDA, torch, a container's limits, uncompiled modules.

Each fact is a line; a problem has a second line with what to do. A fact that cannot be found out is left out.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbaccel.accelerators.vendor import Machine

_DRIVER = "/proc/driver/nvidia/version"
_TORCH = (
    "import torch; print(torch.__version__, torch.version.cuda or torch.version.hip or 'CPU only', "
    "torch.cuda.device_count(), sep='|')"
)
_TOOL_S, _TORCH_S = 10.0, 60.0  # a driver that hangs must not hang the report
_GIB, _MIB = 1 << 30, 1 << 20
LITTLE_SHM_BYTES = 1 * _GIB  # Docker gives 64 MiB unless it is told otherwise
_STARTS_WITH = ("nbaccel", "pynvml")  # the modules that take a start longest to compile
FEW_PROCESSES = 100  # that may still be started: one task with a data loader can need as many


@dataclass(slots=True, frozen=True)
class Fact:
    """One line; if it is a problem, also what to do."""

    text: str
    advice: str = ""


def look(machine: Machine, python: str | None = sys.executable) -> list[Fact]:
    """All facts of this machine; `python` is the interpreter whose torch is checked, or None."""
    has_driver = machine.exists(_DRIVER)
    facts = [*(_nvidia(machine) if has_driver else ()), *_container(machine)]
    if has_driver and python is not None:
        facts[1:1] = _torch(machine, python)
    if python == sys.executable:
        facts += bytecode(_STARTS_WITH if has_driver else _STARTS_WITH[:1])
    return facts


def _nvidia(machine: Machine) -> Iterator[Fact]:
    said = re.search(r"(?:Kernel Module\S*|for x86_64|for aarch64)\s+(\d[\d.]*)", machine.read(_DRIVER) or "")
    driver = f"driver {said[1]}" if said else "a driver of unknown version"
    tool = machine.run(["nvidia-smi"], _TOOL_S)
    cuda = re.search(r"CUDA Version:\s*([\d.]+)", tool.stdout)
    yield Fact(f"NVIDIA {driver}" + (f", for CUDA up to {cuda[1]}" if cuda else ""))
    modes = machine.run(["nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader"], _TOOL_S)
    if "Disabled" in modes.stdout.split():
        yield Fact(
            "Persistence mode is off: the first process on an idle device waits seconds for the driver to load",
            "Switch it on: sudo nvidia-smi -pm 1",
        )
    pipe = machine.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # CUDA's own default
    if machine.exists(f"{pipe}/control"):
        yield Fact(f"MPS runs ({pipe}): processes on one device share its context, and an error of one may end all")


def _torch(machine: Machine, python: str) -> Iterator[Fact]:
    """Check torch in its own process: loading it takes seconds, and a broken driver may hang it."""
    asked = machine.run([python, "-c", _TORCH], _TORCH_S)
    parts = asked.stdout.strip().split("|")
    if asked.returncode is None:
        yield Fact(f"torch has not answered: {asked.stderr}", "The driver may hang: see what nvidia-smi says.")
    elif asked.returncode == 0 and len(parts) == 3:
        version, built_for, number = parts
        advice = ""
        if number == "0":
            advice = (
                "This torch is built for CPUs only: install one for CUDA."
                if built_for == "CPU only"
                else f"Its CUDA {built_for} may be newer than the driver's, or CUDA_VISIBLE_DEVICES hides the devices."
            )
        yield Fact(f"torch {version} ({built_for}) sees {number} device{'' if number == '1' else 's'}", advice)


def _container(machine: Machine) -> Iterator[Fact]:
    shm = machine.run(["df", "-k", "/dev/shm"], _TOOL_S).stdout.split("\n")
    columns = shm[-2].split() if len(shm) > 1 else []
    if len(columns) >= 4 and columns[1].isdecimal() and columns[3].isdecimal():
        size, free = int(columns[1]) << 10, int(columns[3]) << 10
        little = "Start the container with more: docker run --shm-size=8g" if size < LITTLE_SHM_BYTES else ""
        hurts = ", which data loaders and NCCL use up soon" if little else ""
        yield Fact(f"/dev/shm has {_size(free)} of {_size(size)} free{hurts}", little)
    limit = _number(machine, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
    if limit is not None and limit < 1 << 60:  # version 1 says "no limit" with a huge number
        yield Fact(f"Memory is limited to {_size(limit)} by the container or the session (cgroup)")
    most = _number(machine, "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
    now = _number(machine, "/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current")
    if most is not None and now is not None:
        few = "Raise it: docker run --pids-limit=-1" if most - now < FEW_PROCESSES else ""
        yield Fact(f"{now} of at most {most} processes and threads run (cgroup)", few)


def bytecode(modules: Sequence[str]) -> Iterator[Fact]:
    """Whether this Python compiles these modules anew at each start. Images of containers often forbid it to keep what
    it compiles, and some installers leave it to the first start.
    """
    places, may_write = [], True
    for name in modules:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None or found.cached is None or os.path.exists(found.cached):
            continue
        there = next(folder for folder in Path(found.cached).parents if folder.exists())
        writable = os.access(there, os.W_OK)
        if sys.dont_write_bytecode or not writable:
            places.append((name, str(Path(found.origin).parent) if found.submodule_search_locations else found.origin))
            may_write &= writable
    if places:
        names = " and ".join(name for name, _ in places)
        command = shlex.join([sys.executable, "-m", "compileall", "-q", *(path for _, path in places)])
        yield Fact(
            f"Python keeps no bytecode of {names}: every start compiles it anew, which can double the time of init()",
            f"Keep it: {command}" if may_write else f"Keep it, as a user who may write there: {command}",
        )


def _number(machine: Machine, *paths: str) -> int | None:
    """The number in the first file that has one."""
    texts = [(machine.read(path) or "").strip() for path in paths]
    return next((int(text) for text in texts if text.isdecimal()), None)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.0f} MiB" if size_bytes < _GIB else f"{size_bytes / _GIB:.0f} GiB"
