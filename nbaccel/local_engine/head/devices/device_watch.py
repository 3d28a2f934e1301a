"""The state of real devices: measured once a second while somebody watches, and checked for losses after a failure.

```
  somebody watches ── Sample ──► prober ── Measured, once a second ──► metrics ──► snapshots
  a task failed    ── Look ────► prober ── Looked ──► lost? ──► alert; what can only run there fails in words
```
The prober may hang in a driver or die with it. The metrics are then unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading, nothing_known
from nbaccel.local_engine.head.audience import Audience
from nbaccel.local_engine.head.devices.device_looks import Look
from nbaccel.local_engine.head.devices.nodes import Assigned, Key, Nodes
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.side_process import Helper
from nbaccel.local_engine.side_processes import prober
from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer

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
        audience: Audience,
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
        self._audience = audience
        self._note = note
        self._look = look
        self._look_at_leases = look_at_leases  # checks what other heads hold of this machine's devices
        self._recorded = recorded  # records what was measured
        self._offer = offer  # tells the scheduler how much of a device is available
        self.metrics: dict[str, DeviceReading] = {}
        self.lost: dict[str, str] = {}  # why
        self.wanted = False
        self._deaths = 0
        self._heard_at = 0.0
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
        self._prober.say(prober.encode(prober.Sample([device.to_dict() for device in devices])))

    def _expect(self) -> None:
        """Look from now on whether the prober is silent for SILENCE_S, without what the machine stands still."""
        self._heard_at = self._timers.now()
        if self._silence is None and self.wanted:
            self._begin_to_listen()
            self._listen_later()

    def _begin_to_listen(self) -> None:
        self._silence = StallTimer(SILENCE_S, self._timers.now(), lambda: self._heard_at)

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
        self._audience.changed()

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
        self._audience.alert("prober", why)

    def freshen(self, then: Callable[[], None]) -> None:
        """Call `then` once leases and metrics are up to date, for a viewer that looks once."""
        devices = self._nodes.real()
        if devices:
            self._look_at_leases()
        if not devices or self.wanted or self._timers.now() < self._heard_at + FRESH_S:
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
            self._heard_at = self._timers.now()
        for device, facts in zip(devices, metrics, strict=False):
            self.metrics[device.lease_key] = facts
            if facts.lost:
                self._is_lost(device, facts.lost)
            elif device.lease_key in self.lost and facts.memory_used_bytes is not None:
                self._is_back(device)
        self._recorded(self._nodes.node_id.hex(), devices, metrics)
        self._audience.changed()

    # ---- losses

    def _is_lost(self, device: Device, why: str) -> None:
        if device.lease_key in self.lost:
            return
        if not self.lost:
            self._look_for_lost_later()
        self.lost[device.lease_key] = why
        message = f"{device.family} {device.id} ({device.name}) is lost: {why} Tasks that only it could run fail."
        self._note(message)
        self._audience.alert("device", message, device=device.id, node_id=self._nodes.node_id.hex())
        self._offer((self._nodes.node_id, device.resource, device.index))

    def _is_back(self, device: Device) -> None:
        del self.lost[device.lease_key]
        message = f"{device.family} {device.id} ({device.name}) answers again and is offered as before."
        self._note(message)
        self._audience.alert("device", message, device=device.id, node_id=self._nodes.node_id.hex())
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
