"""What the head's nodes have: the devices that were found or asked for, their leases, and what a task gets of them.

```
  begin ── signs of hardware? ── no ──► node is known at once
                    └── yes ──► prober ── Found ──► node is known (or its deadline passes)
```
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any

from nbaccel import accelerators
from nbaccel.accelerators import Detection, Device, DeviceKind, NodeDevices
from nbaccel.local_engine import leases, prober
from nbaccel.local_engine.device_looks import DeviceLooks
from nbaccel.local_engine.ids import random_id
from nbaccel.local_engine.roles import Role
from nbaccel.scheduling.events import (
    UNIT,
    AssignmentRefused,
    DeviceChanged,
    DeviceSpec,
    NodeAdded,
    NodeSpec,
    PrestartAsked,
)

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head
    from nbaccel.scheduling.commands import SendTask

DEADLINE_S = 10.0
LOOK_AGAIN_S = 0.5  # at a device that another head holds, while somebody waits for it
Assigned = dict[str, list[tuple[int, int]]]


class NodeSetup:
    """Nodes, their devices, and leases on those that are real."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.node_id = random_id()
        self.detection: Detection | None = None
        self.devices: dict[bytes, NodeDevices] = {}
        self.specs: dict[bytes, NodeSpec] = {}
        self.gone: dict[bytes, str] = {}
        self.metrics: dict[str, dict[str, Any]] = {}  # lease key -> newest metrics
        self.leases = leases.Leases(title=head.config.title or "nbaccel")
        self.prober = Role(head, "prober", "", decode=prober.decode_report, on_report=self._reported)
        self.looks = DeviceLooks(head)
        self._watched: set[tuple[bytes, str, int]] = set()
        self._machine = accelerators.RealMachine()
        self.options = head.config.options

    # ---- finding

    def begin(self) -> None:
        """Find out what this machine has; `Head.ready` follows."""
        simulate = self._text("simulate")
        try:
            signs = [] if simulate else accelerators.evidence(self._machine)
            if not signs:
                self._know(
                    accelerators.detect(
                        self._machine, gpu_vendor=self._text("gpu_vendor"), simulate=simulate, deadline_s=DEADLINE_S
                    )
                )
                return
        except ValueError as error:
            self._head.refuse_start(str(error))
            return
        self.prober.say(prober.encode(prober.Detect(self._text("gpu_vendor"), simulate, DEADLINE_S)))
        self._head.poll.at(time.monotonic() + DEADLINE_S + 1.0, self._prober_is_late)

    def _text(self, name: str) -> str | None:
        value = self.options.get(name)
        return str(value) if value else None

    def _reported(self, report: Any) -> None:
        if type(report) is prober.Measured:
            self._measured(report.metrics)
        elif type(report) is prober.Looked:
            self.looks.came(report)
        elif self.detection is None:
            if report.error:
                self._head.refuse_start(report.error)
            else:
                self._know(Detection.from_json(report.detection))

    def _prober_is_late(self) -> None:
        """The prober itself hangs: go on with what the user asked for."""
        if self.detection is None:
            self._head.note(f"the prober has not answered for {DEADLINE_S + 1:g} s; devices are unknown")
            self._know(accelerators.detect(self._machine, simulate="none"))

    def _know(self, detection: Detection) -> None:
        self.detection = detection
        resources: Any = self.options.get("resources") or {}
        num_gpus: Any = self.options.get("num_gpus")
        try:
            offered = accelerators.resolve_resources(
                detection,
                num_gpus=num_gpus,
                resources=resources,
                gpu_vendor=self._text("gpu_vendor"),
                environ=self._machine.environ,
            )
        except ValueError as error:
            self._head.refuse_start(str(error))
            return
        spec = self._head_spec(offered, resources)
        self.add(spec, offered)
        self._head.ready()
        self._head.questions.reasons.first_look()
        self._head.intake.welcome_waiting()
        for note in offered.notes:
            self._head.warn_all("devices", note)

    def _head_spec(self, offered: NodeDevices, resources: dict[str, float]) -> NodeSpec:
        num_cpus: Any = self.options.get("num_cpus")
        totals = {name: _units(amount) for name, amount in resources.items() if name not in offered.devices}
        totals |= {name: _units(amount) for name, amount in offered.resources.items()}
        totals["CPU"] = _units(num_cpus if num_cpus is not None else usable_cpus())
        totals["memory"] = _units(_memory_bytes())
        totals["object_store_memory"] = _units(self._head.config.arena_bytes)
        totals["node:127.0.0.1"] = UNIT
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
        self._note_leases_of_others(spec.node_id)

    def remove(self, node_id: bytes, why: str) -> None:
        self.gone[node_id] = why

    # ---- assigning

    def ids(self, node_id: bytes, assigned: Assigned) -> dict[str, list[str]]:
        """Device ids by resource, in device order."""
        return {
            resource: [self.device(node_id, resource, index).id for index, _amount in sorted(slots)]
            for resource, slots in assigned.items()
        }

    def device(self, node_id: bytes, resource: str, index: int) -> Device:
        return self.devices[node_id].devices[resource][index]

    def environment(self, node_id: bytes, assigned: Assigned, hide: bool) -> dict[str, str | None]:
        """Variables that give a task its devices; with `hide`, also those that hide all others."""
        offered = self.devices[node_id]
        environ = os.environ
        variables: dict[str, str | None] = accelerators.hidden_environment(offered, environ) if hide else {}
        for resource, slots in assigned.items():
            devices = [offered.devices[resource][index] for index, _amount in sorted(slots)]
            own = accelerators.environment_for(devices, environ, node_device_count=len(offered.devices[resource]))
            variables.update(own)
        return variables

    # ---- leases

    def lease(self, command: SendTask) -> bool:
        """Take leases on the real devices of an assignment; False when another head was faster (the scheduler
        is told).
        """
        taken: list[tuple[str, int]] = []
        for resource, slots in command.devices.items():
            for index, amount in slots:
                device = self.device(command.node_id, resource, index)
                if device.kind is not DeviceKind.REAL:
                    continue
                holder = self.leases.take(device.lease_key, amount)
                if holder is None:
                    taken.append((device.lease_key, amount))
                    continue
                for key, taken_amount in taken:
                    self.leases.release(key, taken_amount)
                free = UNIT - sum(other.amount for other in self.leases.held_by_others(device.lease_key))
                self._watch(command.node_id, resource, index)
                self._head.handle(AssignmentRefused(command.task.task_id, resource, index, max(free, 0), str(holder)))
                return False
        return True

    def release(self, node_id: bytes, assigned: Assigned) -> None:
        for resource, slots in assigned.items():
            for index, amount in slots:
                device = self.device(node_id, resource, index)
                if device.kind is DeviceKind.REAL:
                    self.leases.release(device.lease_key, amount)

    def leases_back(self) -> None:
        self.leases.release_all()

    def _note_leases_of_others(self, node_id: bytes) -> None:
        for resource, devices in self.devices[node_id].devices.items():
            for device in devices:
                if device.kind is DeviceKind.REAL and self.leases.held_by_others(device.lease_key):
                    self._watch(node_id, resource, device.index)
                    self._look(node_id, resource, device.index)

    def _watch(self, node_id: bytes, resource: str, index: int) -> None:
        """Look again from time to time until the device is all ours."""
        key = (node_id, resource, index)
        if key not in self._watched:
            self._watched.add(key)
            self._look_later(key)

    def _look_later(self, key: tuple[bytes, str, int]) -> None:
        self._head.poll.at(time.monotonic() + LOOK_AGAIN_S, lambda: self._look_again(key))

    def _look_again(self, key: tuple[bytes, str, int]) -> None:
        if self._look(*key):
            self._look_later(key)
        else:
            self._watched.discard(key)

    def _look(self, node_id: bytes, resource: str, index: int) -> bool:
        """Tell the scheduler what others leave us of a device; whether they hold any of it."""
        device = self.device(node_id, resource, index)
        others = self.leases.held_by_others(device.lease_key)
        free = max(UNIT - sum(other.amount for other in others), 0)
        reason = "held by " + " and ".join(str(other) for other in others) if others else ""
        self._head.handle(DeviceChanged(node_id, resource, index, free, reason))
        return bool(others)

    # ---- measuring

    def measure(self, on: bool) -> None:
        """Have the real devices measured once a second, or no longer."""
        devices = self._real_devices() if on else []
        if devices or self.prober.running:
            self.prober.say(prober.encode(prober.Sample([device.to_dict() for device in devices])))

    def _real_devices(self) -> list[Device]:
        node = self.devices.get(self.node_id)
        offered = [device for devices in node.devices.values() for device in devices] if node else []
        return [device for device in offered if device.kind is DeviceKind.REAL]

    def _measured(self, metrics: list[dict[str, Any]]) -> None:
        for device, facts in zip(self._real_devices(), metrics, strict=False):
            before = self.metrics.get(device.lease_key, {})
            self.metrics[device.lease_key] = facts
            lost = facts.get("lost")
            if lost and not before.get("lost"):
                self._head.watchers.alert("device", f"{device.name or device.id} is lost: {lost}", device=device.id)
                self._head.handle(DeviceChanged(self.node_id, device.resource, device.index, 0, f"lost: {lost}"))
        self._head.watchers.changed()


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
