"""Alerts about real devices that are held for minutes but not used; each alert names the holder.

```
  every 30 s, watched or not ── which real devices are held? ── Look ──► prober ──► load 0 for 5 minutes ──► alert
```
A look asks the prober alone; pages get a message only when there is an alert.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine.head.devices.device_looks import Look
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.views import wording
from nbaccel.views.snapshot import Alert, DeviceRow, Holder

EVERY_S = 30.0
IDLE_S = 300.0
USED_PERCENT = 1.0  # a device that draws a desktop, or is asked by monitors, shows less


class _HoldSince(msgspec.Struct):
    """Who holds a device, and since when every look has found it unused."""

    holders: tuple[str, ...]
    began: float


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
        self._holds: dict[str, _HoldSince] = {}  # by the key of the device
        self._alerts: dict[str, Alert] = {}

    def begin(self) -> None:
        """Start looking once the devices are known. Without a real device, nothing is ever asked."""
        if self._devices():
            self._timers.after(EVERY_S, self._check)

    def alerts(self) -> list[Alert]:
        """An alert for each device that is held but not used."""
        return list(self._alerts.values())

    def _check(self) -> None:
        self._timers.after(EVERY_S, self._check)
        held = {(row.resource, row.id): row.holders for row in self._rows() if row.kind == "real" and row.holders}
        devices = [device for device in self._devices() if (device.resource, device.id) in held]
        keys = {device.lease_key for device in devices}
        self._holds = {key: hold for key, hold in self._holds.items() if key in keys}
        if devices:
            holders = [held[device.resource, device.id] for device in devices]
            self._look(devices, lambda seen: self._judge(devices, holders, seen))
        else:
            self._say({})

    def _judge(
        self, devices: Sequence[Device], holders: Sequence[list[Holder]], seen: Sequence[DeviceReading] | None
    ) -> None:
        if seen is None:  # no answer in time: nothing is known
            return
        alerts = {}
        for device, held_by, reading in zip(devices, holders, seen, strict=False):
            key, percent = device.lease_key, reading.utilisation_percent
            if percent is None or percent >= USED_PERCENT:
                self._holds.pop(key, None)
                continue
            ids = tuple(sorted(holder.task_id or holder.actor_id or holder.name for holder in held_by))
            hold = self._holds.get(key)
            if hold is None or hold.holders != ids:
                hold = self._holds[key] = _HoldSince(ids, self._timers.now())
            idle_s = self._timers.now() - hold.began
            if idle_s >= IDLE_S:
                alerts[key] = self._alerts.get(key) or _alert(device, held_by, idle_s)
        self._say(alerts)

    def _say(self, alerts: dict[str, Alert]) -> None:
        if alerts.keys() != self._alerts.keys():
            self._alerts = alerts
            self._changed()


def _alert(device: Device, held_by: Sequence[Holder], idle_s: float) -> Alert:
    names = ", ".join(
        wording.plain(holder.name) + (f" ({wording.cell(holder.cell)})" if holder.cell else "") for holder in held_by
    )
    message = (
        f"{device.resource} {device.id} has been held by {names} for {idle_s / 60:.0f} minutes without being used. "
        "Cancel the task or end the actor if it is done, so that others can have the device."
    )
    return Alert("unused", message, time.time() - idle_s, device=device.id)
