"""Which real devices are held for minutes without being used: the same rule on each engine.

An engine that has measured its held devices gives what it saw, and gets an alert for each one that every look for
`IDLE_S` has found unused under the same holders.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from nbaccel.views import wording
from nbaccel.views.snapshot import Alert, Holder

IDLE_S = 300.0
USED_PERCENT = 1.0  # a device that draws a desktop, or is asked by monitors, shows less
LONGEST_GAP_S = 120.0  # between two looks; after more, nothing is known of the time before


class HeldDevice(msgspec.Struct):
    """A real device that is held, as it was seen just now."""

    key: str  # unique among all devices
    label: str  # "GPU 0"
    id: str
    holders: list[Holder]
    utilisation_percent: float | None = None  # None if it was measured, and does not tell
    is_measured: bool = True  # in this look
    node_id: str | None = None


class _Hold(msgspec.Struct):
    holders: tuple[str, ...]
    began: float  # since when every look has found it unused
    seen: float
    alert: Alert | None = None


class UnusedDevices:
    """Remembers since when each held device has been seen unused. Times are of a clock that only goes on."""

    def __init__(self) -> None:
        self._holds: dict[str, _Hold] = {}

    def alerts(self) -> list[Alert]:
        """An alert for each device that is held but not used."""
        return [hold.alert for hold in self._holds.values() if hold.alert is not None]

    def saw(self, held: Iterable[HeldDevice], now: float) -> None:
        """Take in a look at all devices that are held now."""
        before, self._holds = self._holds, {}
        for device in held:
            ids = tuple(sorted(each.task_id or each.actor_id or each.name for each in device.holders))
            hold, percent = before.get(device.key), device.utilisation_percent
            if not device.is_measured:
                if hold is not None and hold.holders == ids:
                    self._holds[device.key] = hold
                continue
            if percent is None or percent >= USED_PERCENT:
                continue
            if hold is None or hold.holders != ids or now - hold.seen > LONGEST_GAP_S:
                hold = _Hold(ids, now, now)
            hold.seen = now
            if hold.alert is None and now - hold.began >= IDLE_S:
                hold.alert = _alert(device, now - hold.began)
            self._holds[device.key] = hold


def _alert(device: HeldDevice, idle_s: float) -> Alert:
    names = ", ".join(
        wording.plain(holder.name) + (f" ({wording.cell(holder.cell)})" if holder.cell else "")
        for holder in device.holders
    )
    message = (
        f"{device.label} has been held by {names} for {idle_s / 60:.0f} minutes without being used. "
        "Cancel the task or end the actor if it is done, so that others can have the device."
    )
    return Alert("unused", message, time.time() - idle_s, device=device.id, node_id=device.node_id)
