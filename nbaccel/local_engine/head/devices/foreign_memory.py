"""Device memory that processes outside of this cluster use; the scheduler's books do not know it.

A question never waits for the devices. The answer uses the last measurement, and the devices are measured again for the
next question.
"""

from __future__ import annotations

from collections.abc import Callable

from nbaccel import proc
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine.head.devices.device_looks import Look
from nbaccel.local_engine.head.devices.nodes import Nodes
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import wording

FOREIGN_BYTES = 512 << 20  # less than this of a device's memory is no reason for anything
LOOK_AGAIN_S = 1.0


class ForeignMemory:
    """Names the outside processes that use devices of the head's own node."""

    def __init__(
        self,
        nodes: Nodes,
        scheduler: Scheduler,
        look: Look,
        *,
        look_at_leases: Callable[[], None],
        is_ours: Callable[[int], bool],
        clock: Callable[[], float],
    ) -> None:
        self._nodes = nodes
        self._scheduler = scheduler
        self._look_at = look
        self._look_at_leases = look_at_leases
        self._is_ours = is_ours  # whether a process is one of this head's workers
        self._clock = clock
        self._seen: dict[str, DeviceReading] = {}  # device -> its memory and processes, when last looked at
        self._looked_at = 0.0

    def look(self) -> None:
        """Measure the devices again, unless that was just done."""
        now = self._clock()
        devices = self._nodes.real()
        if devices:  # other heads may have taken some since we last tried to
            self._look_at_leases()
        if not devices or now < self._looked_at + LOOK_AGAIN_S:
            return
        self._looked_at = now

        def seen(metrics: list[DeviceReading] | None) -> None:
            pairs = zip(devices, metrics or [], strict=False)
            self._seen.update((device.lease_key, each) for device, each in pairs)

        self._look_at(devices, seen)

    def of(self, resources: list[str]) -> list[str]:
        """`GPU 0 is free for us, but 70 GiB of its memory are used by pid 4711 (python)`."""
        lines = []
        free = {
            (state.spec.resource, state.spec.index): state.free_amount() >= state.amount
            for state in self._scheduler.devices(self._nodes.node_id)
        }
        for device in self._nodes.real():
            metrics = self._seen.get(device.lease_key)
            if device.resource not in resources or metrics is None:
                continue
            users = [_user(pid, size) for pid, size in metrics.processes or () if self._is_foreign(pid, size)]
            if users:
                ours = "is free for us, but" if free.get((device.resource, device.index)) else "is shared:"
                lines.append(f"{device.resource} {device.id} {ours} {' and '.join(users)}")
        return lines

    def _is_foreign(self, pid: int, size: int | None) -> bool:
        return (size or 0) >= FOREIGN_BYTES and not self._is_ours(pid)


def _user(pid: int, size: int | None) -> str:
    """The process of a pid. In a container the driver reports pids of the whole host, which may not exist here."""
    program = _program(pid)
    who = f"pid {pid} ({program})" if program else f"process {pid} outside of this container"
    return f"{wording.size(size)} of its memory are used by {who}"


def _program(pid: int) -> str:
    """The name of a process, "" when no process has this pid."""
    try:
        return proc.name(pid)
    except OSError:
        return ""
