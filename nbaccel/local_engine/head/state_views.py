"""What can be seen of a head: snapshots, reasons, rows of state, and what drivers and workers publish.

Answers to "why does it wait?" and "what would it meet?", in the words of `nbaccel.views.explanations`.

The scheduler's books say what fits and who holds what. `foreign` reports what no book has: device memory that other
processes use.

Keeps the records that drivers and workers publish until these end, and passes requests to the publishers.
```
  Publish(kind, id, record) ──► RecordBook ──► snapshots
  ReadRows(id, since)       ──► RecordBook ──► the rows of a record that have changed
  QueryPublisher(id, what)    ──► RecordBook ──► PublisherRequest(id, what) to whoever has published it
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Raw
from msgspec.msgpack import encode

from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Peer, QuestionError, Send, id_of
from nbaccel.local_engine.head.records import HeadRecords, entry_of
from nbaccel.local_engine.head.snapshot_builder import NO_GROWTH, Growing, PidOf, Rows, SnapshotBuilder
from nbaccel.local_engine.head.worker_processes import Load
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.quantities import UNIT
from nbaccel.scheduling.explain import HolderFact, TaskExplanation
from nbaccel.scheduling.terms import Choice
from nbaccel.views import explanations, observer_lines, wording
from nbaccel.views.observer_lines import QueryPublisher, ReadRows, Row
from nbaccel.views.record_book import RecordBook, RowsAnswer
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    DeviceRow,
    ListedDriver,
    ListedEnvironment,
    ListedGroup,
    ListedObject,
    NodeRow,
    ObjectPlaces,
    PublishedRow,
    Snapshot,
    TaskRow,
    WorkerRow,
)

if TYPE_CHECKING:
    from nbaccel.local_engine.head.objects.tables import ObjectRecord
    from nbaccel.local_engine.head.records import Job

MOST_EXPLAINED = 50
TASK_ID_BYTES, GROUP_ID_BYTES = 24, 18


class Foreign(Protocol):
    """Use of the devices from outside of this cluster."""

    def look(self) -> None:
        """Check the devices again, for the next question."""

    def of(self, resources: list[str]) -> list[str]:
        """One line for each device of these resources that others use."""


class NobodyElse:
    """No device is shared with anybody."""

    def look(self) -> None:
        """Nothing to check."""

    def of(self, resources: list[str]) -> list[str]:
        return []


class Reasons:
    """Explains and probes."""

    def __init__(self, records: HeadRecords, pid_of: PidOf, foreign: Foreign) -> None:
        self._scheduler = records.scheduler
        self._actors = records.actors
        self._groups = records.groups
        self._devices = records.nodes.devices  # by node
        self._clock = records.clock
        self._pid_of = pid_of
        self._foreign = foreign

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, what: str | None) -> list[explanations.Explanation]:
        """Explain one task, actor or group by its hex id, or everything that waits. Empty if the id is unknown."""
        self._foreign.look()
        if what is None:
            return self._all()
        id = id_of(what, "a task, an actor or a placement group")
        if id in self._actors:
            return [self._actor(id)]
        group_id = id if len(id) == GROUP_ID_BYTES else self._groups.awaited_by(id[:TASK_ID_BYTES])
        if group_id is not None:
            explanation = self._scheduler.explain_group(group_id, self._clock())
            return [self._row(group_id.hex(), explanation)] if explanation is not None else []
        explanation = self._scheduler.explain(id[:TASK_ID_BYTES], self._clock())
        return [self._row(id[:TASK_ID_BYTES].hex(), explanation)] if explanation is not None else []

    def _all(self) -> list[explanations.Explanation]:
        """The first task of each line, so that no kind of demand is missing, then other tasks, then groups."""
        scheduler, now = self._scheduler, self._clock()
        ids = dict.fromkeys(record.task.task_id for record, _count in scheduler.waiting_shapes())
        ids |= dict.fromkeys(record.task.task_id for record in islice(scheduler.waiting(), MOST_EXPLAINED))
        found = [(id.hex(), scheduler.explain(id, now)) for id in islice(ids, MOST_EXPLAINED)]
        groups = [group for group in scheduler.group_records() if group.state.name != "CREATED"]
        found += [(group.spec.group_id.hex(), scheduler.explain_group(group.spec.group_id, now)) for group in groups]
        return [self._row(id, explanation) for id, explanation in found if explanation is not None]

    def _actor(self, actor_id: bytes) -> explanations.Explanation:
        """Explain an actor: it waits while its constructor waits; later the sentence names its place."""
        entry = self._actors[actor_id]
        creation = self._scheduler.explain(entry.creation.task_id, self._clock())
        if creation is not None and entry.state in ("PENDING_CREATION", "RESTARTING"):
            return msgspec.structs.replace(self._row(actor_id.hex(), creation), state=entry.state)
        name = entry.terms.class_name
        where = wording.device_ids(entry.device_ids or {})
        on, why = (f" on {where}" if where else ""), (f": {entry.why}" if entry.why else "")
        sentence = f"Actor {name} is {entry.state}{on}{why}."
        alive = entry.state == "ALIVE"
        return explanations.Explanation(actor_id.hex(), name, entry.state, sentence, fits_now=alive, ever=alive or None)

    # --- what would it meet ---------------------------------------------------------------------------------------

    def probe(self, choice: Choice) -> explanations.Probe:
        """Whether a task with this demand could start if it were submitted now."""
        self._foreign.look()
        found = self._scheduler.explain_choice(choice, self._clock())
        return self._row("", found).as_probe()

    # --- rows -----------------------------------------------------------------------------------------------------

    def _row(self, id: str, found: TaskExplanation) -> explanations.Explanation:
        resources = found.resources or [name for name in self._device_resources() if name in found.asks]
        foreign = self._foreign.of(resources)
        sentence = found.sentence
        if foreign:
            sentence = f"{sentence.removesuffix('.')}; {'; '.join(foreign)}."
        return explanations.Explanation(
            id=id,
            name=found.name.removesuffix(".__init__"),
            state=found.state,
            sentence=sentence,
            asks=found.asks,
            fits_now=found.fits_now,
            ever=found.ever,
            resources=found.resources,
            fragmented=found.fragmented,
            deadlock=found.deadlock,
            kept=found.kept,
            reason=found.reason,
            holders=[self._holder(fact) for fact in found.holders],
            elsewhere=[*found.elsewhere, *foreign],
            missing=[each.hex() for each in found.missing],
            coming=found.coming,
        )

    def _holder(self, fact: HolderFact) -> explanations.Blocker:
        device = None
        if fact.index is not None:
            device = self._devices[fact.node_id].devices[fact.resource][fact.index].id
        return explanations.Blocker(
            name=fact.name,
            resource=fact.resource,
            amount=fact.amount / UNIT,
            device_id=device,
            cell=fact.cell,
            pid=self._pid(fact),
            since=time.time() - (self._clock() - fact.since),
            task_id=fact.task_id.hex() if fact.task_id else None,
            actor_id=fact.actor_id.hex() if fact.actor_id else None,
            group_id=fact.group_id.hex() if fact.group_id else None,
            for_life=fact.for_life,
            blocked=fact.blocked,
            ending=fact.ending,
            node_id=fact.node_id.hex() if fact.index is not None else "",
        )

    def _pid(self, fact: HolderFact) -> int | None:
        worker_id = b""
        actor = self._actors.get(fact.actor_id) if fact.actor_id else None
        if actor is not None:
            worker_id = actor.worker_id
        elif fact.task_id:
            record = self._scheduler.task_record(fact.task_id)
            worker_id = entry_of(record.task).worker_id if record is not None else b""
        return self._pid_of(worker_id)

    def _device_resources(self) -> list[str]:
        return list(dict.fromkeys(name for offered in self._devices.values() for name in offered.devices))


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


class Published:
    """The published records of a head; a publisher is known by its client id."""

    def __init__(self, peers: Mapping[int, Peer], send: Send, changed: Callable[[], None]) -> None:
        self._peers = peers
        self._send = send
        self._changed = changed
        self._book: RecordBook[int] = RecordBook()

    def answers(self) -> list[Row[Peer]]:
        """The questions that this component answers."""
        return [
            asks.Publish.answered_by(self._publish),
            QueryPublisher.answered_by(self._ask),
            ReadRows.answered_by(self._read_rows),
        ]

    def _publish(self, peer: Peer, asked: asks.Publish) -> None:
        if asked.record is None:
            self._book.withdraw(peer.client_id, asked.id)
        else:
            try:
                self._book.publish(peer.client_id, asked.kind, asked.id, asked.record, peer.job, asked.rows)
            except ValueError as error:
                raise QuestionError("ValueError", str(error)) from None
        self._changed()

    def _ask(self, peer: Peer, asked: QueryPublisher) -> None:
        try:
            publisher = self._peers.get(self._book.publisher_of(asked.id))
        except ValueError as error:
            raise QuestionError("ValueError", str(error)) from None
        if publisher is not None and not publisher.closed:
            self._send(publisher, wire.PublisherRequest(asked.id, asked.what))

    def _read_rows(self, peer: Peer, asked: ReadRows) -> RowsAnswer:
        try:
            return self._book.read_rows(asked.id, asked.since)
        except ValueError as error:
            raise QuestionError("ValueError", str(error)) from None

    def client_gone(self, client_id: int) -> None:
        """A client has gone: withdraw its records."""
        if self._book.publisher_gone(client_id):
            self._changed()

    def rows(self) -> list[PublishedRow]:
        return self._book.rows()


class ClusterAnswers:
    """Answers to questions about nodes, resources, tasks and objects."""

    def __init__(
        self,
        builder: SnapshotBuilder,
        state_rows: StateRows,
        reasons: Reasons,
        *,
        snapshot: Callable[[], Snapshot],
    ) -> None:
        self._builder = builder
        self._state_rows = state_rows
        self._reasons = reasons
        self._snapshot = snapshot

    def answers(self) -> list[Row[Peer]]:
        """The rows of the table of questions."""
        builder, state_rows, reasons = self._builder, self._state_rows, self._reasons
        return [
            asks.ListNodes.answered_by(lambda peer, asked: builder.listed_nodes()),
            asks.TotalResources.answered_by(lambda peer, asked: self._totals()),
            asks.FreeResources.answered_by(lambda peer, asked: self._free()),
            asks.ProbeChoice.answered_by(lambda peer, asked: reasons.probe(asked.choice)),
            asks.ReadState.answered_by(lambda peer, asked: Raw(encode(state_rows.of(asked.kind, asked.limit)))),
            asks.ReadTimeline.answered_by(lambda peer, asked: state_rows.timeline()),
            asks.LocateObjects.answered_by(lambda peer, asked: [state_rows.location(id) for id in asked.ids]),
            observer_lines.TakeSnapshot.answered_by(lambda peer, asked: self._asked_snapshot(whole=asked.whole)),
            observer_lines.Explain.answered_by(lambda peer, asked: reasons.explain(asked.task_id)),
            observer_lines.FindTasks.answered_by(lambda peer, asked: builder.rows.found(asked.filter)),
        ]

    def _asked_snapshot(self, *, whole: bool) -> Snapshot:
        return self._builder.whole(self._snapshot()) if whole else self._snapshot()

    def _totals(self) -> dict[str, float]:
        return _sum([row.totals for row in self._builder.node_rows() if row.alive])

    def _free(self) -> dict[str, float]:
        free = _sum([row.available for row in self._builder.node_rows() if row.alive])
        return {name: amount for name, amount in free.items() if amount}


def _sum(quantities: list[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in quantities:
        for name, amount in each.items():
            total[name] = total.get(name, 0.0) + amount
    return total


class StateViews:
    """Everything that one head has for those who look at it. `changed` is called when published records change."""

    def __init__(
        self,
        config: Config,
        records: HeadRecords,
        send: Send,
        *,
        pid_of: PidOf,
        foreign: Foreign,
        metrics: Mapping[str, DeviceReading],
        alerts: Callable[[], list[Alert]],
        arena_used: Callable[[], int],
        started_at: float,
        changed: Callable[[], None],
        snapshot: Callable[[], Snapshot],
        growing: Growing = NO_GROWTH,
        load_of: Callable[[int], Load | None] = lambda pid: None,
    ) -> None:
        self.published = Published(records.peers, send, changed)
        self.snapshot_builder = SnapshotBuilder(
            config,
            records,
            Rows(records.scheduler, pid_of, records.clock),
            published=self.published.rows,
            metrics=metrics,
            alerts=alerts,
            arena_used=arena_used,
            started_at=started_at,
            growing=growing,
            load_of=load_of,
        )
        reasons = Reasons(records, pid_of, foreign)
        rows = StateRows(self.snapshot_builder, records, alerts)
        self._cluster_answers = ClusterAnswers(self.snapshot_builder, rows, reasons, snapshot=snapshot)

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of the views."""
        return [*self._cluster_answers.answers(), *self.published.answers()]
