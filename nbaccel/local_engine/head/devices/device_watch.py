"""The state of real devices: measured while somebody watches, checked for losses, for idleness and for others' memory.

```
  somebody watches ── Sample ──► prober ── Measured, once a second ──► metrics ──► snapshots
  a task failed ─── Inspect ───► prober ── Inspected ──► lost? ──► alert; what can only run there fails in words
  every 30 s, for held ones ── Inspect ──► prober ──► load 0 for 5 minutes ──► alert that names the holder
```
The prober may hang in a driver or die with it. The metrics are then unknown, with the reason. Nobody waits for devices:
the memory that processes outside of this cluster use is that of the last measurement, and a question begins the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from nbaccel import proc
from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading, nothing_known
from nbaccel.local_engine.head.devices.node_devices import Assigned, Key, Nodes
from nbaccel.local_engine.head.poll import LoopTimers, Note
from nbaccel.local_engine.head.side_process import Helper
from nbaccel.local_engine.head.watchers import Notifier
from nbaccel.local_engine.side_processes import prober
from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import wording
from nbaccel.views.snapshot import Alert, DeviceRow
from nbaccel.views.unused_devices import HeldDevice, UnusedDevices

PATIENCE_S = 0.5  # NVML answers in a millisecond once it is loaded, and may never answer when a driver hangs
MOST_ASKED = 64  # of a prober that hangs
Seen = Callable[[list[DeviceReading] | None], None]  # None: no answer in time
Look = Callable[[list[Device], Seen], None]


class DeviceInspections:
    """The open questions to the prober. `learned` is called with each answer, in time or late."""

    def __init__(
        self,
        timers: LoopTimers,
        prober: Helper,
        *,
        learned: Callable[[Sequence[Device], Sequence[DeviceReading]], None],
        is_stopping: Callable[[], bool],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._timers = timers
        self._prober = prober
        self._learned = learned
        self._is_stopping = is_stopping
        self._patience_s = patience_s
        self._numbers = count(1)
        self._asked: dict[int, list[Device]] = {}  # also those whose answer is late
        self._waiting: dict[int, Seen] = {}

    def look(self, devices: list[Device], then: Seen) -> None:
        """Measure these devices once. `then` is called in time, with their metrics in order or with None."""
        number = next(self._numbers)
        self._asked[number], self._waiting[number] = devices, then
        if len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._prober.send(prober.encode(prober.Inspect(number, [device.to_dict() for device in devices])))
        self._timers.after(self._patience_s, lambda: self._answer(number, None))

    def came(self, report: prober.Inspected) -> None:
        """Handle an answer of the prober; a late one still goes to `learned`."""
        metrics = [DeviceReading.from_dict(one) for one in report.metrics]
        self._learned(self._asked.pop(report.number, []), metrics)
        self._answer(report.number, metrics)

    def _answer(self, number: int, metrics: list[DeviceReading] | None) -> None:
        then = self._waiting.pop(number, None)
        if then is not None and not self._is_stopping():
            then(metrics)


SILENCE_S = 5.0  # a prober that samples once a second and says nothing for so long hangs in a driver
FRESH_S = 1.0  # younger metrics are not asked for again
MOST_DEATHS = 3  # of a prober that dies whenever it measures
LOOK_FOR_LOST_S = 5.0  # a reset may bring a lost device back

Recorded = Callable[[str, Sequence[Device], Sequence[DeviceReading]], None]  # of a node's devices


class DeviceWatch:
    """The newest facts of each real device, by its lease key."""

    def __init__(
        self,
        timers: LoopTimers,
        nodes: Nodes,
        prober: Helper,
        notifier: Notifier,
        note: Note,
        *,
        look: Look,
        look_at_leases: Callable[[], None],
        offer: Callable[[Key], None],
        recorded: Recorded,
    ) -> None:
        self._timers = timers
        self._nodes = nodes
        self._prober = prober
        self._notifier = notifier
        self._note = note
        self._look = look
        self._look_at_leases = look_at_leases  # checks what other heads hold of this machine's devices
        self._recorded = recorded  # records what was measured
        self._offer = offer  # tells the scheduler how much of a device is available
        self.metrics: dict[str, DeviceReading] = {}
        self.lost: dict[str, str] = {}  # why
        self.wanted = False
        self._deaths = 0
        self._answered_at = 0.0
        self._silence: StallTimer | None = None  # while somebody watches

    # ---- measuring

    def measure(self, on: bool) -> None:
        """Have the real devices measured once a second, or no longer."""
        if on == self.wanted:
            return
        self.wanted = on
        self._deaths = 0
        if on or self._prober.is_alive:
            self.begin()

    def begin(self) -> None:
        """Tell the prober what to measure: called when the devices are known and when `wanted` changes."""
        if self._nodes.real():
            self._order()
            self._expect()

    def _order(self) -> None:
        devices = self._nodes.real() if self.wanted else []
        self._prober.send(prober.encode(prober.Sample([device.to_dict() for device in devices])))

    def _expect(self) -> None:
        """Look from now on whether the prober is silent for SILENCE_S, without what the machine stands still."""
        self._answered_at = self._timers.now()
        if self._silence is None and self.wanted:
            self._begin_to_listen()
            self._listen_later()

    def _begin_to_listen(self) -> None:
        self._silence = StallTimer(SILENCE_S, self._timers.now(), lambda: self._answered_at)

    def _listen_later(self) -> None:
        self._timers.after(LONGEST_LOOK_S, self._listen)

    def _listen(self) -> None:
        if not self.wanted or self._silence is None:
            self._silence = None
            return
        self._listen_later()
        if self._deaths >= MOST_DEATHS:
            return  # it is left alone, and that is why nothing is known
        if self._silence.is_over(self._timers.now()):
            self._begin_to_listen()
            self._know_nothing(f"the devices have not answered for {SILENCE_S:g} s; their driver may hang.")

    def _know_nothing(self, why: str) -> None:
        for device in self._nodes.real():
            self.metrics[device.lease_key] = nothing_known(why)
        self._notifier.changed()

    def prober_died(self) -> None:
        """Let the new prober go on measuring, unless measuring has killed MOST_DEATHS of them."""
        if not self.wanted:
            return
        self._deaths += 1
        if self._deaths < MOST_DEATHS:
            self._order()
            return
        why = f"the process that asks the devices has died {self._deaths} times while it did, and is left alone."
        self._know_nothing(why)
        self._notifier.alert("prober", why)

    def freshen(self, then: Callable[[], None]) -> None:
        """Call `then` once leases and metrics are up to date, for a viewer that looks once."""
        devices = self._nodes.real()
        if devices:
            self._look_at_leases()
        if not devices or self.wanted or self._timers.now() < self._answered_at + FRESH_S:
            then()
        else:
            self._look(devices, lambda seen: then())

    # ---- measurements

    def measured(self, report: prober.Measured) -> None:
        """Take one sample of all devices."""
        self._deaths = 0
        self.seen(self._nodes.real(), [DeviceReading.from_dict(one) for one in report.metrics])

    def seen(self, devices: Sequence[Device], metrics: Sequence[DeviceReading]) -> None:
        """Record measurements, whoever asked for them."""
        if len(devices) == len(self._nodes.real()):
            self._answered_at = self._timers.now()
        for device, facts in zip(devices, metrics, strict=False):
            self.metrics[device.lease_key] = facts
            if facts.lost:
                self._is_lost(device, facts.lost)
            elif device.lease_key in self.lost and facts.memory_used_bytes is not None:
                self._is_back(device)
        self._recorded(self._nodes.node_id.hex(), devices, metrics)
        self._notifier.changed()

    # ---- losses

    def _is_lost(self, device: Device, why: str) -> None:
        if device.lease_key in self.lost:
            return
        if not self.lost:
            self._look_for_lost_later()
        self.lost[device.lease_key] = why
        message = f"{device.family} {device.id} ({device.name}) is lost: {why} Tasks that only it could run fail."
        self._note(message)
        self._notifier.alert("device", message, device=device.id, node_id=self._nodes.node_id.hex())
        self._offer((self._nodes.node_id, device.resource, device.index))

    def _is_back(self, device: Device) -> None:
        del self.lost[device.lease_key]
        message = f"{device.family} {device.id} ({device.name}) answers again and is offered as before."
        self._note(message)
        self._notifier.alert("device", message, device=device.id, node_id=self._nodes.node_id.hex())
        self._offer((self._nodes.node_id, device.resource, device.index))

    def _look_for_lost_later(self) -> None:
        self._timers.after(LOOK_FOR_LOST_S, self._look_for_lost)

    def _look_for_lost(self) -> None:
        missing = [device for device in self._nodes.real() if device.lease_key in self.lost]
        if missing:
            self._look(missing, lambda seen: None)
            self._look_for_lost_later()

    def after_failure(self, node_id: bytes, assigned: Assigned, then: Callable[[], None]) -> None:
        """After a failure on these devices, check that they are still there before others get them."""
        real = self._nodes.assigned_real(node_id, assigned)
        if not real:
            then()
            return

        def looked(seen: Any) -> None:
            then()

        self._look(real, looked)


EVERY_S = 30.0


class IdleHolds:
    """Measures the held devices. `devices` gives this machine's real devices, `rows` who holds each."""

    def __init__(
        self,
        timers: LoopTimers,
        devices: Callable[[], list[Device]],
        rows: Callable[[], list[DeviceRow]],
        look: Look,
        changed: Callable[[], None],
    ) -> None:
        self._timers = timers
        self._devices = devices
        self._rows = rows
        self._look = look
        self._changed = changed
        self._unused = UnusedDevices()

    def begin(self) -> None:
        """Start looking once the devices are known. Without a real device, nothing is ever asked."""
        if self._devices():
            self._timers.after(EVERY_S, self._check)

    def alerts(self) -> list[Alert]:
        """An alert for each device that is held but not used."""
        return self._unused.alerts()

    def _check(self) -> None:
        self._timers.after(EVERY_S, self._check)
        held = {(row.resource, row.id): row for row in self._rows() if row.kind == "real" and row.holders}
        devices = [device for device in self._devices() if (device.resource, device.id) in held]
        if devices:
            rows = [held[device.resource, device.id] for device in devices]
            self._look(devices, lambda seen: self._judge(devices, rows, seen))
        else:
            self._saw([])

    def _judge(
        self, devices: Sequence[Device], rows: Sequence[DeviceRow], seen: Sequence[DeviceReading] | None
    ) -> None:
        if seen is None:  # no answer in time: nothing is known
            return
        self._saw(
            [
                HeldDevice(
                    device.lease_key,
                    f"{device.resource} {device.id}",
                    device.id,
                    row.holders,
                    reading.utilisation_percent,
                    node_id=row.node_id,
                )
                for device, row, reading in zip(devices, rows, seen, strict=False)
            ]
        )

    def _saw(self, held: list[HeldDevice]) -> None:
        before = self.alerts()
        self._unused.saw(held, self._timers.now())
        if self.alerts() != before:
            self._changed()


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
