"""The nodes of one head, and the devices that were found or requested for each.

```
  begin ── signs of hardware? ── no ──► node is known at once
                    └── yes ──► prober ── Found ──► node is known (or its deadline passes)
                                   └───── Found ──► what the node did not wait for is listed too
```
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbaccel import accelerators
from nbaccel.accelerators import Detection, Device, DeviceKind, NodeDevices, report
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.poll import LoopTimers, Note
from nbaccel.local_engine.head.side_process import Helper
from nbaccel.local_engine.side_processes import prober
from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer
from nbaccel.local_engine.wire.ids import random_id
from nbaccel.proc import host_address
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import DeviceSpec, NodeAdded, NodeSpec, PrestartAsked

Assigned = dict[str, list[tuple[int, int]]]  # resource -> (index of the device, amount)
Key = tuple[bytes, str, int]  # node, resource, index


class Nodes:
    """The head's own node, and the virtual ones."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self.node_id = random_id()  # the head's own
        self.address = host_address()
        self.detection: Detection | None = None  # None until the devices of this machine are known
        self.devices: dict[bytes, NodeDevices] = {}
        self.specs: dict[bytes, NodeSpec] = {}
        self.gone: dict[bytes, str] = {}  # why

    def add(self, spec: NodeSpec, offered: NodeDevices) -> None:
        """Add a node."""
        self.devices[spec.node_id] = offered
        self.specs[spec.node_id] = spec
        self._notify(NodeAdded(spec))
        if spec.is_head:
            self._notify(PrestartAsked())

    def remove(self, node_id: bytes, why: str) -> None:
        self.gone[node_id] = why

    def ids(self, node_id: bytes, assigned: Assigned) -> dict[str, list[str]]:
        """Device ids by resource, in device order."""
        return {
            resource: [self.device(node_id, resource, index).id for index, _amount in sorted(slots)]
            for resource, slots in assigned.items()
        }

    def device(self, node_id: bytes, resource: str, index: int) -> Device:
        return self.devices[node_id].devices[resource][index]

    def assigned(self, node_id: bytes, assigned: Assigned) -> list[Device]:
        """The devices that an assignment names."""
        return [self.device(node_id, name, index) for name, slots in assigned.items() for index, _amount in slots]

    def assigned_real(self, node_id: bytes, assigned: Assigned) -> list[Device]:
        """The real devices among those that an assignment names."""
        return [device for device in self.assigned(node_id, assigned) if device.kind is DeviceKind.REAL]

    def lanes(self) -> Iterator[tuple[str, str, str]]:
        """Node, resource and id of each device of the living nodes."""
        for node_id, offered in self.devices.items():
            if node_id not in self.gone:
                for resource, devices in offered.devices.items():
                    yield from ((node_id.hex(), resource, device.id) for device in devices)

    def real(self) -> list[Device]:
        """The real devices of this machine that the head offers."""
        node = self.devices.get(self.node_id)
        offered = [device for devices in node.devices.values() for device in devices] if node else []
        return [device for device in offered if device.kind is DeviceKind.REAL]


GRACE_S = 5.0  # the prober starts first, and its own answer, which says which vendor is late, is to come before ours
MOST_DEATHS = 3  # of a prober that dies whenever it asks


class NodeSetup:
    """Detects this machine's devices and creates the head's own node with them."""

    def __init__(
        self,
        timers: LoopTimers,
        nodes: Nodes,
        prober: Helper,
        options: Mapping[str, object],
        note: Note,
        *,
        arena_bytes: int,
        known: Callable[[], None],
        refuse: Callable[[str], None],
        warn: Callable[[str, str], None],
    ) -> None:
        self._timers = timers
        self._nodes = nodes
        self._prober = prober
        self._options = options
        self._note = note
        self._arena_bytes = arena_bytes
        self._known = known  # the node has joined
        self._refuse = refuse  # the user's request cannot be met
        self._warn = warn  # kind and words of something that a person has to know
        self._machine = accelerators.RealMachine()
        self._deadline_s = 0.0
        self._prober_deaths = 0

    # ---- finding

    def begin(self) -> None:
        """Start the detection; `known` is called when the node can begin."""
        simulate = self._text("simulate")
        try:
            self._deadline_s = accelerators.usual_deadline_s(self._machine.environ)
            signs = [] if simulate else accelerators.evidence(self._machine)
            if not signs:
                self._know(accelerators.detect(self._machine, gpu_vendor=self._text("gpu_vendor"), simulate=simulate))
                return
        except ValueError as error:
            self._refuse(str(error))
            return
        self._ask_prober()
        patience_s = self._deadline_s + GRACE_S
        self._wait_for_prober(StallTimer(patience_s, self._timers.now(), lambda: self._prober_deaths))

    def _ask_prober(self) -> None:
        self._prober.send(prober.encode(prober.Detect(self._text("gpu_vendor"), self._deadline_s)))

    def _text(self, name: str) -> str | None:
        value = self._options.get(name)
        return str(value) if value else None

    def found(self, report: prober.Found) -> None:
        """Take the prober's answer about devices."""
        if report.error:
            if self._nodes.detection is None:
                self._refuse(report.error)
        elif self._nodes.detection is None:
            self._know(Detection.from_json(report.detection))
        else:
            self._nodes.detection = Detection.from_json(report.detection)

    def _wait_for_prober(self, stall: StallTimer) -> None:
        """Go on with the quantities that the user asked for when the prober itself hangs.

        The prober counts its time in looks, so that a machine that stands still uses up none of it; so does this wait.
        """
        if self._nodes.detection is not None:
            return
        if stall.is_over(self._timers.now()):
            self._give_up(f"the process that asks the devices has not answered for {self._deadline_s + GRACE_S:g} s")
        else:
            self._timers.after(LONGEST_LOOK_S, lambda: self._wait_for_prober(stall))

    def prober_died(self) -> None:
        """Ask the new prober again; after MOST_DEATHS deaths, go on without an answer."""
        self._prober_deaths += 1
        if self._prober_deaths < MOST_DEATHS:
            self._ask_prober()
        else:
            self._give_up(f"the process that asks the devices has died {self._prober_deaths} times while it did")

    def _give_up(self, why: str) -> None:
        if self._nodes.detection is None:
            self._note(f"{why}; the devices of this machine are unknown")
            self._know(accelerators.unknown_detection(why, gpu_vendor=self._text("gpu_vendor")))

    def _know(self, detection: Detection) -> None:
        self._nodes.detection = detection
        try:
            offered = offered_of(detection, self._options, self._machine.environ)
        except ValueError as error:
            self._refuse(str(error))
            return
        spec = head_spec(self._nodes, offered, self._options, self._arena_bytes)
        spec.absent = report.absent(detection, offered)
        self._nodes.add(spec, offered)
        self._known()
        for note in [*offered.notes, *_unknown(detection)]:
            self._note(note)
            self._warn("devices", note)


def offered_of(detection: Detection, options: Mapping[str, object], environ: Mapping[str, str]) -> NodeDevices:
    """The devices that the head's own node offers. Raises ValueError if the user asked for devices that are missing."""
    num_gpus: Any = options.get("num_gpus")
    resources: Any = options.get("resources") or {}
    vendor = options.get("gpu_vendor")
    return accelerators.resolve_resources(
        detection, num_gpus=num_gpus, resources=resources, gpu_vendor=str(vendor) if vendor else None, environ=environ
    )


def head_spec(nodes: Nodes, offered: NodeDevices, options: Mapping[str, object], arena_bytes: int) -> NodeSpec:
    """The head's own node as the scheduler knows it."""
    num_cpus: Any = options.get("num_cpus")
    resources: Any = options.get("resources") or {}
    totals = {name: _units(amount) for name, amount in resources.items() if name not in offered.devices}
    totals |= {name: _units(amount) for name, amount in offered.resources.items()}
    totals["CPU"] = _units(num_cpus if num_cpus is not None else usable_cpus())
    memory: Any = options.get("memory")
    totals["memory"] = _units(_memory_bytes() if memory is None else memory)
    if arena_bytes:
        totals["object_store_memory"] = _units(arena_bytes)
    totals[f"node:{nodes.address}"] = UNIT
    totals["node:__internal_head__"] = UNIT
    own: Any = options.get("labels") or {}
    labels = {"ray.io/node-id": nodes.node_id.hex(), **offered.labels, **own}
    return NodeSpec(nodes.node_id, socket.gethostname(), totals, device_specs(offered), labels, True)


def device_specs(offered: NodeDevices) -> list[DeviceSpec]:
    """The scheduler's view of a node's devices."""
    return [
        DeviceSpec(
            resource,
            device.index,
            UNIT,
            device.type,
            device.parent is not None,
            device.memory_bytes,
            f"{resource} {device.id}" + (f" ({device.type})" if device.type else ""),
        )
        for resource, devices in offered.devices.items()
        for device in devices
    ]


def _unknown(detection: Detection) -> list[str]:
    """A sentence for the user about vendors that gave no answer."""
    late = [finding for finding in detection.findings if finding.late]
    if len(late) == len(detection.findings):
        return [f"Accelerators: {late[0].reason}"]
    return [f"{finding.family}: {finding.reason} {finding.advice or ''}".rstrip() for finding in late]


def _units(amount: float) -> int:
    return round(amount * UNIT)


def usable_cpus() -> int:
    """CPUs that this process may use: its affinity, cut by a container's quota."""
    count = len(os.sched_getaffinity(0))
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        if quota != "max":
            count = min(count, max(int(int(quota) / int(period)), 1))
    except (OSError, ValueError):
        pass  # no cgroup v2 here: the affinity is all there is
    return count


def _memory_bytes() -> int:
    """70 % of the machine's memory, as Ray offers it for `memory=`."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(total * 0.7)
