"""Turns the head's records into one Snapshot, and into the rows of Ray's own questions."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from nbaccel import __version__
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.accelerators.report import unoffered
from nbaccel.local_engine.head.node_tallies import NodeTallies
from nbaccel.local_engine.head.records import ActorEntry, WorkerProcess
from nbaccel.local_engine.head.rows import Rows, device_row
from nbaccel.quantities import UNIT
from nbaccel.scheduling.moves import FINISHED
from nbaccel.views import expected_growth, totals
from nbaccel.views.listed import ListedNode
from nbaccel.views.snapshot import (
    Alert,
    ArrivalRow,
    DeviceRow,
    JobRow,
    NodeRow,
    NodeTypeRow,
    PublishedRow,
    RequestRow,
    Runtime,
    Snapshot,
    WorkerRow,
)

if TYPE_CHECKING:
    from nbaccel.local_engine.head.boot import Config
    from nbaccel.local_engine.head.head_records import HeadRecords
    from nbaccel.scheduling.events import NodeSpec

MOST_WAITING, MOST_RUNNING, MOST_ENDED = 20, 50, 20
MOST_JOBS = 100
MOST_ALERTS = 20


class Growing(Struct, frozen=True):
    """Where a snapshot gets its rows of node types, arrivals and requests from, and the objects that keep a node."""

    types: Callable[[], list[NodeTypeRow]]
    arrivals: Callable[[], list[ArrivalRow]]
    requests: Callable[[], list[RequestRow]]
    kept_objects: Callable[[bytes], list[str]]  # of a node that cannot leave


NO_GROWTH = Growing(list, list, list, lambda node_id: [])


class SnapshotBuilder:
    """Builds snapshots and rows from the head's records."""

    def __init__(
        self,
        config: Config,
        records: HeadRecords,
        rows: Rows,
        *,
        published: Callable[[], list[PublishedRow]],
        metrics: Mapping[str, DeviceReading],
        alerts: Callable[[], list[Alert]],
        arena_used: Callable[[], int],
        started_at: float,
        growing: Growing,
    ) -> None:
        self._config = config
        self._records = records
        self._scheduler, self._nodes = records.scheduler, records.nodes
        self.rows = rows
        self._published = published
        self._metrics = metrics  # of devices, by their lease key
        self._alerts = alerts
        self._arena_used = arena_used
        self._started_at = started_at
        self._growing = growing
        self._tallies = NodeTallies(self._scheduler, self._nodes)

    def snapshot(self, seq: int, rows: int = 0) -> Snapshot:
        """A snapshot. `rows` asks for more tasks of each kind than usual."""
        actors = [entry for entry in self._records.actors.values() if not entry.terms.internal]
        counts = self._scheduler.counts()
        self._tallies.look()
        shown, workers = self._tallies.shown(), self._workers_shown()
        counts[FINISHED.name] -= self.rows.made()
        tasks = self.rows.shown(max(MOST_RUNNING, rows), max(MOST_WAITING, rows), max(MOST_ENDED, rows))
        return Snapshot(
            runtime=self._runtime(),
            seq=seq,
            time=time.time(),
            nodes=self._node_rows(shown),
            devices=[*self._device_rows(shown)[: totals.MOST_DEVICES], *self._unoffered_rows()],
            node_counts=self._tallies.node_counts(),
            device_counts=self._tallies.device_counts(),
            worker_counts=Counter(map(self._state, self._records.workers.values())),
            resources=self._resources(),
            tasks=tasks,
            actors=[self.rows.actor(entry) for entry in self._actors_shown(actors)],
            actor_counts=Counter(entry.state for entry in actors),
            workers=[self._worker(worker) for worker in workers],
            groups=[row.in_snapshot() for row in self._records.groups.rows()][-50:],
            jobs=self.job_rows(),
            alerts=Alert.in_order([*self._alerts()[-MOST_ALERTS:], *self.rows.failures(counts, self._started_at)]),
            counts=counts,
            functions=self.rows.functions(tasks),
            published=self._published(),
            found=self._found(),
            node_types=self._growing.types(),
            arrivals=self._growing.arrivals(),
            requests=self._growing.requests(),
            infeasible_requests=[
                {name: amount / UNIT for name, amount in choice.demand}
                for choice in self._scheduler.infeasible_requests()
            ],
        )

    def whole(self, snapshot: Snapshot) -> Snapshot:
        """The same snapshot with a row of every node, device and worker."""
        return msgspec.structs.replace(
            snapshot, nodes=self.node_rows(), devices=self.device_rows(), workers=self.worker_rows()
        )

    def _runtime(self) -> Runtime:
        import os

        config = self._config
        return Runtime(
            engine="local",
            version=__version__,
            python=sys.version.split()[0],
            pid=os.getpid(),
            session=config.session,
            address=os.path.join(config.directory, "head.sock"),
            shared=config.shared,
            started_at=self._started_at,
            log_dir=os.path.join(config.directory, "logs"),
        )

    def job_rows(self) -> list[JobRow]:
        """The drivers of a shared head, including those that have left, because some of their work is still shown."""
        if not self._config.shared:
            return []
        jobs = list(self._records.jobs.values())[-MOST_JOBS:]
        return [JobRow(job.number, job.name, job.hello.pid, job.ended) for job in jobs]

    def _found(self) -> list[str]:
        detection = self._nodes.detection
        if detection is None:
            return []
        lines = []
        for finding in detection.findings:
            unoffered = [device for device in finding.devices if not device.offered]
            if finding.asked and not finding.devices:  # there are signs of it, and nothing that works
                lines.append(f"{finding.family}: {finding.reason}")
            elif unoffered:
                lines.append(f"{finding.family}: {len(unoffered)} found, not offered")
            lines += [f"{finding.family}: {error}" for error in finding.errors if finding.devices]
        return lines

    # ---- nodes and devices

    def node_rows(self) -> list[NodeRow]:
        return self._node_rows(self._nodes.specs)

    def _node_rows(self, ids: Iterable[bytes]) -> list[NodeRow]:
        rows = []
        for node_id in ids:
            spec = self._nodes.specs[node_id]
            alive = node_id not in self._nodes.gone
            totals = available = {}
            if alive:
                totals = _quantities(self._scheduler.node_totals(node_id))
                available = _quantities(self._scheduler.node_available(node_id))
                if spec.is_head and "object_store_memory" in available:  # all nodes share the one store
                    available["object_store_memory"] -= self._arena_used()
            rows.append(
                NodeRow(
                    node_id.hex(),
                    spec.name,
                    alive,
                    spec.is_head,
                    totals,
                    available,
                    spec.labels,
                    self._nodes.address,
                    self._nodes.gone.get(node_id, ""),
                    **(self._of_type(spec, alive) if spec.node_type else {}),
                )
            )
        return rows

    def _of_type(self, spec: NodeSpec, alive: bool) -> dict[str, Any]:
        """The fields of a node that was asked for: since when it is idle, when it may leave, and what keeps it."""
        if not alive:
            return {"node_type": spec.node_type}
        place, offset = self._scheduler.node_place(spec.node_id), time.time() - self._records.clock()
        leaves_at = self._scheduler.leaves_at(spec.node_id)
        if place is None or leaves_at is None:
            return {"node_type": spec.node_type}
        needed = self._scheduler.needed_for(spec.node_id)
        return {
            "node_type": spec.node_type,
            "idle_since": place.idle_since + offset,
            "leaves_at": None if needed else leaves_at + offset,
            "kept_by": place.kept_by or expected_growth.stays_for(needed, self._growing.requests()),
            "kept_objects": self._growing.kept_objects(spec.node_id) if place.kept_by else [],
        }

    def listed_nodes(self) -> list[ListedNode]:
        """Rows of Ray's nodes()."""
        directory = self._config.directory
        return [
            ListedNode(
                NodeID=row.node_id,
                Alive=row.alive,
                NodeManagerAddress=row.address,
                NodeManagerHostname=row.name,
                NodeManagerPort=0,
                ObjectManagerPort=0,
                ObjectStoreSocketName=directory,
                RayletSocketName=directory,
                MetricsExportPort=0,
                NodeName=row.name,
                alive=row.alive,
                Resources=row.totals,
                Labels=row.labels,
                DeathReasonMessage=row.why,
            )
            for row in self.node_rows()
        ]

    def _resources(self) -> dict[str, tuple[float, float]]:
        sums = self._tallies.resources()
        if "object_store_memory" in sums:  # all nodes share the one store
            free, total = sums["object_store_memory"]
            sums["object_store_memory"] = free - self._arena_used(), total
        return sums

    def device_rows(self) -> list[DeviceRow]:
        return self._device_rows(self._nodes.devices) + self._unoffered_rows()

    def _device_rows(self, ids: Iterable[bytes]) -> list[DeviceRow]:
        rows: list[DeviceRow] = []
        for node_id in ids:
            if node_id not in self._nodes.gone:
                rows += self.rows.devices(node_id, self._nodes.devices[node_id], self._metrics)
        return rows

    def _unoffered_rows(self) -> list[DeviceRow]:
        """Devices of this machine that its node does not offer, with the reason."""
        node = self._nodes
        offered = node.devices.get(node.node_id)
        if node.detection is None or offered is None:
            return []
        rows = []
        for device, why in unoffered(node.detection, offered):
            row = device_row(node.node_id, device, self._metrics.get(device.lease_key))
            row.offered, row.free_reason = False, why
            rows.append(row)
        return rows

    # ---- tasks, actors, workers

    def _actors_shown(self, actors: list[ActorEntry]) -> list[ActorEntry]:
        alive = [actor for actor in actors if actor.state != "DEAD"]
        dead = [actor for actor in actors if actor.state == "DEAD"]
        return alive[-100:] + dead[-10:]

    def worker_rows(self) -> list[WorkerRow]:
        return [self._worker(worker) for worker in self._records.workers.values()]

    def _workers_shown(self) -> list[WorkerProcess]:
        workers = list(self._records.workers.values())
        return totals.first(workers, totals.MOST_WORKERS, lambda worker: self._state(worker) in totals.RESTING)

    def _state(self, worker: WorkerProcess) -> str:
        record = self._scheduler.worker_record(worker.worker_id)
        return record.state.name if record is not None else "STOPPING"

    def _worker(self, worker: WorkerProcess) -> WorkerRow:
        record = self._scheduler.worker_record(worker.worker_id)
        first = record.queue[0].task if record is not None and record.queue else None
        running = first.name if first is not None and not first.terms.internal else ""
        return WorkerRow(
            worker.worker_id.hex(), worker.pid, worker.node_id.hex(), self._state(worker), running, worker.used
        )


def _quantities(demand: dict[str, int]) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}
