"""Questions to the scheduler: pure functions, each at the cost of the rows that it returns.

Direct calls, as long as nobody looks, are kept as they were reported:
```
  CallsOpened ──► open ──┬── CallsEnded ──► ended: counted, and the last thousand are kept
                         └── any other event, any question ──► make_records: as if each had been reported now
```
A record costs ten times what it costs to keep a report. So a burst that nobody watches is counted only, and every
decision and every answer still knows each call.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import Any

import msgspec

from nbaccel.scheduling.actors import ActorRecord, ActorTable
from nbaccel.scheduling.events import CallAnswered, CallsEnded, CallsOpened, Demand, GroupRequested, RequestedBundles
from nbaccel.scheduling.explain import Explainer, TaskExplanation
from nbaccel.scheduling.groups import GroupRecord, GroupTable
from nbaccel.scheduling.growth import Growth, GrowthForecast, Launch, TypeRecord
from nbaccel.scheduling.ledger import Hold, LedgerDevice, Place
from nbaccel.scheduling.moves import FAILED, FINISHED, STOPPING, WAITING, ActorStatus, TaskStatus, lengthened
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import Feasibility, judge
from nbaccel.scheduling.tasks import KEEP_ENDED, FunctionCount, TaskRecord, TaskTable
from nbaccel.scheduling.terms import Choice, Task, TaskKind, Terms
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable

Make = Callable[[Any], Task]  # makes a call's task of its report


class LazyCallRecords:
    """The calls without a record."""

    def __init__(self, tasks: TaskTable, admit: Callable[[Task, float], None]) -> None:
        self._tasks = tasks
        self._admit = admit  # makes the record of an open call
        self._ended: deque[tuple[Any, Make, float]] = deque(maxlen=KEEP_ENDED)
        self.open: dict[bytes, tuple[Any, Make, float]] = {}
        self.any = False

    def record(self, task_id: bytes) -> TaskRecord | None:
        """The record of this task, if it has one already. It makes none."""
        return self._tasks.records.get(task_id)

    def opened(self, event: CallsOpened, now: float) -> None:
        """Calls are under way, that nobody has reported before."""
        self.open.update(zip(event.ids, _kept(event, now), strict=False))
        self.any = True

    def over(self, event: CallsEnded, now: float) -> None:
        """Calls without a record have returned."""
        if self.open:
            forget = self.open.pop
            for id in event.ids:
                forget(id, None)
        self._tasks.counts[FINISHED] += len(event.ids)
        count = self._tasks.functions.of(event.terms)
        count.came += len(event.ids)
        count.endings[0] += len(event.ids)
        if not event.terms.internal:  # nobody looks at these, and they would push users' calls out
            self._ended.extend(_kept(event, now))
        self.any = True

    def answered(self, event: CallAnswered, now: float) -> None:
        """A call that failed with its actor, and may be forgotten since, had ended well before."""
        tasks = self._tasks
        for counts, first in ((tasks.counts, 0), (tasks.functions.of(event.terms).endings, FINISHED)):
            counts[FAILED - first] -= 1
            counts[FINISHED - first] += 1
        record = tasks.records.get(event.task_id)
        if record is not None:
            record.state = FINISHED
            record.story = lengthened(record.story, FINISHED, now)

    def make_records(self) -> None:
        """Make the records."""
        self.any = False
        ended, self._ended = self._ended, deque(maxlen=KEEP_ENDED)
        opened, self.open = self.open, {}
        for call, make, now in ended:
            self._tasks.ended_lazily(make(call), now)
        for call, make, now in opened.values():
            self._admit(make(call), now)


def _kept(event: CallsOpened | CallsEnded, now: float) -> Iterable[tuple[Any, Make, float]]:
    return zip(event.reports, repeat(event.make), repeat(now), strict=False)


class DeviceHolder(msgspec.Struct):
    """A holder of one device of a node, with its amount. `held_by` is the group's record if nobody uses its reserve."""

    resource: str
    index: int
    held_by: TaskRecord | ActorRecord | GroupRecord
    amount: int
    since: float


class Queries:
    """The read-only half of the scheduler."""

    _cluster: PlacementBook
    _all_tasks: TaskTable
    _workers: WorkerTable
    _all_actors: ActorTable
    _groups: GroupTable
    _explainer: Explainer
    _growth: Growth
    lazy_calls: LazyCallRecords

    @property
    def _tasks(self) -> TaskTable:
        if self.lazy_calls.any:
            self.lazy_calls.make_records()
        return self._all_tasks

    @property
    def _actors(self) -> ActorTable:
        if self.lazy_calls.any:
            self.lazy_calls.make_records()
        return self._all_actors

    # --- nodes and devices ----------------------------------------------------------------------------------------

    def node_ids(self) -> list[bytes]:
        return list(self._cluster.nodes)

    def node_count(self) -> int:
        return len(self._cluster.nodes)

    def node_totals(self, node_id: bytes) -> Demand:
        """All resources of the node; devices that are not lost are summed for each resource."""
        node = self._cluster.nodes[node_id]
        totals = dict(node.totals)
        for resource, devices in node.devices.items():
            totals[resource] = sum(device.amount for device in devices if not device.lost)
        return totals

    def node_available(self, node_id: bytes) -> Demand:
        """The free resources of the node; never below zero, though a woken parent may have taken more CPU."""
        node = self._cluster.nodes[node_id]
        free = {name: max(0, amount) for name, amount in node.free.items()}
        for resource, devices in node.devices.items():
            free[resource] = sum(max(0, device.free_amount()) for device in devices)
        return free

    def devices(self, node_id: bytes) -> Iterator[LedgerDevice]:
        """The node's devices: `amount`, `limit`, `used`, `reason` and `free_amount()` of each."""
        for devices in self._cluster.nodes[node_id].devices.values():
            yield from devices

    def device_holders(self, node_id: bytes) -> list[DeviceHolder]:
        """One row for each holder of each device, in device order."""
        rows: list[DeviceHolder] = []
        for device in self.devices(node_id):
            groups: dict[Place, Hold] = {}
            for hold, amount in device.holds.items():
                if hold.inner is not None and hold.inner.commons is not None:
                    groups[hold.inner.commons] = hold
                else:
                    rows.append(_row(device, hold, amount))
            for commons, reserve in groups.items():
                rows += _rows_inside(device, commons, reserve)
        return rows

    # --- nodes that come and go -----------------------------------------------------------------------------------

    def node_types(self) -> list[TypeRecord]:
        return list(self._growth.types.values())

    def launches(self) -> list[Launch]:
        """The nodes that were asked for and are not here yet."""
        return list(self._growth.launches.values())

    def growth_forecast(self, bundles: RequestedBundles, now: float) -> GrowthForecast:
        """What a further request for this would bring. Nothing is asked for."""
        return self._growth.forecast(bundles, now)

    def infeasible_requests(self) -> list[Choice]:
        """The parts of the request for resources that no node and no type can meet."""
        return list(self._growth.infeasible)

    def node_place(self, node_id: bytes) -> Place | None:
        return self._cluster.nodes.get(node_id)

    def leaves_at(self, node_id: bytes) -> float | None:
        """When an idle node of a type may leave; None for others."""
        place = self._cluster.nodes.get(node_id)
        return self._growth.leaves_at(place) if place is not None else None

    def needed_for(self, node_id: bytes) -> str:
        """What an idle node of a type stays for: a "request", a "group", its type's "min", or "" for nothing."""
        place = self._cluster.nodes.get(node_id)
        return self._growth.needed_for(place) if place is not None else ""

    # --- tasks ----------------------------------------------------------------------------------------------------

    def waits_for_room(self, task_id: bytes) -> bool:
        """Whether it waits in a line for resources, and not for an argument."""
        record = self._tasks.records.get(task_id)
        return record is not None and record.state == WAITING

    def task_record(self, task_id: bytes) -> TaskRecord | None:
        """A task that is not over, or one of the last thousand that are."""
        if self.lazy_calls.any:
            self.lazy_calls.make_records()
        return self._all_tasks.records.get(task_id)

    def counts(self) -> dict[str, int]:
        """How many tasks of users there are, and were, in each state."""
        tasks, own = self._tasks, self._tasks.functions.internal
        unfinished = Counter(record.state for record in tasks.internal.values())
        hidden = [*(unfinished[state] for state in TaskStatus if state < FINISHED), *own.endings]
        return {state.name: tasks.counts[state] - hidden[state] for state in TaskStatus}

    def all_counts(self) -> list[int]:
        """The same with nbaccel's own tasks, in the order of the states."""
        return list(self._tasks.counts)

    def ended_so_far(self) -> int:
        """How many tasks have ended, nbaccel's own among them."""
        return sum(self._tasks.counts[FINISHED:])

    def unfinished(self) -> int:
        """How many tasks have not ended, nbaccel's own among them."""
        return sum(self._tasks.counts[:FINISHED])

    def tasks_by_function(self) -> Iterator[tuple[FunctionCount, int]]:
        """The counts of each function, and how many of its tasks are with a worker now."""
        running = Counter(record.count for record in self.running())
        for count in self._tasks.functions:
            yield count, running[count]

    def waiting(self) -> Iterator[TaskRecord]:
        """Users' tasks and calls that have not been given a worker: by line, without arguments, then actor calls."""
        yield from (record for record in self._tasks.waiting() if not record.task.terms.internal)
        for actor in self._actors.records.values():
            if actor.waiting and not actor.task.terms.internal:
                for line in actor.lines.values():
                    yield from (record for record in line if not record.over and not record.missing)

    def first_of_lines(self) -> Iterator[TaskRecord]:
        """Of each line of users' tasks the one that waits longest."""
        return (record for record, _ in self.waiting_shapes() if not record.task.terms.internal)

    def running(self) -> Iterator[TaskRecord]:
        """Users' tasks and calls that are with a worker, by worker."""
        if self.lazy_calls.any:
            self.lazy_calls.make_records()
        yield from (record for record in self._with_a_worker() if not record.task.terms.internal)

    def _with_a_worker(self) -> Iterator[TaskRecord]:
        for worker in self._workers.records.values():
            if worker.queue:
                yield from (record for record in worker.queue if not record.over)
            if worker.actor is not None and worker.state is not STOPPING:
                yield from worker.actor.sent.values()

    def waiting_for(self, object_id: bytes) -> list[Task]:
        """The tasks and calls that wait for this argument object."""
        return [record.task for record in self._tasks.awaited.waiting_for(object_id)]

    def unfinished_tasks_of(self, worker_id: bytes) -> Iterator[TaskRecord]:
        """Plain tasks that this worker has submitted and that are not over, in the order in which they came."""
        for record in self._tasks.records.values():
            if record.task.owner_worker == worker_id and not record.over and record.task.kind is TaskKind.TASK:
                yield record

    def unfinished_terms(self) -> Iterable[Terms]:
        """The terms of all tasks that are not over."""
        records = self._all_tasks.records.values()  # calls that have no record run no function of their own
        return {id(record.task.terms): record.task.terms for record in records if not record.over}.values()

    def ended(self) -> Iterator[TaskRecord]:
        """The last thousand tasks of users that are over, newest first."""
        yield from self._tasks.ended()

    def ended_and_failed(self, most: int, most_failed: int) -> list[TaskRecord]:
        """The newest that are over, and the newest that failed or ran for long, however much has ended since."""
        newest = list(islice(self.ended(), most))
        failed = sum(record.is_kept for record in newest)
        older = (record for record in islice(self.ended(), most, None) if record.is_kept)
        return newest + list(islice(older, max(most_failed - failed, 0) if most else 0))

    def waiting_shapes(self) -> Iterator[tuple[TaskRecord, int]]:
        """Of each line: its first task, and how many wait in it. Explaining the first explains them all."""
        for shape in self._tasks.shapes.values():
            first = shape.first() if shape.size else None
            if first is not None:
                yield first, shape.size

    # --- actors, groups, workers ----------------------------------------------------------------------------------

    def actor_record(self, actor_id: bytes) -> ActorRecord | None:
        return self._actors.records.get(actor_id)

    def actor_records(self) -> Iterator[ActorRecord]:
        yield from self._actors.records.values()

    def living_actors_of(self, worker_id: bytes) -> Iterator[ActorRecord]:
        """Actors that this worker has created and that are not dead."""
        for actor in self._actors.records.values():
            if actor.task.owner_worker == worker_id and actor.state is not ActorStatus.DEAD:
                yield actor

    def group_record(self, group_id: bytes) -> GroupRecord | None:
        """A placement group that has not been removed."""
        return self._groups.records.get(group_id)

    def group_records(self) -> Iterator[GroupRecord]:
        yield from self._groups.records.values()

    def worker_record(self, worker_id: bytes) -> WorkerRecord | None:
        return self._workers.records.get(worker_id)

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, task_id: bytes, now: float | None = None) -> TaskExplanation | None:
        """Why this task is where it is; None when it is not known any more."""
        record = self._tasks.records.get(task_id)
        return self._explainer.explain(record, now) if record is not None else None

    def explain_choice(self, choice: Choice, now: float | None = None) -> TaskExplanation:
        """The same for work that has not been submitted: free now, busy and who holds it, or never and why."""
        return self._explainer.choice(choice, now)

    def explain_group(self, group_id: bytes, now: float | None = None) -> TaskExplanation | None:
        """Why a placement group is where it is; None when it was removed."""
        group = self._groups.records.get(group_id)
        return self._explainer.group(group, self._groups.could_ever(group), now) if group is not None else None

    def why_never_placed(self, spec: GroupRequested) -> str:
        """Why a group that asks for this could never be placed; "" if it could. Nothing is asked for."""
        group = GroupRecord(spec, 0.0)
        return "" if self._groups.could_ever(group) else self._groups.why_not(group)

    def feasibility(self, choice: Choice) -> Feasibility:
        """Whether a task of this choice could start now, or ever, and what stands in its way."""
        return judge(self._cluster, choice)


def _row(device: LedgerDevice, hold: Hold, amount: int) -> DeviceHolder:
    return DeviceHolder(device.spec.resource, device.spec.index, hold.owner, amount, hold.since)


def _rows_inside(device: LedgerDevice, commons: Place, reserve: Hold) -> list[DeviceHolder]:
    """Who holds what a group has reserved of a device; the group itself has the rest."""
    rows: list[DeviceHolder] = []
    for shared in commons.devices.get(device.spec.resource, ()):
        if shared.base is device:
            rows += [_row(device, hold, amount) for hold, amount in shared.holds.items()]
            if shared.used < shared.amount:
                rows.append(_row(device, reserve, shared.amount - shared.used))
    return rows
