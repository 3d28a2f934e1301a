"""Builds rows of tasks, actors and devices from given records. The head and the debug engine share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from nbaccel.accelerators import Device, NodeDevices
from nbaccel.accelerators.metrics import DeviceReading as DeviceFacts
from nbaccel.local_engine.head.records import ActorEntry, entry_of
from nbaccel.quantities import UNIT
from nbaccel.scheduling.moves import CANCELLED, FAILED, FINISHED, RUNNING, WAITING
from nbaccel.scheduling.queries import DeviceHolder
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.tasks import FunctionCount, TaskRecord
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import function_rows, palette, trace_events, wording
from nbaccel.views.snapshot import ActorRow, Alert, DeviceMetrics, DeviceRow, FunctionRow, Holder, TaskRow
from nbaccel.views.task_filter import FoundTasks, TaskFilter

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
        self._say_why(waiting)
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

    def _say_why(self, waiting: list[tuple[TaskRecord, TaskRow]]) -> None:
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
            task_id=task.task_id.hex(),
            name=terms.name,
            kind=terms.kind.words,
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
        return function_rows.rows(numbers, shown)

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
        self._say_why([(record, row) for record, row in rows if row.state.startswith("PENDING")])
        numbers = Counter((record.count, record.state) for record in passing)
        by_function = ((_subject(count), state.name, number) for (count, state), number in numbers.items())
        shown = [row for _record, row in rows]
        return FoundTasks(shown, len(passing), function_rows.rows((each for each in by_function if each[0]), shown))

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
