"""What the head knows as rows of plain data, for Ray's state questions and for the timeline."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbaccel.local_engine.head.snapshot_builder import SnapshotBuilder, plain

if TYPE_CHECKING:
    from nbaccel.local_engine.head.head_records import HeadRecords
    from nbaccel.local_engine.head.records import Job
    from nbaccel.views.snapshot import Alert

MOST_IN_TIMELINE = 10_000


class StateRows:
    """Reads the head's records."""

    def __init__(self, builder: SnapshotBuilder, records: HeadRecords, alerts: Callable[[], list[Alert]]) -> None:
        self._builder = builder
        self._records = records
        self._table: dict[str, Callable[[int], list[Any]]] = {
            "tasks": lambda most: [plain(row) for row in builder.rows.tasks(most, most, most)],
            "actors": lambda most: [
                plain(builder.rows.actor(entry)) for entry in islice(records.actors.values(), most)
            ],
            "workers": lambda most: [plain(row) for row in builder.worker_rows()],
            "nodes": lambda most: [plain(row) for row in builder.node_rows()],
            "groups": lambda most: records.groups.rows(),
            "objects": self._object_rows,
            "jobs": lambda most: [_job(job) for job in records.jobs.values()],
            "runtime_envs": lambda most: records.environments.rows(records.nodes.node_id.hex()),
            "events": lambda most: [plain(alert) for alert in alerts()],
        }

    def of(self, what: str, most: int) -> list[Any]:
        """At most so many rows of a kind."""
        read = self._table.get(what)
        return read(most)[:most] if read is not None else []

    def _object_rows(self, most: int) -> list[dict[str, Any]]:
        objects = self._records.objects
        found = ((id, record) for id, record in objects.records.items() if id not in objects.actor_ids)
        return [_object(id, record) | self._owner(record.owner) for id, record in islice(found, most)]

    def _owner(self, client_id: int) -> dict[str, Any]:
        """The process that made the object's id, where it still holds it."""
        peer = self._records.peers.get(client_id)
        if peer is not None and peer.worker is not None:
            return {"type": "Worker", "pid": peer.worker.pid}
        return {"type": "Driver", "pid": peer.hello.pid} if peer is not None and peer.hello is not None else {}

    def location(self, object_id: bytes) -> dict[str, Any]:
        """Where an object's bytes are; what travels inside messages lies on no node."""
        record = self._records.objects.records.get(object_id)
        if record is None or record.value is None:
            return {"node_ids": [], "object_size": None, "did_spill": record is not None and bool(record.spilled)}
        if record.value.data is not None:
            return {"node_ids": [], "object_size": len(record.value.data), "did_spill": False}
        nodes = record.nodes if record.nodes is not None else {self._records.nodes.node_id}
        return {
            "node_ids": sorted(id.hex() for id in nodes),
            "object_size": record.value.size,
            "did_spill": bool(record.spilled),
        }

    def timeline(self) -> list[dict[str, Any]]:
        """Chrome trace events of the tasks that are known, on lanes of workers and of devices."""
        rows = self._builder.rows
        return rows.timeline(MOST_IN_TIMELINE, lambda row: f"worker {row.pid or (row.worker_id or '')[:8]}")


def _object(id: bytes, record: Any) -> dict[str, Any]:
    value = record.value
    if value is None:
        size, place = None, "disk" if record.spilled else "pending"
    elif value.data is not None:
        size, place = len(value.data), "inline"
    else:
        size, place = value.size, "disk" if record.spilled else "shared memory"
    kind = "LOCAL_REFERENCE" if record.owner >= 0 else "USED_BY_PENDING_TASK" if record.pins else "BORROWED"
    return {
        "object_id": id.hex(),
        "object_size": size,
        "place": place,
        "reference_type": kind,
        "task_status": "FINISHED" if value is not None else "NIL",
        "holders": len(record.holders or ()) + (record.owner >= 0),
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.number.to_bytes(4, "big").hex(),
        "status": "SUCCEEDED" if job.ended else "RUNNING",
        "pid": job.hello.pid,
        "entrypoint": job.hello.title,
        "start_time": job.started_at,
    }
