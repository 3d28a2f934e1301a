"""Leases real devices. A device that another head holds is busy; it is checked again while a task waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbaccel.accelerators import Device, DeviceKind
from nbaccel.leases import leases
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import AssignmentRefused

if TYPE_CHECKING:
    from nbaccel.local_engine.head.audience import Audience
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.devices.nodes import Key, Nodes
    from nbaccel.local_engine.head.notes import Note
    from nbaccel.local_engine.head.poll import LoopTimers
    from nbaccel.scheduling.commands import SendTasks

LOOK_AGAIN_S = 0.5  # at a device that another head holds, while somebody waits for it


class DeviceLeases:
    """The leases of this head, and what other heads leave free of each device."""

    def __init__(
        self,
        timers: LoopTimers,
        nodes: Nodes,
        held: leases.Leases,
        tell: Tell,
        audience: Audience,
        note: Note,
        *,
        offer: Callable[[Key], None],
    ) -> None:
        self._timers = timers
        self._nodes = nodes
        self._leases = held
        self._tell = tell
        self._audience = audience
        self._note = note
        self._offer = offer  # tells the scheduler how much of a device is available
        self._of_worker: dict[bytes, list[tuple[str, int]]] = {}  # lease keys and amounts
        self._watched: set[Key] = set()
        self._told = ""

    def take(self, command: SendTasks) -> bool:
        """Lease the real devices of an assignment. False if another head was faster; the scheduler is told."""
        for resource, slots in command.devices.items():
            for index, amount in slots:
                device = self._nodes.device(command.node_id, resource, index)
                if device.kind is not DeviceKind.REAL:
                    continue
                holder = self._leases.take(device.lease_key, amount)
                if holder is not None:
                    self.release(command.worker_id)
                    self._refused(command, device, str(holder))
                    return False
                self._of_worker.setdefault(command.worker_id, []).append((device.lease_key, amount))
        self._tell_problem()
        return True

    def _refused(self, command: SendTasks, device: Device, holder: str) -> None:
        free, _reason = self.left(device)
        self.watch((command.node_id, device.resource, device.index))
        self._tell(AssignmentRefused(command.task.task_id, device.resource, device.index, free, holder))
        self._tell_problem()

    def release(self, worker_id: bytes) -> None:
        """Give back all leases of this worker. A second call does nothing."""
        self._of_worker.pop(worker_id, None)
        self._settle()

    def _settle(self) -> None:
        """Keep the leases of known workers and give back all others; a failed write is tried again later."""
        wanted: dict[str, int] = {}
        for leased in self._of_worker.values():
            for key, amount in leased:
                wanted[key] = wanted.get(key, 0) + amount
        if not self._leases.keep(wanted):
            self._timers.after(LOOK_AGAIN_S, self._settle)

    def release_all(self) -> None:
        self._leases.release_all()

    def _tell_problem(self) -> None:
        """Tell the user when leases cannot be written, because such leases protect nobody."""
        problem = self._leases.problem or ""
        if problem != self._told:
            self._told = problem
            self._note(problem)
            self._audience.alert("leases", problem)

    # ---- other heads

    def left(self, device: Device) -> tuple[int, str]:
        """How much of a device other heads leave free, and who they are: (10_000, "") when they hold nothing."""
        others = self._leases.held_by_others(device.lease_key)
        free = max(UNIT - sum(other.amount for other in others), 0)
        return free, "held by " + " and ".join(map(str, others)) if others else ""

    def begin(self, node_id: bytes) -> None:
        """Check what other heads hold of the devices of a node that has joined."""
        for resource, devices in self._nodes.devices[node_id].devices.items():
            for device in devices:
                if device.kind is DeviceKind.REAL and self.left(device)[1]:
                    key = (node_id, resource, device.index)
                    self.watch(key)
                    self._offer(key)
        self._tell_problem()

    def watch(self, key: Key) -> None:
        """Check a device every LOOK_AGAIN_S until other heads hold nothing of it."""
        if key not in self._watched:
            self._watched.add(key)
            self._look_later(key)

    def _look_later(self, key: Key) -> None:
        self._timers.after(LOOK_AGAIN_S, lambda: self._look_again(key))

    def _look_again(self, key: Key) -> None:
        if key not in self._watched:
            return
        self._look_later(key)  # first: a task may wait for the device, even if the next lines fail
        self._offer(key)
        if not self.left(self._nodes.device(*key))[1]:
            self._watched.discard(key)
