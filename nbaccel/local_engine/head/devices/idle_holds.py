"""Alerts about real devices that are held for minutes but not used; each alert names the holder.

```
  every 30 s, watched or not ── which real devices are held? ── Look ──► prober ──► load 0 for 5 minutes ──► alert
```
A look asks the prober alone; pages get a message only when there is an alert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine.head.devices.device_looks import Look
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.views.snapshot import Alert, DeviceRow
from nbaccel.views.unused_devices import HeldDevice, UnusedDevices

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
