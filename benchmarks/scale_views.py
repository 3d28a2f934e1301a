"""What a head has beside its scheduler to make snapshots of, for `benchmarks/scale.py`: no process, no message."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import chain
from typing import Any

from nbaccel.accelerators import Device, DeviceKind, NodeDevices
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.records import HeadRecords, TaskEntry
from nbaccel.local_engine.head.snapshot_builder import NO_GROWTH, Rows, SnapshotBuilder
from nbaccel.scheduling.events import NodeSpec
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views.snapshot import Snapshot


class _NoGroups:
    def rows(self) -> list[Any]:
        return []


class Views:
    """Makes snapshots of a scheduler's cluster."""

    def __init__(self, scheduler: Scheduler, specs: Iterable[NodeSpec]) -> None:
        nodes = Nodes(lambda event: None)
        for spec in specs:
            found = [
                Device(
                    str(each.index), each.index, "nvidia", "NVIDIA GPU", each.resource, each.type, kind=DeviceKind.REAL
                )
                for each in spec.devices
            ]
            nodes.add(spec, NodeDevices({"GPU": found}))
        entries: dict[str, TaskEntry] = {}
        for record in chain(scheduler.running(), scheduler.waiting()):
            terms = record.task.terms
            if terms.name not in entries:
                entries[terms.name] = TaskEntry(None, terms, 1, time.time())  # type: ignore[arg-type]
            record.task.payload = entries[terms.name]
        empty: Any = {}
        records = HeadRecords(scheduler, nodes, empty, empty, _NoGroups(), empty, empty, empty, empty, time.monotonic)  # type: ignore[arg-type]
        self._scheduler = scheduler
        self._builder = SnapshotBuilder(
            Config("s", "/tmp", 0, {}),
            records,
            Rows(scheduler, lambda worker_id: None, time.monotonic),
            published=list,
            metrics={},
            alerts=list,
            arena_used=lambda: 0,
            started_at=time.time(),
            growing=NO_GROWTH,
            load_of=lambda pid: None,
        )

    def snapshot(self) -> Snapshot:
        """A snapshot of now."""
        return self._builder.snapshot(1)
