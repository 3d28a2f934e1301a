"""What this engine's books say: its node, what runs and waits, and why."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from nbaccel import __version__
from nbaccel.debug_engine.actors import DebugActors
from nbaccel.debug_engine.machine import DebugMachine
from nbaccel.debug_engine.values import DebugValues
from nbaccel.handles.options import TaskOptions
from nbaccel.host_address import host_address
from nbaccel.local_engine.client.task_terms import asked
from nbaccel.local_engine.head.groups import Groups
from nbaccel.local_engine.head.reasons import NobodyElse, Reasons
from nbaccel.local_engine.head.rows import Rows
from nbaccel.quantities import UNIT
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views.explanations import Explanation, Probe
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import ActorRow, GroupRow, NodeRow, Runtime, Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter

MOST_ROWS = 100
MOST_GROUPS = 50


class DebugPicture:
    """Draws the books."""

    def __init__(
        self,
        scheduler: Scheduler,
        machine: DebugMachine,
        actors: DebugActors,
        groups: Groups[Any],
        values: DebugValues,
        published: OwnRecords,
    ) -> None:
        self._scheduler = scheduler
        self._machine = machine
        self._actors = actors
        self._groups = groups
        self._values = values
        self._published = published
        self.started_at = time.time()
        self._rows = Rows(scheduler, _our_pid)
        offered = {machine.node_id: machine.offered}
        self._reasons = Reasons(scheduler, actors.entries, offered, _our_pid, NobodyElse())

    def snapshot(self) -> Snapshot:
        counts = self._scheduler.counts()
        runtime = Runtime("debug", __version__, sys.version.split()[0], os.getpid(), "debug", job=1)
        runtime.started_at = self.started_at
        return Snapshot(
            runtime=runtime,
            time=time.time(),
            nodes=[self._node()],
            devices=self._rows.devices(self._machine.node_id, self._machine.offered),
            tasks=self._rows.tasks(MOST_ROWS, MOST_ROWS, MOST_ROWS),
            actors=self._actor_rows(),
            groups=[GroupRow.from_table(row) for row in self._groups.rows()][-MOST_GROUPS:],
            alerts=self._rows.failures(counts, self.started_at),
            counts=counts,
            published=self._published.rows(),
        )

    def _node(self) -> NodeRow:
        spec, scheduler = self._machine.spec, self._scheduler
        totals = {name: amount / UNIT for name, amount in scheduler.node_totals(spec.node_id).items()}
        available = {name: amount / UNIT for name, amount in scheduler.node_available(spec.node_id).items()}
        return NodeRow(spec.node_id.hex(), spec.name, True, True, totals, available, dict(spec.labels), host_address())

    def _actor_rows(self) -> list[ActorRow]:
        return [self._rows.actor(entry) for entry in self._actors.entries.values()]

    def nodes(self) -> list[dict[str, Any]]:
        row = self._node()
        return [
            {"NodeID": row.node_id, "Alive": True, "NodeManagerAddress": row.address, "NodeManagerHostname": row.name,
             "NodeName": row.name, "alive": True, "Resources": row.totals, "Labels": row.labels}
        ]  # fmt: skip

    def cluster_resources(self) -> dict[str, float]:
        return dict(self._node().totals)

    def available_resources(self) -> dict[str, float]:
        return {name: amount for name, amount in self._node().available.items() if amount}

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        return self._rows.found(wanted)

    def state(self, what: str, limit: int) -> list[dict[str, Any]]:
        tables: dict[str, Callable[[], list[Any]]] = {
            "tasks": lambda: self._rows.tasks(limit, limit, limit),
            "actors": self._actor_rows,
            "nodes": lambda: [self._node()],
            "groups": self._groups.rows,
            "objects": self._values.rows,
            "jobs": lambda: [
                {"job_id": "00000001", "status": "RUNNING", "entrypoint": "debug", "start_time": self.started_at,
                 "pid": os.getpid()}
            ],
        }  # fmt: skip
        return list(msgspec.to_builtins(list(islice(tables.get(what, list)(), limit))))

    def timeline(self) -> list[dict[str, Any]]:
        return self._rows.timeline(MOST_ROWS, lambda row: "this process")

    def explain(self, what: str | None) -> list[Explanation]:
        return self._reasons.explain(what)

    def probe(self, options: TaskOptions) -> Probe:
        return self._reasons.probe(asked(options))


def _our_pid(worker_id: bytes) -> int:
    return os.getpid()
