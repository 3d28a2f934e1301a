"""Device memory that a process keeps after its task: measured before another task gets the device, and reported.

```
  Done ── the worker's own report (torch, cupy, JAX) ──┬─► under the threshold ─► the worker goes on
     └─── else one look before and one after the task ─┘
     └─── else unknown, with the reason                └─► above it ─► the worker is retired, an alert says why
```
A worker that ends after its task anyway (max_calls=1, the default on devices) leaves nothing and is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.device_memory import DEFAULT_THRESHOLD_BYTES
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.records import entry_of
from nbaccel.quantities import UNIT
from nbaccel.scheduling.terms import Task, TaskKind
from nbaccel.views import wording

if TYPE_CHECKING:
    from nbaccel.local_engine.head.audience import Audience
    from nbaccel.local_engine.head.devices.device_looks import Look
    from nbaccel.local_engine.head.devices.nodes import Nodes
    from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess
    from nbaccel.scheduling.commands import SendTasks
    from nbaccel.scheduling.scheduler import Scheduler

THRESHOLD_SHARE = 0.02  # of a device's memory, seen from outside: drivers and libraries keep more on larger devices
CONTEXT_BYTES = 768 << 20  # a driver's context for a process; from outside it looks like the task's own memory
LITTLE_SHARE = 0.25  # a whole device that was used to no more than this could have been shared
MOST_HINTS = 1_000
Then = Callable[[str], None]  # called with why the worker must end, "" when it may go on


class Before(NamedTuple):
    """How full a device was before a process first used it, and who used it."""

    used_bytes: int | None
    pids: frozenset[int]


class Leftovers:
    """Judges each task's end by the device memory that its process keeps."""

    def __init__(
        self, nodes: Nodes, look: Look, scheduler: Scheduler, audience: Audience, threshold_bytes: int | None
    ) -> None:
        self._nodes = nodes
        self._look = look
        self._scheduler = scheduler
        self._audience = audience
        self._threshold_bytes = threshold_bytes  # None: the default for such devices
        self._before: dict[bytes, dict[str, Before]] = {}  # worker -> device -> its state before
        self._hinted: set[bytes] = set()

    # --- before ---------------------------------------------------------------------------------------------------

    def look_first(self, command: SendTasks, then: Callable[[], None]) -> bool:
        """Measure the devices before this task starts, then call `then`. False if no measurement is needed."""
        task = command.task
        if task.kind is not TaskKind.TASK or task.terms.max_calls == 1 or command.worker_id in self._before:
            return False
        devices = self._nodes.assigned_real(command.node_id, command.devices)
        if not devices:
            return False

        def seen(metrics: list[DeviceReading] | None) -> None:
            try:
                pairs = zip(devices, metrics or [], strict=False)
                self._before[command.worker_id] = {device.lease_key: _before(each) for device, each in pairs}
            finally:  # the task waits for it
                then()

        self._look(devices, seen)
        return True

    def worker_gone(self, worker_id: bytes) -> None:
        self._before.pop(worker_id, None)

    # --- after ----------------------------------------------------------------------------------------------------

    def judge(self, worker: WorkerProcess, record: Any, done: wire.Done, then: Then) -> None:
        """Call `then` with the verdict: at once if the worker has reported its memory, else after a measurement."""
        task: Task = record.task
        hold = record.hold
        if hold is None or not hold.parts:
            then("")
            return
        entry = entry_of(task)
        node_id, devices = hold.place.node_id, self._nodes.assigned(hold.place.node_id, hold.devices)
        if done.peak >= 0:
            entry.peak_memory = done.peak
            self._hint(entry, devices, hold.parts, done.peak)
        if task.kind is not TaskKind.TASK or task.terms.max_calls == 1:
            then("")
        elif done.memory >= 0:
            exact = done.memory, DEFAULT_THRESHOLD_BYTES * len(devices), done.memory_why
            then(self._verdict(task, entry, worker, devices, *exact))
        elif not (real := self._nodes.assigned_real(node_id, hold.devices)):
            then("")  # simulated or only counted: it has no memory
        elif self._shared(node_id, real, record):
            then("")  # nothing tells whose memory it is
        else:
            self._look(real, lambda seen: then(self._compare(task, entry, worker, real, seen)))

    def _compare(
        self, task: Task, entry: TaskEntry, worker: WorkerProcess, devices: list[Device],
        after: list[DeviceReading] | None,
    ) -> str:  # fmt: skip
        """The verdict from two readings of the devices; "" where they cannot tell."""
        if after is None:
            return ""  # the devices have not answered in time
        before = self._before.get(worker.worker_id, {})
        kept = 0
        for device, metrics in zip(devices, after, strict=False):
            was, now = before.get(device.lease_key), _before(metrics)
            if was is None or was.used_bytes is None or now.used_bytes is None:
                return ""
            if len(now.pids - was.pids) > 1:
                return ""  # another process has begun to use the device meanwhile
            kept += max(0, now.used_bytes - was.used_bytes - CONTEXT_BYTES)
        cause = "memory that a library in its process has not freed, as most do only when their process ends"
        total = sum(device.memory_bytes or 0 for device in devices)
        threshold = max(DEFAULT_THRESHOLD_BYTES * len(devices), int(total * THRESHOLD_SHARE))
        return self._verdict(task, entry, worker, devices, kept, threshold, cause)

    def _verdict(
        self, task: Task, entry: TaskEntry, worker: WorkerProcess, devices: list[Device], kept: int, usual: int,
        cause: str,
    ) -> str:  # fmt: skip
        """The verdict on so many bytes kept; `usual` is the threshold where the user has named none."""
        if kept <= (usual if self._threshold_bytes is None else self._threshold_bytes):
            return ""
        names = " and ".join(f"{device.resource} {device.id}" for device in devices)
        size = wording.size(kept)
        self._alert(task, entry, worker, devices, f"{size} of the memory of {names}", cause)
        return f"it kept {size} of {names} after {task.name}"

    def _alert(
        self, task: Task, entry: TaskEntry, worker: WorkerProcess, devices: list[Device], what: str, cause: str
    ) -> None:
        terms = entry.terms
        subject = f"{task.name} (cell {task.terms.cell_in_words})" if task.terms.cell_in_words else task.name
        message = (
            f"{subject} ended, but its process (pid {worker.pid}) kept {what}: {cause}. The process is replaced before "
            "the next task gets the device. Leave out max_calls=0, or keep data that is to stay in an actor."
        )
        where = {"device": devices[0].id, "node_id": self._nodes.node_id.hex()}  # which has all real devices
        self._audience.alert("leak", message, task_id=task.task_id.hex(), **where)
        self._audience.notice(task.job, wire.NoticeMessage("leak", message, terms.cell, terms.parent))

    # --- hints ----------------------------------------------------------------------------------------------------

    def _hint(self, entry: TaskEntry, devices: list[Device], parts: Any, peak: int) -> None:
        """Suggest a fraction to a function that holds a whole device and uses little of it; once for each function."""
        terms = entry.terms
        total = sum(device.memory_bytes or 0 for device in devices)
        whole = all(amount == UNIT for _device, amount in parts)
        known = all(device.memory_bytes for device in devices)
        if not (whole and known and 0 < peak <= LITTLE_SHARE * total) or terms.function_key in self._hinted:
            return
        if len(self._hinted) >= MOST_HINTS:
            self._hinted.clear()
        self._hinted.add(terms.function_key)
        asks = f"{wording.amount(len(devices))} {devices[0].resource}"
        entry.hint = (
            f"{terms.name} held {asks} ({wording.size(total)}) and used {wording.size(peak)} of it at most: "
            f"gpu_memory={_rounded(peak)!r} instead of whole devices would let others run beside it."
        )
        notice = wire.NoticeMessage("hint", entry.hint, terms.cell, terms.parent)
        self._audience.notice(entry.terms.job, notice)

    # --- devices --------------------------------------------------------------------------------------------------

    def _shared(self, node_id: bytes, devices: list[Device], record: Any) -> bool:
        places = {(device.resource, device.index) for device in devices}
        rows = self._scheduler.device_holders(node_id)
        return any((row.resource, row.index) in places and row.held_by is not record for row in rows)


def _before(metrics: DeviceReading) -> Before:
    return Before(metrics.memory_used_bytes, frozenset(pid for pid, _size in metrics.processes or ()))


def _rounded(size_bytes: int) -> str:
    """A size to request that is surely enough: a quarter more, in whole GiB or in steps of 256 MiB."""
    wanted = size_bytes * 5 // 4
    if wanted > 1 << 30:
        return f"{-(-wanted // (1 << 30))}GiB"
    return f"{-(-wanted // (256 << 20)) * 256}MiB"
