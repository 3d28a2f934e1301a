"""How the real devices are: measured once a second while somebody watches, looked at after a failure, and missed.

```
  somebody watches ── Sample ──► prober ── Measured, once a second ──► metrics ──► pictures
  a task failed    ── Look ────► prober ── Looked ──► lost? ──► alert; what can only run there fails in words
```
The prober may hang in a driver or die with it. Then what it would have told is unknown, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nbaccel.accelerators import Device, DeviceKind
from nbaccel.accelerators.metrics import DeviceMetrics, nothing_known
from nbaccel.local_engine.side_processes import prober

if TYPE_CHECKING:
    from nbaccel.local_engine.head.devices.device_leases import Assigned
    from nbaccel.local_engine.head.loop import Head

SILENCE_S = 5.0  # a prober that samples once a second and says nothing for so long hangs in a driver
FRESH_S = 1.0  # what is younger is not asked for again
MOST_DEATHS = 3  # of a prober that dies whenever it measures
LOOK_FOR_LOST_S = 5.0  # a reset may bring a lost device back


class DeviceWatch:
    """The newest facts of each real device, by its lease key."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.metrics: dict[str, DeviceMetrics] = {}
        self.lost: dict[str, str] = {}  # why
        self.wanted = False
        self._deaths = 0
        self._heard_at = 0.0
        self._armed = False

    # ---- measuring

    def measure(self, on: bool) -> None:
        """Have the real devices measured once a second, or no longer."""
        if on == self.wanted:
            return
        self.wanted = on
        self._deaths = 0
        if on or self._head.node.prober.running:
            self.begin()

    def begin(self) -> None:
        """The devices are known, or are wanted to be measured from now on, or no longer."""
        if self._devices():
            self._order()
            self._expect()

    def _order(self) -> None:
        devices = self._devices() if self.wanted else []
        self._head.node.prober.say(prober.encode(prober.Sample([device.to_dict() for device in devices])))

    def _expect(self) -> None:
        """Be called when the prober has been silent for long."""
        self._heard_at = time.monotonic()
        if not self._armed and self.wanted:
            self._armed = True
            self._head.poll.at(self._heard_at + SILENCE_S, self._heard_nothing)

    def _heard_nothing(self) -> None:
        self._armed = False
        if not self.wanted:
            return
        due = self._heard_at + SILENCE_S
        if time.monotonic() >= due:
            self._know_nothing(f"the devices have not answered for {SILENCE_S:g} s; their driver may hang.")
            due = time.monotonic() + SILENCE_S
        self._armed = True
        self._head.poll.at(due, self._heard_nothing)

    def _know_nothing(self, why: str) -> None:
        for device in self._devices():
            self.metrics[device.lease_key] = nothing_known(why)
        self._head.watchers.changed()

    def prober_died(self) -> None:
        """A new one runs: it measures on, unless that is what kills it."""
        if not self.wanted:
            return
        self._deaths += 1
        if self._deaths < MOST_DEATHS:
            self._order()
            return
        why = f"the process that asks the devices has died {self._deaths} times while it did, and is left alone."
        self._know_nothing(why)
        self._head.watchers.alert("prober", why)

    def _devices(self) -> list[Device]:
        node = self._head.node.devices.get(self._head.node.node_id)
        offered = [device for devices in node.devices.values() for device in devices] if node else []
        return [device for device in offered if device.kind is DeviceKind.REAL]

    def freshen(self, then: Callable[[], None]) -> None:
        """Somebody looks once: `then` is called when leases and metrics are those of now."""
        devices = self._devices()
        if devices:
            self._head.node.lending.begin(self._head.node.node_id)
        if not devices or self.wanted or time.monotonic() < self._heard_at + FRESH_S:
            then()
        else:
            self._head.node.looks.look(devices, lambda seen: then())

    # ---- what came

    def measured(self, report: prober.Measured) -> None:
        """One sample of all devices."""
        self._deaths = 0
        self.seen(self._devices(), [DeviceMetrics.from_dict(one) for one in report.metrics])

    def seen(self, devices: Sequence[Device], metrics: Sequence[DeviceMetrics]) -> None:
        """Take note of what was measured, whoever asked for it."""
        if len(devices) == len(self._devices()):
            self._heard_at = time.monotonic()
        for device, facts in zip(devices, metrics, strict=False):
            self.metrics[device.lease_key] = facts
            if facts.lost:
                self._is_lost(device, facts.lost)
            elif device.lease_key in self.lost and facts.memory_used_bytes is not None:
                self._is_back(device)
        self._head.watchers.changed()

    # ---- losses

    def _is_lost(self, device: Device, why: str) -> None:
        if device.lease_key in self.lost:
            return
        if not self.lost:
            self._look_for_lost_later()
        self.lost[device.lease_key] = why
        message = f"{device.family} {device.id} ({device.name}) is lost: {why} Tasks that only it could run fail."
        self._head.note(message)
        self._head.watchers.alert("device", message, device=device.id)
        self._head.node.tell((self._head.node.node_id, device.resource, device.index))

    def _is_back(self, device: Device) -> None:
        del self.lost[device.lease_key]
        message = f"{device.family} {device.id} ({device.name}) answers again and is offered as before."
        self._head.note(message)
        self._head.watchers.alert("device", message, device=device.id)
        self._head.node.tell((self._head.node.node_id, device.resource, device.index))

    def _look_for_lost_later(self) -> None:
        self._head.poll.at(time.monotonic() + LOOK_FOR_LOST_S, self._look_for_lost)

    def _look_for_lost(self) -> None:
        missing = [device for device in self._devices() if device.lease_key in self.lost]
        if missing:
            self._head.node.looks.look(missing, lambda seen: None)
            self._look_for_lost_later()

    def after_failure(self, node_id: bytes, assigned: Assigned, then: Callable[[], None]) -> None:
        """A task or its process failed on these devices: see whether they are there, before others get them."""
        node = self._head.node
        devices = [node.device(node_id, name, index) for name, slots in assigned.items() for index, _amount in slots]
        real = [device for device in devices if device.kind is DeviceKind.REAL]
        if not real:
            then()
            return

        def looked(seen: Any) -> None:
            then()

        node.looks.look(real, looked)
