"""What the head's nodes have: the devices that were found or asked for.

```
  begin ── signs of hardware? ── no ──► node is known at once
                    └── yes ──► prober ── Found ──► node is known (or its deadline passes)
                                   └───── Found ──► what the node did not wait for is listed too
```
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any

from nbaccel import accelerators
from nbaccel.accelerators import Detection, Device, NodeDevices, report
from nbaccel.host_address import host_address
from nbaccel.local_engine.head.devices.device_leases import Assigned, DeviceLeases, Key
from nbaccel.local_engine.head.devices.device_looks import DeviceLooks
from nbaccel.local_engine.head.devices.device_watch import DeviceWatch
from nbaccel.local_engine.side_processes import prober
from nbaccel.local_engine.wire.ids import random_id
from nbaccel.scheduling.events import UNIT, DeviceChanged, DeviceSpec, NodeAdded, NodeSpec, PrestartAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head

GRACE_S = 1.0  # the prober's own answer says which vendor is late: it comes first
MOST_DEATHS = 3  # of a prober that dies whenever it asks


class NodeSetup:
    """Nodes and their devices."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.node_id = random_id()
        self.address = host_address()
        self.detection: Detection | None = None
        self.devices: dict[bytes, NodeDevices] = {}
        self.specs: dict[bytes, NodeSpec] = {}
        self.gone: dict[bytes, str] = {}
        self.prober = head.side_processes.make("prober", "", decode=prober.decode_report, on_report=self._reported)
        self.prober.on_restart = self._prober_died
        self.looks = DeviceLooks(head)
        self.watch = DeviceWatch(head)
        self.lending = DeviceLeases(head)
        self._machine = accelerators.RealMachine()
        self._deadline_s = 0.0
        self._prober_deaths = 0
        self.options = head.config.options

    # ---- finding

    def begin(self) -> None:
        """Find out what this machine has; `Head.ready` follows."""
        simulate = self._text("simulate")
        try:
            self._deadline_s = accelerators.usual_deadline_s(self._machine.environ)
            signs = [] if simulate else accelerators.evidence(self._machine)
            if not signs:
                self._know(accelerators.detect(self._machine, gpu_vendor=self._text("gpu_vendor"), simulate=simulate))
                return
        except ValueError as error:
            self._head.refuse_start(str(error))
            return
        self._ask_prober()
        self._head.poll.at(time.monotonic() + self._deadline_s + GRACE_S, self._prober_is_late)

    def _ask_prober(self) -> None:
        self.prober.say(prober.encode(prober.Detect(self._text("gpu_vendor"), self._deadline_s)))

    def _text(self, name: str) -> str | None:
        value = self.options.get(name)
        return str(value) if value else None

    def _reported(self, report: Any) -> None:
        if type(report) is prober.Measured:
            self.watch.measured(report)
        elif type(report) is prober.Looked:
            self.looks.came(report)
        elif report.error:
            if self.detection is None:
                self._head.refuse_start(report.error)
        elif self.detection is None:
            self._know(Detection.from_json(report.detection))
        else:
            self.detection = Detection.from_json(report.detection)
            self._head.watchers.changed()

    def _prober_is_late(self) -> None:
        """The prober itself hangs: go on with what the user asked for."""
        self._give_up(f"the process that asks the devices has not answered for {self._deadline_s + GRACE_S:g} s")

    def _prober_died(self) -> None:
        """A new one has been started: it is told what to do."""
        if self.detection is not None:
            self.watch.prober_died()
            return
        self._prober_deaths += 1
        if self._prober_deaths < MOST_DEATHS:
            self._ask_prober()
        else:
            self._give_up(f"the process that asks the devices has died {self._prober_deaths} times while it did")

    def _give_up(self, why: str) -> None:
        if self.detection is None:
            self._head.note(f"{why}; which devices are here is unknown")
            self._know(accelerators.unknown_detection(why, gpu_vendor=self._text("gpu_vendor")))

    def _know(self, detection: Detection) -> None:
        self.detection = detection
        resources: Any = self.options.get("resources") or {}
        try:
            offered = self._resolve(detection, resources)
        except ValueError as error:
            self._head.refuse_start(str(error))
            return
        spec = self._head_spec(offered, resources)
        spec.absent = report.absent(detection, offered)
        self.add(spec, offered)
        self._head.ready()
        if self.watch.wanted:
            self.watch.begin()
        self._head.questions.reasons.first_look()
        for note in [*offered.notes, *_unknown(detection)]:
            self._head.note(note)
            self._head.warn_all("devices", note)

    def _resolve(self, detection: Detection, resources: dict[str, float]) -> NodeDevices:
        num_gpus: Any = self.options.get("num_gpus")
        return accelerators.resolve_resources(
            detection,
            num_gpus=num_gpus,
            resources=resources,
            gpu_vendor=self._text("gpu_vendor"),
            environ=self._machine.environ,
        )

    def _head_spec(self, offered: NodeDevices, resources: dict[str, float]) -> NodeSpec:
        num_cpus: Any = self.options.get("num_cpus")
        totals = {name: _units(amount) for name, amount in resources.items() if name not in offered.devices}
        totals |= {name: _units(amount) for name, amount in offered.resources.items()}
        totals["CPU"] = _units(num_cpus if num_cpus is not None else usable_cpus())
        memory: Any = self.options.get("memory")
        totals["memory"] = _units(_memory_bytes() if memory is None else memory)
        totals["object_store_memory"] = _units(self._head.config.arena_bytes)
        totals[f"node:{self.address}"] = UNIT
        totals["node:__internal_head__"] = UNIT
        labels: Any = self.options.get("labels") or {}
        name = socket.gethostname()
        return NodeSpec(
            self.node_id,
            name,
            totals,
            device_specs(offered),
            {"ray.io/node-id": self.node_id.hex(), **offered.labels, **labels},
            True,
        )

    def add(self, spec: NodeSpec, offered: NodeDevices) -> None:
        """A node joins: the head's own, or a virtual one."""
        self.devices[spec.node_id] = offered
        self.specs[spec.node_id] = spec
        self._head.handle(NodeAdded(spec))
        if spec.is_head:
            self._head.handle(PrestartAsked())
        self.lending.begin(spec.node_id)

    def remove(self, node_id: bytes, why: str) -> None:
        self.gone[node_id] = why

    # ---- assigned devices

    def ids(self, node_id: bytes, assigned: Assigned) -> dict[str, list[str]]:
        """Device ids by resource, in device order."""
        return {
            resource: [self.device(node_id, resource, index).id for index, _amount in sorted(slots)]
            for resource, slots in assigned.items()
        }

    def device(self, node_id: bytes, resource: str, index: int) -> Device:
        return self.devices[node_id].devices[resource][index]

    def tell(self, key: Key) -> None:
        """Tell the scheduler what can be had of a real device, and why it is not all."""
        node_id, resource, index = key
        device = self.device(node_id, resource, index)
        lost = self.watch.lost.get(device.lease_key)
        if lost is not None:
            self._head.handle(DeviceChanged(node_id, resource, index, 0, f"lost: {lost}", True))
            return
        free, reason = self.lending.left(device)
        self._head.handle(DeviceChanged(node_id, resource, index, free, reason))


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
    """What a person has to know of vendors that gave no answer."""
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
