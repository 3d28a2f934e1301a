"""The report of a detection for people: rows of devices, a sentence for each family, and what to type next.

The first part is pure: records in, records and text out. `devices()` and `doctor()` at the end ask this machine and
render with them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from nbaccel.accelerators.detection import Detection, detect
from nbaccel.accelerators.machine import RealMachine
from nbaccel.accelerators.metrics import DeviceReading, sample
from nbaccel.accelerators.offering import NodeDevices
from nbaccel.accelerators.table import vendor_of
from nbaccel.accelerators.vendor import Device, DeviceKind, Finding, Machine

COLUMNS = ("id", "family", "name", "type", "memory", "offered", "note")
_GIB = 1 << 30
_MIB = 1 << 20


class FoundDevice(Struct, frozen=True):
    """A device, with the reason why it is not offered or another note."""

    device: Device
    note: str

    def to_dict(self) -> dict[str, Any]:
        """All facts of the device, with "memory" and "note" as people read them."""
        facts = self.device.to_dict()
        memory = _size(self.device.memory_bytes)
        return {**facts, "type": self.device.type or "", "memory": memory, "note": self.note}


class FamilyReport(Struct, frozen=True):
    """One family in words: what was found, or why nothing was found and what would change that."""

    vendor: str
    family: str
    resource: str
    found: int
    offered: int
    sentence: str
    restricted_by: str | None
    looked_for: tuple[str, ...]
    errors: tuple[str, ...]
    advice: str | None
    asked: bool  # there were signs of it, so that its vendor was asked


class MachineReport(Struct, frozen=True):
    """The whole report about the accelerators of a machine."""

    devices: tuple[FoundDevice, ...]
    families: tuple[FamilyReport, ...]
    next_steps: tuple[str, ...]


def describe(
    detection: Detection, held: Mapping[str, str] | None = None, metrics: Mapping[str, DeviceReading] | None = None
) -> MachineReport:
    """Turn a detection into rows and sentences.

    held     the holder of each device, by `Device.lease_key`: "held by notebook analysis.ipynb, pid 4711"
    metrics  a sample by `Device.lease_key`, for the memory that processes use
    """
    rows = [
        FoundDevice(device, _note(detection, finding, device, held or {}, metrics or {}))
        for finding in detection.findings
        for device in finding.devices
    ]
    families = [_family(detection, finding) for finding in detection.findings]
    return MachineReport(tuple(rows), tuple(families), tuple(_next_steps(detection)))


def _note(
    detection: Detection,
    finding: Finding,
    device: Device,
    held: Mapping[str, str],
    metrics: Mapping[str, DeviceReading],
) -> str:
    notes = [_why_not_offered(detection, finding, device)]
    if device.kind is DeviceKind.SIMULATED:
        notes.append("simulated")
    if device.profile:
        notes.append(f"MIG {device.profile} of {device.parent}")
    notes.append(held.get(device.lease_key, ""))
    if device.lease_key in metrics:
        notes.append(_users(metrics[device.lease_key]))
    return "; ".join(note for note in notes if note)


def _why_not_offered(detection: Detection, finding: Finding, device: Device) -> str:
    if device.offered:
        return ""
    if device.unavailable:
        return device.unavailable
    if finding.resource == "GPU" and detection.gpu_vendor not in (None, finding.vendor):
        offered = vendor_of(detection.gpu_vendor or "").family
        return (
            f"not offered: GPU means {offered}s on this node; init(gpu_vendor={finding.vendor!r}) offers these instead"
        )
    if device.integrated:
        return f"integrated: offered only with init(gpu_vendor={finding.vendor!r})"
    return f"hidden by {finding.restricted_by}" if finding.restricted_by else "not offered"


def unoffered(detection: Detection, node: NodeDevices) -> Iterator[tuple[Device, str]]:
    """The found devices that a node does not offer, each with the reason."""
    has = {_identity(device) for devices in node.devices.values() for device in devices}
    for finding in detection.findings:
        for device in finding.devices:
            if _identity(device) not in has:
                count = len(node.devices.get(device.resource, ()))
                left_out = f"not offered: this node was started with {count} {device.resource}"
                yield device, _why_not_offered(detection, finding, device) or left_out


def absent(detection: Detection, node: NodeDevices) -> dict[str, str]:
    """By resource, why a node offers fewer devices than there are signs of: "NVIDIA GPU 0, 2: hidden by CUDA_…=1"."""
    texts: dict[str, list[str]] = {}
    for finding in detection.findings:
        if finding.asked and not finding.devices:
            texts.setdefault(finding.resource, []).append(f"{finding.family}: {finding.reason.removesuffix('.')}")
    ids: dict[tuple[str, str, str], list[str]] = {}
    for device, why in unoffered(detection, node):
        ids.setdefault((device.resource, device.family, why), []).append(device.id)
    for (resource, family, why), names in ids.items():
        texts.setdefault(resource, []).append(f"{family} {', '.join(names)}: {why}")
    return {resource: "; ".join(parts) for resource, parts in texts.items()}


def _identity(device: Device) -> tuple[str, int | None, str | None]:
    """The identity of a device, which stays when a node renames it; the MIG instances of a card share its number."""
    return device.vendor, device.ordinal, device.uuid if device.profile else None


def _users(metrics: DeviceReading) -> str:
    """The processes that use a device's memory, to explain why it is full."""
    if metrics.lost:
        return metrics.lost
    known = [f"pid {pid} uses {_size(used) or 'an unknown amount'}" for pid, used in metrics.processes or []]
    return ", ".join(known)


def _family(detection: Detection, finding: Finding) -> FamilyReport:
    offered = [device for device in finding.devices if device.offered]
    return FamilyReport(
        vendor=finding.vendor,
        family=finding.family,
        resource=finding.resource,
        found=len(finding.devices),
        offered=len(offered),
        sentence=_sentence(detection, finding, offered),
        restricted_by=finding.restricted_by,
        looked_for=tuple(finding.looked_for),
        errors=tuple(finding.errors),
        advice=finding.advice,
        asked=finding.asked,
    )


def _sentence(detection: Detection, finding: Finding, offered: Sequence[Device]) -> str:
    """The finding in words, or the reason why nothing was found."""
    if not finding.devices:
        return f"{finding.family}: {finding.reason}"
    names = ", ".join(dict.fromkeys(device.name for device in finding.devices))
    simulated = " (simulated)" if detection.simulated else ""
    found = f"{finding.family}: {len(finding.devices)} found{simulated}: {names}"
    if len(offered) == len(finding.devices):
        return f"{found}; offered as {finding.resource}."
    if finding.restricted_by is not None:
        ids = f" ({', '.join(device.id for device in offered)})" if offered else ""
        return f"{found}; {_set_to(finding.restricted_by)} leaves {len(offered)}{ids}."
    reasons = dict.fromkeys(_why_not_offered(detection, finding, device) for device in finding.devices)
    return f"{found}; {len(offered)} offered as {finding.resource} ({'; '.join(one for one in reasons if one)})."


def _set_to(restriction: str) -> str:
    return f"{restriction[:-1]}, set to empty," if restriction.endswith("=") else restriction


def _next_steps(detection: Detection) -> list[str]:
    steps = [finding.advice for finding in detection.findings if finding.advice]
    offered = [finding for finding in detection.findings if any(device.offered for device in finding.devices)]
    for finding in offered:
        ask = "num_gpus=1" if finding.resource == "GPU" else f"resources={{'{finding.resource}': 1}}"
        steps.append(f"Ask for one in a task: @nbaccel.remote({ask})")
    if not offered:
        steps.append("Work without one: nbaccel.init(num_gpus=2) counts two logical GPUs.")
        steps.append('See how it would look: nbaccel.init(simulate="nvidia:2xA100").')
    return steps


def as_text(report: MachineReport, log_errors: Sequence[str] = (), around: Sequence[Fact] = ()) -> str:
    """The whole report as plain lines, with the verdict first."""
    lines = [f"  {sentence}" for sentence in _family_sentences(report.families)]
    found = [f"  {row.device.family} {row.device.id}: {row.note}" for row in report.devices if row.note]
    errors = [f"  {family.family}: {error}" for family in report.families for error in family.errors]
    parts = [
        ("Accelerators", lines),
        ("Devices", found),
        ("Around the devices", [f"  {fact.text}." for fact in around]),
        ("What went wrong", errors),
        ("Last errors of the head's log", [f"  {line}" for line in log_errors]),
        (
            "What to do next",
            [f"  {step}" for step in (*(fact.advice for fact in around if fact.advice), *report.next_steps)],
        ),
    ]
    attention = sum(bool(fact.advice) for fact in around)
    things = f" {attention} thing{'s' * (attention > 1)} on this machine should be looked at." if attention else ""
    return "\n\n".join(
        [_verdict(report.families) + things, *("\n".join([title, *body]) for title, body in parts if body)]
    )


def _verdict(families: Sequence[FamilyReport]) -> str:
    """The verdict: "2 GPUs can be used."."""
    offered: dict[str, int] = {}
    for family in families:
        if family.offered:
            offered[family.resource] = offered.get(family.resource, 0) + family.offered
    if offered:
        counts = [
            f"{number} {name}" if number == 1 or name.endswith("s") else f"{number} {name}s"
            for name, number in offered.items()
        ]
        return f"{', '.join(counts)} can be used."
    found = sum(family.found for family in families)
    return (
        f"{found} accelerators found, none can be used." if found else "No accelerator can be used: tasks run on CPUs."
    )


def _family_sentences(families: Sequence[FamilyReport]) -> Iterator[str]:
    """One sentence for each family that has left a sign; the families without signs share a line.

    If no device was found, the line says where a sign of each family was looked for first.
    """
    without_sign = [family for family in families if not (family.found or family.asked or family.errors)]
    fold = len(without_sign) > 1
    for family in families:
        if not fold or family not in without_sign:
            yield family.sentence
    if fold:
        with_places = not any(family.found for family in families)
        names = [
            f"{family.family} ({family.looked_for[0]})" if with_places and family.looked_for else family.family
            for family in without_sign
        ]
        yield f"No sign of: {', '.join(names)}."


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return ""
    if size_bytes < _GIB:
        return f"{size_bytes / _MIB:.0f} MiB"
    return f"{size_bytes / _GIB:.0f} GiB"


Held = Callable[[str], str]
"""By `Device.lease_key`, who holds a device: "held by notebook analysis.ipynb, pid 4711", or ""."""


def devices(
    machine: Machine | None = None, *, simulate: str | None = None, held: Held | None = None
) -> list[dict[str, Any]]:
    """Every device of this machine as a row; COLUMNS names what a table shows of it."""
    return [row.to_dict() for row in _of_now(machine or RealMachine(), simulate, held).devices]


def doctor(
    machine: Machine | None = None,
    *,
    simulate: str | None = None,
    held: Held | None = None,
    log_errors: Sequence[str] = (),
) -> str:
    """A report on this machine's accelerators in plain lines: found or why not, used by whom, what to do next."""
    is_this_one = machine is None and "NBACCEL_MACHINE_ROOT" not in os.environ  # our torch sees these devices
    looked_at = machine or RealMachine()
    around = [] if simulate else look_around(looked_at, sys.executable if is_this_one else None)
    return as_text(_of_now(looked_at, simulate, held), log_errors, around)


def _of_now(machine: Machine, simulate: str | None, held: Held | None) -> MachineReport:
    detection = detect(machine, simulate=simulate)
    real = [device for device in detection.devices if device.kind is DeviceKind.REAL]
    measured = sample(real, machine) if real else []
    metrics = {device.lease_key: one for device, one in zip(real, measured, strict=True)}
    holders = {device.lease_key: held(device.lease_key) for device in real} if held is not None else {}
    return describe(detection, holders, metrics)


# ----
# checks what may make work on devices fail or wait: driver, CUDA, torch, a container's limits, uncompiled modules
#
# Each fact is a line; a problem has a second line with what to do. A fact that cannot be found out is left out.


_DRIVER = "/proc/driver/nvidia/version"
_TORCH = (
    "import torch; print(torch.__version__, torch.version.cuda or torch.version.hip or 'CPU only', "
    "torch.cuda.device_count(), sep='|')"
)
_TOOL_S, _TORCH_S = 10.0, 60.0  # a driver that hangs must not hang the report

LITTLE_SHM_BYTES = 1 * _GIB  # Docker gives 64 MiB unless it is told otherwise
_STARTS_WITH = ("nbaccel", "pynvml")  # the modules that take a start longest to compile
FEW_PROCESSES = 100  # that may still be started: one task with a data loader can need as many


class Fact(Struct, frozen=True):
    """One line; if it is a problem, also what to do."""

    text: str
    advice: str = ""


def look_around(machine: Machine, python: str | None = sys.executable) -> list[Fact]:
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
        from pathlib import Path

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
