"""What the head knows as rows, for Ray's state questions and for the timeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.local_engine.head.snapshot_builder import SnapshotBuilder
from nbaccel.views.listed import ListedDriver, ListedEnvironment, ListedGroup, ListedObject, ObjectPlaces
from nbaccel.views.snapshot import ActorRow, Alert, DeviceRow, NodeRow, TaskRow, WorkerRow

if TYPE_CHECKING:
    from nbaccel.local_engine.head.head_records import HeadRecords
    from nbaccel.local_engine.head.objects.tables import ObjectRecord
    from nbaccel.local_engine.head.records import Job

MOST_IN_TIMELINE = 10_000


class StateRows:
    """Reads the head's records."""

    def __init__(self, builder: SnapshotBuilder, records: HeadRecords, alerts: Callable[[], list[Alert]]) -> None:
        self._builder = builder
        self._records = records
        self._table: dict[type[msgspec.Struct], Callable[[int], Sequence[msgspec.Struct]]] = {
            TaskRow: lambda most: builder.rows.tasks(most, most, most),
            ActorRow: self._actor_rows,
            WorkerRow: lambda most: builder.worker_rows(),
            NodeRow: lambda most: builder.node_rows(),
            DeviceRow: lambda most: builder.device_rows(),
            ListedGroup: lambda most: records.groups.rows(),
            ListedObject: self._object_rows,
            ListedDriver: lambda most: [_driver(job) for job in records.jobs.values()],
            ListedEnvironment: lambda most: records.environments.rows(records.nodes.node_id.hex()),
            Alert: lambda most: alerts(),
        }

    def of(self, kind: str, most: int) -> Sequence[msgspec.Struct]:
        """At most so many rows of the kind whose class has this name."""
        read = next((read for row, read in self._table.items() if row.__name__ == kind), None)
        return read(most)[:most] if read is not None else []

    def _actor_rows(self, most: int) -> list[ActorRow]:
        shown = (entry for entry in self._records.actors.values() if not entry.terms.internal)
        return [self._builder.rows.actor(entry) for entry in islice(shown, most)]

    def _object_rows(self, most: int) -> list[ListedObject]:
        objects = self._records.objects
        found = ((id, record) for id, record in objects.records.items() if id not in objects.actor_ids)
        return [self._object(id, record) for id, record in islice(found, most)]

    def _object(self, id: bytes, record: ObjectRecord) -> ListedObject:
        size, place = _size_and_place(record)
        kind, pid = self._owner(record.owner)
        reference = "LOCAL_REFERENCE" if record.owner >= 0 else "USED_BY_PENDING_TASK" if record.pins else "BORROWED"
        return ListedObject(
            id.hex(),
            size,
            place,
            reference,
            task_status="FINISHED" if record.value is not None else "NIL",
            holders=len(record.holders or ()) + (record.owner >= 0),
            type=kind,
            pid=pid,
        )

    def _owner(self, client_id: int) -> tuple[str, int | None]:
        """The kind and pid of the process that made the object's id, where it still holds it."""
        peer = self._records.peers.get(client_id)
        if peer is not None and peer.worker is not None:
            return "Worker", peer.worker.pid
        return ("Driver", peer.hello.pid) if peer is not None and peer.hello is not None else ("", None)

    def location(self, object_id: bytes) -> ObjectPlaces:
        """Where an object's bytes are; what travels inside messages lies on no node."""
        record = self._records.objects.records.get(object_id)
        if record is None or record.value is None:
            return ObjectPlaces([], None, record is not None and bool(record.spilled))
        if record.value.data is not None:
            return ObjectPlaces([], len(record.value.data), False)
        nodes = record.nodes if record.nodes is not None else {self._records.nodes.node_id}
        return ObjectPlaces(sorted(id.hex() for id in nodes), record.value.size, bool(record.spilled))

    def timeline(self) -> list[dict[str, Any]]:
        """Chrome trace events of the tasks that are known, on lanes of workers and of devices."""
        rows = self._builder.rows
        return rows.timeline(MOST_IN_TIMELINE, lambda row: f"worker {row.pid or (row.worker_id or '')[:8]}")


def _size_and_place(record: ObjectRecord) -> tuple[int | None, str]:
    value = record.value
    if value is None:
        return None, "disk" if record.spilled else "pending"
    if value.data is not None:
        return len(value.data), "inline"
    return value.size, "disk" if record.spilled else "shared memory"


def _driver(job: Job) -> ListedDriver:
    return ListedDriver(
        job_id=job.number.to_bytes(4, "big").hex(),
        status="SUCCEEDED" if job.ended else "RUNNING",
        pid=job.hello.pid,
        entrypoint=job.hello.title,
        start_time=job.started_at,
    )
