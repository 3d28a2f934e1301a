"""The head's records drawn as one Snapshot, and as the rows that Ray's own questions return."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbaccel import __version__
from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceMetrics as DeviceFacts
from nbaccel.accelerators.report import unoffered
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry
from nbaccel.scheduling.events import UNIT
from nbaccel.scheduling.moves import FAILED
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    DeviceMetrics,
    DeviceRow,
    GroupRow,
    Holder,
    JobRow,
    NodeRow,
    Runtime,
    Snapshot,
    TaskRow,
    WorkerRow,
)

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head

MOST_WAITING, MOST_RUNNING, MOST_ENDED = 20, 50, 20
MOST_FAILED = 50  # the newest failures, however much has ended since
MOST_JOBS = 100
MOST_ALERTS = 20
MOST_EXPLAINED = 50  # a reason costs some 20 µs of the head's loop


class Picture:
    """Draws what the head knows."""

    def __init__(self, head: Head) -> None:
        self._head = head

    def snapshot(self, seq: int, rows: int = 0) -> Snapshot:
        """The picture; `rows` asks for more tasks of each kind than usual."""
        head = self._head
        actors = list(head.actors.values())
        counts = head.scheduler.counts()
        return Snapshot(
            runtime=self._runtime(),
            seq=seq,
            time=time.time(),
            nodes=self.node_rows(),
            devices=self.device_rows(),
            tasks=self.task_rows(max(MOST_RUNNING, rows), max(MOST_WAITING, rows), max(MOST_ENDED, rows)),
            actors=[self.actor(entry) for entry in self._actors_shown(actors)],
            actor_counts=Counter(entry.state for entry in actors),
            workers=self.worker_rows(),
            groups=[GroupRow.from_table(row) for row in head.questions.groups.rows()][-50:],
            jobs=self.job_rows(),
            alerts=[*head.watchers.alerts[-MOST_ALERTS:], *self._failures(counts)],
            counts=counts,
            found=self._found(),
        )

    def _failures(self, counts: dict[str, int]) -> list[Alert]:
        ended = self._head.scheduler.ended() if counts[FAILED.name] else ()
        last = next((self.task(record) for record in ended if record.state is FAILED), None)
        return Alert.of_failures(counts, last, self._head.started_at)

    def _runtime(self) -> Runtime:
        import os

        config = self._head.config
        return Runtime(
            engine="local",
            version=__version__,
            python=sys.version.split()[0],
            pid=os.getpid(),
            session=config.session,
            address=os.path.join(config.directory, "head.sock"),
            shared=config.shared,
            started_at=self._head.started_at,
            log_dir=os.path.join(config.directory, "logs"),
        )

    def job_rows(self) -> list[JobRow]:
        """The drivers of a shared head, those that have left too: some of what they did is still shown."""
        if not self._head.config.shared:
            return []
        jobs = list(self._head.jobs.values())[-MOST_JOBS:]
        return [JobRow(job.number, job.name, job.hello.pid) for job in jobs]

    def _found(self) -> list[str]:
        detection = self._head.nodes.detection
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
        head, rows = self._head, []
        for node_id, spec in head.nodes.specs.items():
            alive = node_id not in head.nodes.gone
            totals = available = {}
            if alive:
                totals = _quantities(head.scheduler.node_totals(node_id))
                available = _quantities(head.scheduler.node_available(node_id))
                if spec.is_head and "object_store_memory" in available:  # all nodes share the one store
                    available["object_store_memory"] -= head.store.arena.used
            rows.append(
                NodeRow(
                    node_id.hex(),
                    spec.name,
                    alive,
                    spec.is_head,
                    totals,
                    available,
                    spec.labels,
                    head.nodes.address,
                    head.nodes.gone.get(node_id, ""),
                )
            )
        return rows

    def nodes_as_dicts(self) -> list[dict[str, Any]]:
        """Ray's nodes()."""
        return [
            {
                "NodeID": row.node_id,
                "Alive": row.alive,
                "NodeManagerAddress": row.address,
                "NodeManagerHostname": row.name,
                "NodeManagerPort": 0,
                "ObjectManagerPort": 0,
                "ObjectStoreSocketName": self._head.config.directory,
                "RayletSocketName": self._head.config.directory,
                "MetricsExportPort": 0,
                "NodeName": row.name,
                "alive": row.alive,
                "Resources": row.totals,
                "Labels": row.labels,
                "DeathReasonMessage": row.why,
            }
            for row in self.node_rows()
        ]

    def device_rows(self) -> list[DeviceRow]:
        head, rows = self._head, []
        for node_id, offered in head.nodes.devices.items():
            if node_id in head.nodes.gone:
                continue
            holders = self._holders(node_id)
            states = {(device.spec.resource, device.spec.index): device for device in head.scheduler.devices(node_id)}
            for resource, devices in offered.devices.items():
                for device in devices:
                    state = states.get((resource, device.index))
                    rows.append(self._device(node_id, device, state, holders.get((resource, device.index), [])))
        return rows + self._unoffered_rows()

    def _unoffered_rows(self) -> list[DeviceRow]:
        """Devices of this machine that were found, but that its node does not offer, with the reason."""
        node = self._head.nodes
        offered = node.devices.get(node.node_id)
        if node.detection is None or offered is None:
            return []
        rows = []
        for device, why in unoffered(node.detection, offered):
            row = self._device(node.node_id, device, None, [])
            row.offered, row.free_reason = False, why
            rows.append(row)
        return rows

    def _holders(self, node_id: bytes) -> dict[tuple[str, int], list[Holder]]:
        found: dict[tuple[str, int], list[Holder]] = {}
        for row in self._head.scheduler.device_holders(node_id):
            found.setdefault((row.resource, row.index), []).append(self._holder(row))
        return found

    def _holder(self, row: Any) -> Holder:
        held_by = row.held_by
        actor = getattr(held_by, "creation", None)
        task = (actor.task if actor is not None else getattr(held_by, "task", None)) or None
        if task is None:
            spec = held_by.spec
            name = f"placement group {spec.name or spec.group_id.hex()[:8]}"
            return Holder(name, row.amount / UNIT, job=spec.job)
        entry: TaskEntry = task.payload
        terms = entry.terms
        worker = self._head.workers.by_id.get(entry.worker_id)
        is_actor = terms.kind is TaskKind.ACTOR_CREATION
        return Holder(
            terms.class_name if is_actor else terms.name,
            row.amount / UNIT,
            None if is_actor else task.task_id.hex(),
            task.actor_id.hex() if is_actor and task.actor_id else None,
            worker.pid if worker is not None else None,
            terms.cell,
            entry.started_at or entry.submitted_at,
            task.job,
        )

    def _device(self, node_id: bytes, device: Device, state: Any, holders: list[Holder]) -> DeviceRow:
        metrics = self._head.devices.watch.metrics.get(device.lease_key)
        return DeviceRow(
            node_id=node_id.hex(),
            resource=device.resource,
            index=device.index,
            id=device.id,
            vendor=device.vendor,
            family=device.family,
            kind=device.kind.value,
            type=device.type,
            name=device.name,
            uuid=device.uuid,
            parent=device.parent,
            profile=device.profile,
            offered=device.offered,
            memory_bytes=device.memory_bytes,
            free=max(state.room(), 0) / UNIT if state is not None else 0.0,
            free_reason=state.reason if state is not None else "",
            holders=holders,
            metrics=_measured(metrics) if metrics is not None else None,
        )

    # ---- tasks, actors, workers

    def task_rows(self, most_running: int, most_waiting: int, most_ended: int) -> list[TaskRow]:
        scheduler = self._head.scheduler
        rows = [self.task(record) for record in islice(scheduler.running(), most_running)]
        now = time.monotonic()
        for number, record in enumerate(islice(scheduler.waiting(), most_waiting)):
            row = self.task(record)
            explanation = scheduler.explain(record.task.task_id, now) if number < MOST_EXPLAINED else None
            row.why = explanation.sentence if explanation is not None else ""
            rows.append(row)
        rows += [self.task(record) for record in scheduler.ended_and_failed(most_ended, MOST_FAILED)]
        return rows

    def task(self, record: Any) -> TaskRow:
        task = record.task
        entry: TaskEntry = task.payload
        terms = entry.terms
        worker = self._head.workers.by_id.get(entry.worker_id)
        choice = terms.choices[record.choice] if terms.choices else None
        return TaskRow(
            task_id=task.task_id.hex(),
            name=terms.name,
            kind=task.kind.words,
            state=record.state.name,
            job=task.job,
            demand={name: amount / UNIT for name, amount in choice.demand} if choice is not None else {},
            device_ids=entry.device_ids or {},
            node_id=entry.node_id.hex() or None,
            worker_id=entry.worker_id.hex() or None,
            pid=worker.pid if worker is not None else None,
            actor_id=task.actor_id.hex() if task.actor_id else None,
            parent_task_id=task.parent_task_id.hex() if task.parent_task_id else None,
            cell=terms.cell,
            submitted_at=entry.submitted_at,
            started_at=entry.started_at,
            finished_at=entry.finished_at,
            why=entry.note,
            choice=choice.label if choice is not None else "",
            choice_why=record.choice_why,
            attempt=record.attempt,
            peak_memory_bytes=entry.peak_memory,
            hint=entry.hint,
            progress=entry.progress,
            function=terms.name
            if terms.kind is TaskKind.ACTOR_CREATION
            else ".".join(filter(None, (terms.class_name, terms.method))),
            error_type=entry.error_type,
        )

    def _actors_shown(self, actors: list[ActorEntry]) -> list[ActorEntry]:
        alive = [actor for actor in actors if actor.state != "DEAD"]
        dead = [actor for actor in actors if actor.state == "DEAD"]
        return alive[-100:] + dead[-10:]

    def actor(self, entry: ActorEntry) -> ActorRow:
        record = self._head.scheduler.actor_record(entry.actor_id)
        terms = entry.terms
        worker = self._head.workers.by_id.get(entry.worker_id)
        made: TaskEntry = entry.creation.payload
        return ActorRow(
            actor_id=entry.actor_id.hex(),
            class_name=terms.class_name,
            state=entry.state,
            job=entry.job,
            name=entry.name,
            namespace=entry.namespace,
            demand={name: amount / UNIT for name, amount in terms.demand_of(made.choice)},
            device_ids=entry.device_ids or {},
            node_id=entry.node_id.hex() or None,
            worker_id=entry.worker_id.hex() or None,
            pid=worker.pid if worker is not None else None,
            cell=terms.cell,
            since=entry.since,
            restarts=entry.restarts,
            pending_calls=record.waiting + len(record.sent) if record is not None else 0,
            why=entry.why or self._why_it_waits(entry),
            detached=terms.actor.detached,
            choice=terms.choices[made.choice].label,
            choice_why=made.choice_why,
        )

    def _why_it_waits(self, entry: ActorEntry) -> str:
        if entry.state not in ("PENDING_CREATION", "RESTARTING") or entry.creation is None:
            return ""
        explanation = self._head.scheduler.explain(entry.creation.task_id, time.monotonic())
        return explanation.sentence if explanation is not None else ""

    def worker_rows(self) -> list[WorkerRow]:
        rows = []
        for worker in self._head.workers.by_id.values():
            record = self._head.scheduler.worker_record(worker.worker_id)
            running = record.queue[0].task.name if record is not None and record.queue else ""
            state = record.state.name if record is not None else "STOPPING"
            rows.append(
                WorkerRow(worker.worker_id.hex(), worker.pid, worker.node_id.hex(), state, running, worker.used)
            )
        return rows


def _measured(metrics: DeviceFacts) -> DeviceMetrics:
    return DeviceMetrics(
        metrics.utilisation_percent,
        metrics.memory_used_bytes,
        metrics.memory_total_bytes,
        metrics.temperature_celsius,
        metrics.power_watts,
        metrics.processes or [],
        metrics.reasons,
        metrics.sampled_at,
    )


def _quantities(demand: dict[str, int]) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}


def plain(value: Any) -> Any:
    """Records as dicts, enums by name, ids as hex: what MessagePack and JSON can carry."""
    if hasattr(value, "__struct_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
