"""Decides what is sent to the pages, and when: only while a view is visible, and only if the snapshot looks different.

A page gets the snapshot that observers get, as JSON of the same schema, without what no view draws.

```
  a page's view ── visible | hidden ──► Publisher ── watch, with as many rows as the views want ──► engine
  engine's news thread ── snapshot ──► Publisher ── JSON, if it shows anything new ──► the widget's trait
```
Messages of a widget count as activity of its kernel, and a hub stops idle kernels. A quiet cluster therefore sends
nothing, and other programs' use of its devices is no reason to send while nothing of this cluster runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import msgspec

from nbaccel.views import palette, totals
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, OnSnapshot, PublishedRow, Snapshot
from nbaccel.views.tables import ENDED

MOST_NODES, MOST_DEVICES = 64, 256  # of a cluster of which a snapshot has not all rows
MOST_RECORD_BYTES = 128 << 10  # of published records with their curves: older ones go without
_EXPECTED = "(expected)"  # a view that was displayed and has not answered yet
_json = msgspec.json.Encoder().encode


class PageSnapshot(Snapshot, omit_defaults=True):
    """A snapshot with what a page cannot know of it."""

    hues: dict[str, int] = {}  # colours of names that differ from the one the name gives
    ended: bool = False
    died: bool = False  # it ended by itself or was killed; nobody shut it down from here


def of_snapshot(snapshot: Snapshot) -> PageSnapshot:
    """What a page gets of a snapshot: no lists that it does not draw, and nothing that a notebook should not keep."""
    given = msgspec.structs.asdict(snapshot)
    if totals.more_devices(snapshot) or totals.more_nodes(snapshot):
        given["nodes"], given["devices"] = totals.fewer(snapshot.nodes, snapshot.devices, MOST_NODES, MOST_DEVICES)
    runtime = msgspec.structs.replace(snapshot.runtime, session="", address="", log_dir="")
    node_types = [msgspec.structs.replace(each, used_s=0.0) for each in snapshot.node_types]  # it grows all the time
    unseen: dict[str, list[object]] = {"workers": [], "groups": [], "requests": [], "published": []}
    hues = palette.HUES.unusual(_subjects(snapshot))
    return PageSnapshot(**{**given, **unseen, "runtime": runtime, "node_types": node_types}, hues=hues)


def _subjects(snapshot: Snapshot) -> Iterable[str]:
    """All names that a page gives a colour, in order."""
    names = dict.fromkeys(palette.subject(row.name, row.function, row.kind) for row in snapshot.tasks)
    names |= dict.fromkeys(row.class_name for row in snapshot.actors)
    names |= dict.fromkeys(row.name for row in snapshot.functions)
    names |= dict.fromkeys(str(row.record.get("name", "")) for row in snapshot.published)
    return names | dict.fromkeys(holder.name for device in snapshot.devices for holder in device.holders)


def to_json(snapshot: PageSnapshot) -> str:
    """What is sent."""
    return _json(snapshot).decode()


def records_json(published: list[PublishedRow]) -> str:
    """The published records as JSON. Where they are large, the oldest go without their curves."""
    room, sent = MOST_RECORD_BYTES, []
    for row in sorted(published, key=lambda row: -float(row.record.get("started_at", 0.0))):
        record = {name: value for name, value in row.record.items() if name != "socket"}  # of processes of this machine
        row = msgspec.structs.replace(row, published_at=0.0, record=record)
        room -= len(_json(row))
        if room < 0:
            record["curves"] = []
        sent.append(row)
    return _json(sent).decode()


class Watched(Protocol):
    """The part of an engine that publishing needs."""

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0) -> None: ...


class Publisher:
    """Decides what is sent. `send` is called by the engine's thread alone while it watches, and so are `keep`, with
    every snapshot that comes, and `ended`, when no more will come.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        keep: Callable[[Snapshot], object] = lambda snapshot: None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        self._send = send
        self._keep = keep
        self._ended = ended
        self._engine: Watched | None = None
        self._views: dict[str, int] = {}  # visible views -> rows of tasks that each wants
        self._asked: int | None = None  # the number of rows asked of the engine; None if it is not watched
        self._last = b""
        self._newest: PageSnapshot | None = None
        self._lock = threading.Lock()
        self._sending = threading.Lock()  # keeps snapshots in the order in which they were taken

    def follow(self, engine: Watched, now: Snapshot) -> None:
        """Send `now` and then every change, for a view that is about to be displayed, until no view is visible."""
        with self._lock:
            live = self._engine is engine and self._asked is not None
            if self._engine is not engine:
                self._engine, self._asked = engine, None
            self._views = {_EXPECTED: 0, **self._views}
        if not live:  # otherwise the engine's thread publishes
            with self._sending:
                self._publish(of_snapshot(now))
        self._watch()

    def seen(self, view: str, rows: int) -> None:
        """Take note of a visible view and of the number of task rows that it wants."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views[view] = rows
        self._watch()

    def hidden(self, view: str) -> None:
        """Take note that a view is hidden or gone."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views.pop(view, None)
        self._watch()

    def _watch(self) -> None:
        """Ask the engine for what the visible views want, if that has changed."""
        with self._lock:
            engine = self._engine
            rows = max(self._views.values(), default=None)
            if engine is None or rows == self._asked:
                return
            self._asked = rows
            if rows is None:  # inside the lock: requests for two views must not overtake each other
                engine.watch(None)
            else:
                engine.watch(partial(self._came, engine), metrics=True, rows=rows)

    def end(self, engine: Watched, last: Snapshot | None, *, died: bool = False) -> None:
        """Send the engine's last snapshot (`last`, or the newest one), even if no view is visible."""
        with self._sending:
            if self._engine is not engine:
                return
            self._engine = self._asked = None
            snapshot = of_snapshot(last) if last is not None else self._newest
            if snapshot is not None:
                snapshot.ended, snapshot.died = True, died
                self._publish(snapshot)

    def _came(self, engine: Watched, snapshot: Snapshot | None) -> None:
        """Handle a new snapshot or the end; called in the engine's thread."""
        if snapshot is None:
            self.end(engine, None, died=True)
            self._ended()
            return
        self._keep(snapshot)
        with self._sending:
            if self._engine is engine:  # it may have ended since this snapshot was taken
                self._publish(of_snapshot(snapshot))

    def _publish(self, snapshot: PageSnapshot) -> None:
        look = look_of(snapshot)
        if look != self._last:
            self._last = look
            self._newest = snapshot
            self._send(to_json(snapshot))


def look_of(snapshot: PageSnapshot) -> bytes:
    """A key that is equal for snapshots that look the same, whatever their number, time and small sensor changes."""
    busy = any(number for state, number in snapshot.counts.items() if state not in ENDED)
    busy = busy or any(device.holders for device in snapshot.devices)
    devices = [_rounded(device, busy) for device in snapshot.devices]
    return _json(msgspec.structs.replace(snapshot, seq=0, time=0.0, devices=devices))


def _rounded(device: DeviceRow, busy: bool) -> DeviceRow:
    """The device with metrics at the resolution of a bar; temperature and power always vary a little, and do not count.
    While nothing runs, none does.
    """
    if device.metrics is None:
        return device
    percent, used = device.metrics.utilisation_percent, device.metrics.memory_used_bytes
    metrics = DeviceMetrics(None if percent is None else round(percent), None if used is None else used >> 24)
    return msgspec.structs.replace(device, metrics=metrics if busy else None)
