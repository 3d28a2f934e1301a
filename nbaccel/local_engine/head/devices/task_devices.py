"""A task's devices: the leases of real ones, the variables that name them, and the memory that is left on them.

Device memory that a process keeps after its task: measured before another task gets the device, and reported.
```
  Done ── the worker's own report (torch, cupy, JAX) ──┬─► under the threshold ─► the worker goes on
     └─── else one look before and one after the task ─┘
     └─── else unknown, with the reason                └─► above it ─► the worker is retired, an alert says why
```
A worker that ends after its task anyway (max_calls=1, the default on devices) leaves nothing and is not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nbaccel import accelerators, leases
from nbaccel.accelerators import Device, DeviceKind
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.device_memory import DEFAULT_THRESHOLD_BYTES
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.records import entry_of
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import AssignmentRefused
from nbaccel.scheduling.terms import Task, TaskKind, Terms
from nbaccel.views import wording

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Notify
    from nbaccel.local_engine.head.devices.device_watch import Look
    from nbaccel.local_engine.head.devices.node_devices import Assigned, Key, Nodes
    from nbaccel.local_engine.head.groups import Groups
    from nbaccel.local_engine.head.poll import LoopTimers, Note
    from nbaccel.local_engine.head.records import Environments, Job, TaskEntry, WorkerProcess
    from nbaccel.local_engine.head.watchers import Notifier
    from nbaccel.scheduling.commands import SendTasks
    from nbaccel.scheduling.scheduler import Scheduler

LOOK_AGAIN_S = 0.5  # at a device that another head holds, while somebody waits for it


class DeviceLeases:
    """The leases of this head, and what other heads leave free of each device."""

    def __init__(
        self,
        timers: LoopTimers,
        nodes: Nodes,
        held: leases.Leases,
        notify: Notify,
        notifier: Notifier,
        note: Note,
        *,
        offer: Callable[[Key], None],
    ) -> None:
        self._timers = timers
        self._nodes = nodes
        self._leases = held
        self._notify = notify
        self._notifier = notifier
        self._note = note
        self._offer = offer  # tells the scheduler how much of a device is available
        self._of_worker: dict[bytes, list[tuple[str, int]]] = {}  # lease keys and amounts
        self._watched: set[Key] = set()
        self._notified = ""

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
        self._notify_problem()
        return True

    def _refused(self, command: SendTasks, device: Device, holder: str) -> None:
        free, _reason = self.left(device)
        self.watch((command.node_id, device.resource, device.index))
        self._notify(AssignmentRefused(command.task.task_id, device.resource, device.index, free, holder))
        self._notify_problem()

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

    def _notify_problem(self) -> None:
        """Tell the user when leases cannot be written, because such leases protect nobody."""
        problem = self._leases.problem or ""
        if problem != self._notified:
            self._notified = problem
            self._note(problem)
            self._notifier.alert("leases", problem)

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
        self._notify_problem()

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


MOST_NOTIFIED = 1_000
Environment = dict[str, str | None]  # None: unset it
Ids = dict[str, list[str]]


class TaskEnvironments:
    """Computes the device variables of each task."""

    def __init__(
        self,
        nodes: Nodes,
        environments: Environments,
        jobs: Mapping[int, Job],
        groups: Groups[int],
        notifier: Notifier,
        *,
        hide: bool,
    ) -> None:
        self._nodes = nodes
        self._environments = environments
        self._jobs = jobs
        self._groups = groups
        self._notifier = notifier
        self._hide = hide  # devices from tasks that have none, where they do not say otherwise
        self._notified: set[tuple[int, str, str]] = set()

    def of(self, command: SendTasks, entry: TaskEntry) -> tuple[Ids | None, Ids | None, Environment | None]:
        """(the ids of the devices that it holds, the ids that it is told, variables); None for a task whose environment
        stays as it is.

        The two lists of ids differ if the task's runtime_env sets the variable itself.
        """
        hide = self.hides(entry.terms)
        if not command.devices and (not hide or command.task.kind is TaskKind.ACTOR_CALL):
            if not command.devices and entry.terms.choices:
                self._report_all_seen(command, entry)
            return None, None, None
        own = self._users_own(command.task.job, entry)
        ids = self._nodes.ids(command.node_id, command.devices)
        environ = self._assigned(command.node_id, command.devices, {**os.environ, **own}, hide)
        kept = {name: own[name] for name in environ if name in own}
        for name, value in kept.items():
            if value != environ[name]:
                self._report_kept(command, entry, ids, name, value)
        notified = dict(ids)
        offered = self._nodes.devices[command.node_id].devices
        for resource, slots in command.devices.items():
            devices = [offered[resource][index] for index, _amount in slots]
            variable = accelerators.variable_of(devices[0])
            if variable in kept:
                notified[resource], kept[variable] = accelerators.named_by_user(devices, kept[variable])
        return ids, notified, {**environ, **kept}

    def hides(self, terms: Terms) -> bool:
        """Whether a task is told of the devices that it does not have."""
        asked = terms.hide_unassigned
        return self._hide if asked is None else asked

    def _users_own(self, job: int, entry: TaskEntry) -> dict[str, str]:
        """The env_vars of the job's runtime_env and of the task's."""
        environments = self._environments
        own = environments.variables(self._jobs[job].hello.runtime_env)
        terms = entry.terms
        return {**own, **(environments.variables(terms.runtime_env) if terms.environment else {})}

    def _assigned(self, node_id: bytes, assigned: Assigned, environ: dict[str, str], hide: bool) -> Environment:
        offered = self._nodes.devices[node_id]
        variables: Environment = accelerators.hidden_environment(offered, environ) if hide else {}
        for resource, slots in assigned.items():
            devices = [offered.devices[resource][index] for index, _amount in sorted(slots)]
            count = len(offered.devices[resource])
            variables |= accelerators.environment_for(devices, environ, node_device_count=count)
        return variables

    def _report_kept(
        self, command: SendTasks, entry: TaskEntry, ids: dict[str, list[str]], name: str, value: str
    ) -> None:
        """Tell the user, once for each function and variable, that their value stays and may name another device."""
        if self._was_notified((entry.terms.number, name, value)):
            return
        given = wording.device_ids(ids) or "no device"
        message = (
            f"{command.task.name} was given {given}, but runs with {name}={value}, as its runtime_env says. "
            f"Leave {name} out of env_vars to run on what was given."
        )
        self._notice(command, entry, message)

    def _report_all_seen(self, command: SendTasks, entry: TaskEntry) -> None:
        """Tell the user, once for each function, that it has no device of its bundle and sees those of others too."""
        place = entry.terms.choices[command.choice].placement
        if place.group_id is None or entry.terms.internal:
            return
        families = self._groups.families_of(place)
        if not families or self._was_notified((entry.terms.number, "", "")):
            return
        family = families[0]
        ask = "num_gpus=1" if family == "GPU" else f'resources={{"{family}": 1}}'
        message = (
            f"{command.task.name} runs in a placement group's bundle with {family}s, but asks for none: it sees every "
            f"{family} of the machine, also those of others. Ask for {ask} to run on the bundle's, or pass "
            "hide_unassigned=True."
        )
        self._notice(command, entry, message)

    def _was_notified(self, key: tuple[int, str, str]) -> bool:
        """Whether this was shown before; from now on it was."""
        if key in self._notified:
            return True
        if len(self._notified) >= MOST_NOTIFIED:
            self._notified.clear()
        self._notified.add(key)
        return False

    def _notice(self, command: SendTasks, entry: TaskEntry, message: str) -> None:
        terms = entry.terms
        self._notifier.notice(command.task.job, wire.NoticeMessage("devices", message, terms.cell, terms.parent))


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
        self, nodes: Nodes, look: Look, scheduler: Scheduler, notifier: Notifier, threshold_bytes: int | None
    ) -> None:
        self._nodes = nodes
        self._look = look
        self._scheduler = scheduler
        self._notifier = notifier
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
        self._notifier.alert("leak", message, task_id=task.task_id.hex(), **where)
        self._notifier.notice(task.job, wire.NoticeMessage("leak", message, terms.cell, terms.parent))

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
        self._notifier.notice(entry.terms.job, notice)

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
