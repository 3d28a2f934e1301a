"""Finds every accelerator of a machine: looks for cheap signs first, then asks the vendors with signs, all at once.

    signs (files, a few ms, in the caller's thread) ──none──► "not found, looked for …"
       └──some──► probe in a thread of its own ──► Finding, or "unknown: … has not answered for 10 s"

A node begins as soon as the devices that it offers are known; it does not wait for vendors whose GPUs it would not
offer. A probe may hang in a driver forever. Its thread is abandoned, so this belongs in a process that may be lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from nbaccel.accelerators.machine import scan_pci
from nbaccel.accelerators.simulate import SIMULATE_VARIABLE, simulated_findings
from nbaccel.accelerators.table import GPU_VENDORS, VENDORS, vendor_of
from nbaccel.accelerators.vendor import Device, Finding, Machine, PciDevice, Vendor
from nbaccel.accelerators.visibility import Selection, filters_of, select

DEADLINE_S = 10.0
DEADLINE_VARIABLE = "NBACCEL_DETECTION_TIMEOUT_S"
_LOOK_S = 0.25  # between two looks at the clock; if far more time has passed, it was the machine that stood still


class Detection(Struct):
    """All findings of a machine, in the order of VENDORS.

    gpu_vendor  the vendor whose devices are offered as `GPU`; None when there is nothing to offer
    simulated   the text that describes this simulated machine, or None
    """

    findings: list[Finding] = field(default_factory=list)
    gpu_vendor: str | None = None
    simulated: str | None = None

    def finding(self, vendor: str) -> Finding:
        return next(one for one in self.findings if one.vendor == vendor)

    @property
    def devices(self) -> list[Device]:
        return [device for one in self.findings for device in one.devices]

    def to_dict(self) -> dict[str, Any]:
        findings = [one.to_dict() for one in self.findings]
        return {"findings": findings, "gpu_vendor": self.gpu_vendor, "simulated": self.simulated}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Detection:
        findings = [Finding.from_dict(one) for one in record["findings"]]
        return cls(findings, record["gpu_vendor"], record["simulated"])

    def to_json(self) -> str:
        return msgspec.json.encode(self.to_dict()).decode()

    @classmethod
    def from_json(cls, text: str) -> Detection:
        return cls.from_dict(msgspec.json.decode(text))


def evidence(machine: Machine) -> list[str]:
    """The vendors with signs on this machine; empty means that `detect` answers at once, from files alone."""
    if machine.environ.get(SIMULATE_VARIABLE):
        return []
    pci = scan_pci(machine)
    return [vendor.name for vendor in VENDORS if vendor.signs(machine, pci)]


def detect(
    machine: Machine,
    *,
    gpu_vendor: str | None = None,
    simulate: str | None = None,
    deadline_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Detection:
    """Find all devices of this machine, or simulate them (`simulate=`, else NBACCEL_SIMULATE, e.g. "nvidia:4xA100").

    Vendors that have not answered after `deadline_s` (else NBACCEL_DETECTION_TIMEOUT_S, else 10) are unknown. Raises
    ValueError for an invalid `gpu_vendor`, simulation or time; every other failure becomes a reason in a finding.

    >>> detect(RealMachine(), simulate="amd:2xMI300X").devices[1].type
    'AMD-Instinct-MI300X-OAM'
    """
    *_, everything = detections(machine, gpu_vendor=gpu_vendor, simulate=simulate, deadline_s=deadline_s, clock=clock)
    return everything


def detections(
    machine: Machine,
    *,
    gpu_vendor: str | None = None,
    simulate: str | None = None,
    deadline_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Detection]:
    """Like `detect`, in one step or two: first the findings that a node needs to begin, then the rest, if any."""
    wanted = simulate if simulate is not None else machine.environ.get(SIMULATE_VARIABLE)
    if wanted:
        yield _settled(Detection(simulated_findings(wanted), simulated=wanted), machine.environ, gpu_vendor)
        return
    vendor = None if gpu_vendor is None else _gpu_vendor_named(gpu_vendor)
    inquiry = _Inquiry(machine, usual_deadline_s(machine.environ) if deadline_s is None else deadline_s, clock)
    if inquiry.wait(lambda answers: _can_begin(answers, machine.environ, vendor)):
        yield _settled(Detection(inquiry.findings(late=False)), machine.environ, vendor)
        inquiry.wait(lambda answers: False)
    yield _settled(Detection(inquiry.findings(late=True)), machine.environ, vendor)


def _settled(detection: Detection, environ: Mapping[str, str], gpu_vendor: str | None) -> Detection:
    """Set the vendor of `GPU`, and mark the devices that a node offers by default."""
    detection.gpu_vendor = choose_gpu_vendor(detection, environ, gpu_vendor)
    for one in detection.findings:
        _mark_offered(one, detection.gpu_vendor, environ)
    return detection


def _can_begin(answers: Mapping[str, Finding], environ: Mapping[str, str], gpu_vendor: str | None) -> bool:
    """Whether all devices that a node would offer are known. It offers the GPUs of one vendor, the first with any."""
    if any(vendor.name not in answers for vendor in VENDORS if vendor not in GPU_VENDORS):
        return False
    if gpu_vendor is not None:
        return gpu_vendor in answers
    for vendor in GPU_VENDORS:
        if vendor.name not in answers:
            return False
        if _has_discrete(select(vendor, answers[vendor.name].devices, environ).devices):
            return True
    return True


def usual_deadline_s(environ: Mapping[str, str]) -> float:
    """How long the devices may take to answer; drivers of large machines may need more than the default."""
    text = environ.get(DEADLINE_VARIABLE)
    if not text:
        return DEADLINE_S
    try:
        wanted = float(text)
    except ValueError:
        wanted = -1.0
    if not 0 < wanted <= 3600:
        raise ValueError(
            f"{DEADLINE_VARIABLE}={text} is not a number of seconds above 0 and up to 3600. Write 30, or unset it."
        )
    return wanted


def unknown_detection(reason: str, *, gpu_vendor: str | None = None) -> Detection:
    """The detection if the asking process itself gives no answer, e.g. "the prober has not answered for 11 s"."""
    late = f"unknown: {reason.removesuffix('.')}"
    findings = [vendor.finding(reason=f"{late}.", errors=[late], asked=True, late=True) for vendor in VENDORS]
    return Detection(findings, gpu_vendor=None if gpu_vendor is None else _gpu_vendor_named(gpu_vendor))


class _Inquiry:
    """All questions of one detection, asked at once."""

    def __init__(self, machine: Machine, deadline_s: float, clock: Callable[[], float]) -> None:
        self._deadline_s = deadline_s
        self._left_s = deadline_s
        self._clock = clock
        self._came = threading.Condition()
        self._answers: dict[str, Finding] = {}
        self._asked: dict[str, _Question] = {}
        pci = scan_pci(machine)
        for vendor in VENDORS:
            if vendor.signs(machine, pci):
                self._asked[vendor.name] = _Question(vendor, machine, pci, self._answered)
            else:
                nothing = f"nothing of {' or '.join(vendor.looked_for)} on this machine."
                self._answers[vendor.name] = vendor.finding(reason=nothing)
        for question in self._asked.values():
            question.thread.start()

    def _answered(self, finding: Finding) -> None:
        with self._came:
            self._answers[finding.vendor] = finding
            self._came.notify_all()

    def wait(self, enough: Callable[[Mapping[str, Finding]], bool]) -> bool:
        """Wait until all have answered or the time is over; True if the answers were `enough` before all had come."""
        with self._came:
            before = self._clock()
            while len(self._answers) < len(VENDORS) and self._left_s > 0:
                if enough(self._answers):
                    return True
                self._came.wait(min(self._left_s, _LOOK_S))
                now = self._clock()
                self._left_s -= min(now - before, 2 * _LOOK_S)
                before = now
        return False

    def findings(self, *, late: bool) -> list[Finding]:
        """The findings in the order of VENDORS; a vendor without an answer is `late`, or was not waited for."""
        with self._came:
            answers = dict(self._answers)
        for name, question in self._asked.items():
            if name not in answers:
                answers[name] = question.late(self._deadline_s) if late else question.not_awaited()
        return [answers[vendor.name] for vendor in VENDORS]


class _Question:
    """One vendor's running probe, and the call that it is in."""

    def __init__(
        self, vendor: Vendor, machine: Machine, pci: Sequence[PciDevice], then: Callable[[Finding], None]
    ) -> None:
        self.vendor = vendor
        self._machine = machine
        self._pci = pci
        self._then = then
        self._step = "its probe"
        # A daemon, since a call into a driver that hangs cannot be ended from here.
        self.thread = threading.Thread(target=self._ask, name=f"nbaccel probe {vendor.name}", daemon=True)

    def _say(self, step: str) -> None:
        self._step = step

    def _ask(self) -> None:
        try:
            finding = self.vendor.probe(self._machine, self._pci, self._say)
        except Exception as error:  # a vendor's library: its errors share no class
            said = f"{self._step}: {type(error).__name__}: {error}"
            finding = self.vendor.finding(reason=f"asking failed at {said}.", errors=[said])
        self._then(replace(finding, asked=True))

    def late(self, deadline_s: float) -> Finding:
        late = f"unknown: {self._step} has not answered for {deadline_s:g} s"
        advice = "The driver may hang: look at dmesg. What hangs can be ended only with its process, or by a reboot."
        return self.vendor.finding(reason=f"{late}.", errors=[late], advice=advice, asked=True, late=True)

    def not_awaited(self) -> Finding:
        """The finding of a vendor whose devices would not be offered, so that the node begins without its answer."""
        return self.vendor.finding(reason="it is being asked; a node does not wait for GPUs that it will not offer.")


def choose_gpu_vendor(detection: Detection, environ: Mapping[str, str], wanted: str | None = None) -> str | None:
    """The vendor whose devices are `GPU`: the requested one, else the first with a usable discrete device.

    If there is no such device, a visible-devices variable that the user has set names the vendor.
    """
    if wanted is not None:
        return _gpu_vendor_named(wanted)
    usable = [vendor for vendor in GPU_VENDORS if _has_discrete(detection.finding(vendor.name).devices)]
    for vendor in usable:
        left = select(vendor, detection.finding(vendor.name).devices, environ)
        if _has_discrete(left.devices):
            return vendor.name
    if usable:
        return usable[0].name
    named = [vendor.name for vendor in GPU_VENDORS if any(one.picks for one in filters_of(vendor, environ))]
    return named[0] if named else None


def _gpu_vendor_named(name: str) -> str:
    known = ", ".join(one.name for one in GPU_VENDORS)
    try:
        vendor = vendor_of(name)
    except ValueError:
        raise ValueError(f"gpu_vendor={name!r} is no maker of GPUs that is known. Give one of {known}.") from None
    if vendor not in GPU_VENDORS:
        raise ValueError(
            f"gpu_vendor={name!r} does not make GPUs: {vendor.family} devices are the resource {vendor.resource!r}. "
            f"Give one of {known}, and ask for the others with resources={{{vendor.resource!r}: 1}}."
        )
    return vendor.name


def _has_discrete(devices: Sequence[Device]) -> bool:
    return any(not device.integrated and device.unavailable is None for device in devices)


def usable_devices(vendor: Vendor, selection: Selection, gpu_vendor: str | None) -> list[Device]:
    """The selected devices that a node can offer; integrated ones only if the vendor has no others."""
    if vendor in GPU_VENDORS and vendor.name != gpu_vendor:
        return []
    able = [device for device in selection.devices if device.unavailable is None]
    discrete = [device for device in able if not device.integrated]
    return discrete or able


def _mark_offered(finding: Finding, gpu_vendor: str | None, environ: Mapping[str, str]) -> None:
    vendor = vendor_of(finding.vendor)
    selection = select(vendor, finding.devices, environ)
    offered = {id(device) for device in usable_devices(vendor, selection, gpu_vendor)}
    finding.restricted_by = selection.words()
    finding.errors += [problem for problem in selection.problems if problem not in finding.errors]
    if finding.devices and not selection.devices:
        finding.advice = (
            finding.advice or f"Unset or widen {selection.filters[0].variable} before starting, to use them."
        )
    count = len(finding.devices)
    finding.devices = [replace(one, offered=id(one) in offered, host_count=count) for one in finding.devices]
