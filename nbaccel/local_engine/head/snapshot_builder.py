"""Turns the head's records into one Snapshot, and into the rows of Ray's own questions.

Sums over all nodes of a head, which cost a snapshot only the nodes that have changed since the last one.

Of each node it is remembered what it has, what is free and who holds its devices. A place of the scheduler counts its
changes (`Place.version`), so that a look at ten thousand quiet nodes is ten thousand comparisons of a number.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from nbaccel import __version__
from nbaccel.accelerators import Device, NodeDevices
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.accelerators.metrics import DeviceReading as DeviceFacts
from nbaccel.accelerators.report import unoffered
from nbaccel.local_engine.head.records import ActorEntry, WorkerProcess, entry_of
from nbaccel.local_engine.head.worker_processes import Load
from nbaccel.quantities import UNIT
from nbaccel.scheduling.moves import CANCELLED, FAILED, FINISHED, RUNNING, WAITING
from nbaccel.scheduling.queries import DeviceHolder
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.tasks import FunctionCount, TaskRecord
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import explanations, palette, task_lines, totals, trace_events, wording
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    ArrivalRow,
    DeviceCount,
    DeviceMetrics,
    DeviceRow,
    FunctionRow,
    Holder,
    JobRow,
    ListedNode,
    NodeRow,
    NodeTypeRow,
    PublishedRow,
    RequestRow,
    Runtime,
    Snapshot,
    TaskRow,
    WorkerRow,
)
from nbaccel.views.task_filter import FoundTasks, TaskFilter

if TYPE_CHECKING:
    from nbaccel.local_engine.head.boot import Config
    from nbaccel.local_engine.head.devices.node_devices import Nodes
    from nbaccel.local_engine.head.records import HeadRecords
    from nbaccel.scheduling.events import NodeSpec
    from nbaccel.scheduling.ledger import Place

_FACTS = ("total", "held", "taken", "logical", "simulated")


class NodeTally(msgspec.Struct):
    """What was counted of a node when its place had this version."""

    place: Place
    version: int
    calm: int  # see totals.choose
    devices: int
    has: dict[str, int]  # resource -> amount
    free: dict[str, int]
    facts: dict[tuple[str, str], int]  # resource and fact -> number of devices
    shared: Counter[tuple[str, int]]  # resource and free amount -> number of devices of which only a part is held


class NodeTallies:
    """The tallies of the living nodes, and their sums."""

    def __init__(self, scheduler: Scheduler, nodes: Nodes) -> None:
        self._scheduler, self._nodes = scheduler, nodes
        self._of: dict[bytes, NodeTally] = {}
        self._has: Counter[str] = Counter()
        self._free: Counter[str] = Counter()
        self._facts: Counter[tuple[str, str]] = Counter()
        self._shared: Counter[tuple[str, int]] = Counter()

    def look(self) -> None:
        """Count the nodes again that have changed."""
        known, gone = self._of, self._nodes.gone
        for node_id, spec in self._nodes.specs.items():
            tally = known.get(node_id)
            if tally is not None and tally.version == tally.place.version and node_id not in gone:
                continue
            if tally is not None:
                self._add(known.pop(node_id), -1)
            place = self._scheduler.node_place(node_id) if node_id not in gone else None
            if place is not None:
                known[node_id] = tally = self._count(node_id, place, is_head=spec.is_head)
                self._add(tally, 1)

    def _count(self, node_id: bytes, place: Place, *, is_head: bool) -> NodeTally:
        has, free = self._scheduler.node_totals(node_id), self._scheduler.node_available(node_id)
        tally = NodeTally(place, place.version, 0, 0, has, free, {}, Counter())
        is_troubled, is_busy = bool(place.kept_by), any(free[name] < amount for name, amount in has.items())
        offered = self._nodes.devices.get(node_id, NodeDevices({}))
        for resource, devices in offered.devices.items():
            tally.devices += len(devices)
            for device, state in zip(devices, place.devices.get(resource, ()), strict=False):
                left, is_held = max(state.free_amount(), 0), bool(state.holds)
                is_taken = bool(state.reason) and not is_held
                is_troubled, is_busy = is_troubled or bool(state.reason), is_busy or is_held
                for fact, number in zip(_FACTS, _facts(is_held, is_taken, device.kind.value), strict=True):
                    tally.facts[resource, fact] = tally.facts.get((resource, fact), 0) + number
                if is_held and left:
                    tally.shared[resource, left] += 1
        moves = bool(place.node_type)
        calm = totals.TROUBLED if is_troubled else totals.BUSY if is_busy else totals.MOVING if moves else totals.IDLE
        tally.calm = 0 if is_head else calm
        return tally

    def _add(self, tally: NodeTally, sign: int) -> None:
        for sums, of in ((self._has, tally.has), (self._free, tally.free)):
            for name, amount in of.items():
                sums[name] += sign * amount
        for fact, number in tally.facts.items():
            self._facts[fact] += sign * number
        for part, number in tally.shared.items():
            self._shared[part] += sign * number

    # ---- what a snapshot says

    def shown(self) -> list[bytes]:
        """The nodes that have rows, in their order: the newest that have gone, and those that are least calm."""
        gone = self._nodes.gone
        newest = set(list(gone)[-totals.MOST_GONE :])
        ids = [node_id for node_id in self._nodes.specs if node_id in self._of or node_id in newest]

        def calm(node_id: bytes) -> int:
            tally = self._of.get(node_id)
            return tally.calm if tally is not None else totals.TROUBLED

        def devices(node_id: bytes) -> int:
            tally = self._of.get(node_id)
            return tally.devices if tally is not None else 0

        if len(ids) <= totals.MOST_NODES and sum(map(devices, ids)) <= totals.MOST_DEVICES:
            return ids
        return totals.choose(ids, calm, totals.MOST_NODES, totals.MOST_DEVICES, devices)

    def node_counts(self) -> dict[str, int]:
        return {"alive": len(self._of), "gone": len(self._nodes.gone)}

    def device_counts(self) -> list[DeviceCount]:
        """The numbers of devices by resource."""
        return [self._device_count(name) for name, fact in self._facts if fact == "total" and self._facts[name, fact]]

    def _device_count(self, resource: str) -> DeviceCount:
        left = {amount: number for (name, amount), number in self._shared.items() if name == resource and number}
        return DeviceCount(
            resource,
            **{fact: self._facts[resource, fact] for fact in _FACTS},
            shared=sum(left.values()),
            most_free=max(left, default=0) / UNIT,
            least_free=min(left, default=0) / UNIT,
        )

    def resources(self) -> dict[str, tuple[float, float]]:
        """What is free of each resource on all living nodes, and all of it."""
        return {name: (self._free[name] / UNIT, amount / UNIT) for name, amount in self._has.items() if amount}


def _facts(is_held: bool, is_taken: bool, kind: str) -> Iterable[int]:
    return 1, is_held, is_taken, kind == "logical", kind == "simulated"


MOST_FAILED = 50  # the newest failures and long runs, however much has ended since
MOST_LOOKED_AT = 2_000  # of those that wait, for functions that have no row yet
MOST_EXPLAINED = 50  # a reason costs some 20 µs of the head's loop, and 10 µs for each node
MOST_NODES_EXPLAINED = 128  # of more, a row says in short why it waits; `explain()` still says all

_ENDED = (FINISHED, FAILED, CANCELLED)

PidOf = Callable[[bytes], int | None]  # the process of a worker, by the worker's id


class Rows:
    """Reads the scheduler's records and the entries that belong to them."""

    def __init__(self, scheduler: Scheduler, pid_of: PidOf, clock: Callable[[], float]) -> None:
        self._scheduler = scheduler
        self._pid_of = pid_of
        self._clock = clock

    # ---- devices

    def devices(
        self, node_id: bytes, offered: NodeDevices, metrics: Mapping[str, DeviceFacts] | None = None
    ) -> list[DeviceRow]:
        """The devices that a node offers, with who holds them; `metrics` are what was measured, by lease key."""
        holders = self._holders(node_id)
        states = {(device.spec.resource, device.spec.index): device for device in self._scheduler.devices(node_id)}
        rows = []
        for resource, devices in offered.devices.items():
            for device in devices:
                row = device_row(node_id, device, (metrics or {}).get(device.lease_key))
                state = states.get((resource, device.index))
                if state is not None:
                    row.free, row.free_reason = max(state.free_amount(), 0) / UNIT, state.reason
                row.holders = holders.get((resource, device.index), [])
                rows.append(row)
        return rows

    def _holders(self, node_id: bytes) -> dict[tuple[str, int], list[Holder]]:
        found: dict[tuple[str, int], list[Holder]] = {}
        for row in self._scheduler.device_holders(node_id):
            found.setdefault((row.resource, row.index), []).append(self._holder(row))
        return found

    def _holder(self, row: DeviceHolder) -> Holder:
        held_by: Any = row.held_by
        actor = getattr(held_by, "creation", None)
        task = (actor.task if actor is not None else getattr(held_by, "task", None)) or None
        if task is None:
            spec = held_by.spec
            name = f"placement group {spec.name or spec.group_id.hex()[:8]}"
            return Holder(name, row.amount / UNIT, job=spec.job)
        entry = entry_of(task)
        terms = entry.terms
        is_actor = terms.kind is TaskKind.ACTOR_CREATION
        return Holder(
            terms.class_name if is_actor else terms.name,
            row.amount / UNIT,
            None if is_actor else task.task_id.hex(),
            task.actor_id.hex() if is_actor and task.actor_id else None,
            self._pid_of(entry.worker_id),
            terms.cell,
            entry.started_at or entry.submitted_at,
            task.job,
        )

    # ---- tasks

    def tasks(self, most_running: int, most_waiting: int, most_ended: int) -> list[TaskRow]:
        """So many of each kind; those that wait with the reason."""
        scheduler = self._scheduler
        rows = [self.task(record) for record in islice(scheduler.running(), most_running)]
        waiting = [(record, self.task(record)) for record in self._waiting(most_waiting)]
        self._report_why(waiting)
        rows += [row for _record, row in waiting]
        rows += [self.task(record) for record in scheduler.ended_and_failed(most_ended, MOST_FAILED)]
        return rows

    def shown(self, most_running: int, most_waiting: int, most_ended: int) -> list[TaskRow]:
        """The same without the constructors of actors that were made."""
        rows = self.tasks(most_running, most_waiting, most_ended)
        return [row for row in rows if row.state != FINISHED.name or row.kind != TaskKind.ACTOR_CREATION.words]

    def _waiting(self, most: int) -> list[TaskRecord]:
        """So many that wait, or more: the first of each line, and of each function among those that are looked at."""
        scheduler = self._scheduler
        seen = list(islice(scheduler.waiting(), max(most, MOST_LOOKED_AT)))
        if len(seen) <= most:
            return seen
        first: dict[tuple[int, int], TaskRecord] = {}
        for record in chain(scheduler.first_of_lines(), seen):
            first.setdefault((id(record.count), id(record.shape)), record)
        shown = {id(record): record for record in islice(first.values(), MOST_EXPLAINED)}
        for record in seen:
            if len(shown) >= most:
                break
            shown.setdefault(id(record), record)
        return list(shown.values())

    def _report_why(self, waiting: list[tuple[TaskRecord, TaskRow]]) -> None:
        for record, row in waiting[:MOST_EXPLAINED]:
            row.why = self._why(record.task.task_id, row.name, row.demand)

    def _why(self, task_id: bytes, name: str, demand: dict[str, float]) -> str:
        """Why it waits. With very many nodes the whole reason would hold the head up."""
        nodes = self._scheduler.node_count()
        if nodes > MOST_NODES_EXPLAINED and self._scheduler.waits_for_room(task_id):
            asked = wording.demand(demand)
            waits = f"{name.removesuffix('.__init__')} waits for {asked}."
            return f"{waits} None of the {nodes} nodes has room for it now; explain() says more."
        explanation = self._scheduler.explain(task_id, self._clock())
        return explanation.sentence if explanation is not None else ""

    def task(self, record: TaskRecord) -> TaskRow:
        task = record.task
        entry = entry_of(task)
        terms = task.terms
        choice = terms.choices[record.choice] if terms.choices else None
        return TaskRow(
            **terms.as_row(),
            task_id=task.task_id.hex(),
            state=record.state.name,
            job=task.job,
            demand={name: amount / UNIT for name, amount in choice.demand} if choice is not None else {},
            device_ids=entry.device_ids or {},
            node_id=entry.node_id.hex() or None,
            worker_id=entry.worker_id.hex() or None,
            pid=self._pid_of(entry.worker_id),
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
            function=terms.function,
            error_type=entry.error_type,
            retryable=entry.retryable,
            retry_of=entry.retry_of.hex(),
        )

    def functions(self, shown: list[TaskRow]) -> list[FunctionRow]:
        """How many tasks each function has had, those of the shown tasks first."""
        numbers: list[tuple[str, str, int]] = []
        for count, running in self._scheduler.tasks_by_function():
            subject = _subject(count)
            if subject:
                endings = dict(zip(_ENDED, count.endings, strict=True))
                if count.kind is TaskKind.ACTOR_CREATION:
                    del endings[FINISHED]
                numbers += [(subject, state.name, number) for state, number in endings.items()]
                numbers.append((subject, RUNNING.name, running))
                numbers.append((subject, WAITING.name, count.unfinished - running))
        return task_lines.rows_of_functions(numbers, shown)

    def made(self) -> int:
        """How many constructors have finished: an actor that lives is no finished task."""
        made = TaskKind.ACTOR_CREATION
        return sum(count.endings[0] for count, _ in self._scheduler.tasks_by_function() if count.kind is made)

    def failures(self, counts: dict[str, int], started_at: float) -> list[Alert]:
        """What a snapshot says of the tasks that failed."""
        ended = self._scheduler.ended() if counts[FAILED.name] else ()
        last = next((self.task(record) for record in ended if record.state is FAILED), None)
        return Alert.of_failures(counts, last, started_at)

    def found(self, wanted: TaskFilter) -> FoundTasks:
        """Those that pass a filter, with the reason of those that wait, and how many pass.

        A row is made only for those that are shown.
        """
        passing = list(self._passing(wanted))
        chosen = wanted.chosen(passing, lambda record: (record.state.name, record.task.submitted_at))
        rows = [(record, self.task(record)) for record in chosen]
        self._report_why([(record, row) for record, row in rows if row.state.startswith("PENDING")])
        numbers = Counter((record.count, record.state) for record in passing)
        by_function = ((_subject(count), state.name, number) for (count, state), number in numbers.items())
        shown = [row for _record, row in rows]
        return FoundTasks(
            shown, len(passing), task_lines.rows_of_functions((each for each in by_function if each[0]), shown)
        )

    def _passing(self, wanted: TaskFilter) -> Iterator[TaskRecord]:
        scheduler = self._scheduler
        seen: set[bytes] = set()  # a constructor that runs once more has an old record beside the new one
        for record in chain(scheduler.running(), scheduler.waiting(), scheduler.ended()):
            task = record.task
            if task.task_id in seen or is_made(record):
                continue
            seen.add(task.task_id)
            if wanted.function and _subject(record.count) != wanted.function:
                continue
            if wanted.may_pass(record.state.name, task.terms.cell, task.job) and (
                not wanted.text or wanted.has_text(self.task(record))
            ):
                yield record

    def timeline(self, most: int, lane_of: Callable[[TaskRow], str]) -> list[dict[str, Any]]:
        """Chrome trace events of the tasks that are known, on a lane for each process and on those of devices."""

        def times_of(row: TaskRow) -> Sequence[float]:
            record = self._scheduler.task_record(bytes.fromhex(row.task_id))
            times: Sequence[float] = entry_of(record.task).times if record is not None else []
            return times

        return trace_events.of_rows(self.tasks(most, 0, most), lane_of, times_of)

    # ---- actors

    def actor(self, entry: ActorEntry) -> ActorRow:
        record = self._scheduler.actor_record(entry.actor_id)
        terms = entry.terms
        made = entry_of(entry.creation)
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
            pid=self._pid_of(entry.worker_id),
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
        made = entry_of(entry.creation)
        demand = {name: amount / UNIT for name, amount in entry.terms.demand_of(made.choice)}
        return self._why(entry.creation.task_id, entry.terms.class_name, demand)


def is_made(record: TaskRecord) -> bool:
    """Whether it is the constructor of an actor that was made."""
    return record.state is FINISHED and record.task.kind is TaskKind.ACTOR_CREATION


def _subject(count: FunctionCount | None) -> str:
    """The function or class whose tasks are counted; "" for what belongs to none."""
    return palette.subject(count.function, kind=count.kind.words) if count is not None else ""


def device_row(node_id: bytes, device: Device, metrics: DeviceFacts | None = None) -> DeviceRow:
    """What a device is; who holds it, and how much of it is free, is said by others."""
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
        free=0.0,
        metrics=_measured(metrics) if metrics is not None else None,
    )


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
        load_of: Callable[[int], Load | None],
    ) -> None:
        self._load_of = load_of
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
            "kept_by": place.kept_by or explanations.stays_for(needed, self._growing.requests()),
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
        state = self._state(worker)
        row = WorkerRow(worker.worker_id.hex(), worker.pid, worker.node_id.hex(), state, running, worker.used)
        if worker.pid is not None and state not in totals.RESTING and (load := self._load_of(worker.pid)) is not None:
            row.cpu_percent, row.memory_bytes = load.cpu_percent, load.memory_bytes
        return row


def _quantities(demand: dict[str, int]) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}
