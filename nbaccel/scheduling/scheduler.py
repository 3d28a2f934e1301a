"""The scheduler: told of events, it answers with commands. `handle` is the only way in, and it is a pure decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.actors import ActorRecord, ActorTable
from nbaccel.scheduling.commands import Command, Failure
from nbaccel.scheduling.dispatch import Dispatcher
from nbaccel.scheduling.endings import Endings
from nbaccel.scheduling.explain import Explainer
from nbaccel.scheduling.groups import GroupTable
from nbaccel.scheduling.growth import Growth, hope
from nbaccel.scheduling.ledger import LedgerDevice, Place
from nbaccel.scheduling.moves import (
    ACTOR,
    ARGS,
    BUSY,
    FINISHED,
    IDLE,
    IN_GET,
    RUNNING,
    SPARE,
    STARTING,
    STOPPING,
    SUBMITTED,
    WAITING,
    ActorStatus,
    GroupState,
    IllegalEvent,
)
from nbaccel.scheduling.placement import PlaceableChoice, PlacementBook
from nbaccel.scheduling.queries import LazyCallRecords, Queries
from nbaccel.scheduling.tasks import Pack, Shape, TaskRecord, TaskTable
from nbaccel.scheduling.terms import Task, TaskKind
from nbaccel.scheduling.timers import Timers
from nbaccel.scheduling.worker_queues import WorkerQueues
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable

NOTHING: tuple[Command, ...] = ()
_REPORTS = (ev.CallReturned, ev.CallsOpened, ev.CallsEnded)  # these look at no other calls


class Scheduler(Queries):
    """Decides who runs where. The same events in the same order always give the same commands.

    >>> scheduler = Scheduler(new_id=ids)
    >>> scheduler.handle(NodeAdded(node), now=0.0)
    >>> scheduler.handle(TasksSubmitted([task]), now=0.1)
    [StartWorker(...), WakeAt(...)]
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], bytes],
        interrupt_grace_s: float = 2.0,
        idle_worker_keep: int | None = None,
        idle_worker_stop_s: float = 5.0,
        spares: int = 1,
        waiting_notice_s: float = 5.0,
    ) -> None:
        self._keep = idle_worker_keep
        self._out: list[Command] = []
        out = self._out
        timers = self._timers = Timers(out)
        cluster = self._cluster = PlacementBook()
        tasks = self._all_tasks = TaskTable(out, cluster)
        workers = self._workers = WorkerTable(
            out,
            timers,
            new_id,
            keep=self._idle_keep,
            stop_after_s=idle_worker_stop_s,
            spares=spares,
            home=self._head_node,
        )
        groups = self._groups = GroupTable(out, cluster)
        self._explainer = Explainer(
            cluster, groups.records, lambda: not tasks.counts[RUNNING] and not tasks.counts[SUBMITTED]
        )
        dispatcher = self._dispatcher = Dispatcher(
            out, timers, cluster, tasks, workers, self._explainer, waiting_notice_s
        )
        queues = self._queues = WorkerQueues(out, timers, cluster, tasks, workers, dispatcher)
        actors = self._all_actors = ActorTable(out, timers, cluster, tasks, workers, dispatcher)
        dispatcher.end_actor = actors.end
        self.lazy_calls = LazyCallRecords(tasks, self._admit)
        self._endings = Endings(
            out, timers, cluster, tasks, workers, dispatcher, queues, actors, groups, interrupt_grace_s
        )
        growth = self._growth = Growth(out, timers, cluster, tasks, groups)
        self._explainer.hope = lambda choice, now: hope(growth, cluster.device_resources, choice, now)
        self._ended_jobs: set[int] = set()
        self._actions = self._table()

    def _table(self) -> dict[type, Callable[[Any, float], None]]:
        return {
            ev.TasksSubmitted: self._tasks_submitted,
            ev.ObjectsReady: self._objects_ready,
            ev.ArgumentFailed: self._argument_failed,
            ev.WorkerReady: self._worker_ready,
            ev.TasksReturned: self._tasks_returned,
            ev.CallReturned: self._call_returned,
            ev.CallAnswered: self.lazy_calls.answered,
            ev.CallsOpened: self.lazy_calls.opened,
            ev.CallsEnded: self.lazy_calls.over,
            ev.TasksGivenBack: self._tasks_given_back,
            ev.WorkerBlocked: self._worker_blocked,
            ev.WorkerUnblocked: self._worker_unblocked,
            ev.WorkerSpoiled: self._worker_spoiled,
            ev.WorkerDied: self._worker_died,
            ev.PrestartRequested: self._prestart_requested,
            ev.SparesOutdated: self._spares_outdated,
            ev.AssignmentRefused: self._assignment_refused,
            ev.ArgumentsLost: self._arguments_lost,
            ev.DeviceChanged: self._device_changed,
            ev.CancelRequested: self._cancel_requested,
            ev.ActorKillRequested: self._actor_kill_requested,
            ev.JobEnded: self._job_ended,
            ev.NodeAdded: self._node_added,
            ev.NodeRemoved: self._node_removed,
            ev.NodeTypesGiven: self._growth.types_given,
            ev.NodeFailed: self._growth.failed,
            ev.NodeKept: self._growth.kept,
            ev.ResourcesRequested: self._growth.requested,
            ev.GroupRequested: self._group_requested,
            ev.GroupRemoveRequested: self._group_remove_requested,
            ev.TimePassed: self._time_passed,
        }

    def handle(self, event: ev.Event, now: float) -> Sequence[Command]:
        """Takes note of the event and says what is to be done, in this order.

        Raises IllegalEvent, and changes nothing, when the event cannot follow what happened before.
        """
        kind = type(event)
        if self.lazy_calls.any and kind not in _REPORTS:
            self.lazy_calls.make_records()
        self._actions[kind](event, now)
        if self._all_tasks.doomed:
            self._endings.cancel_doomed(now)
        cluster = self._cluster
        if cluster.groups_wait and cluster.freed_any:
            self._groups.place_pending(now)
        if cluster.woken or cluster.freed:
            self._dispatcher.run(now)
        if self._workers.short_of_spares and cluster.nodes:
            self._workers.refill()
        if self._growth.types:
            self._growth.after(now)
        timers = self._timers
        if timers.heap and timers.heap[0][0] < timers.asked_for:
            timers.ask()
        out = self._out
        if not out:
            return NOTHING
        commands = out[:]
        out.clear()
        return commands

    def let_go_of_ended(self, pack: Pack) -> Callable[[], None]:
        """Lets the records of tasks that have ended go, packed, and returns what makes them again.

        That has to be called before anything else, and afterwards nothing is different but where they lie in memory.
        """
        make_tasks, make_stories = self._tasks.let_go_of_ended(pack), self._workers.let_go_of_stories()

        def make_again() -> None:
            make_tasks()
            make_stories()

        return make_again

    def check(self) -> None:
        """Asserts every written invariant; for tests, after each event."""

        _check_books(self._cluster, self._tasks, self._workers, self._actors, self._groups, self._queues)

    def _idle_keep(self) -> int:
        if self._keep is not None:
            return self._keep
        return max(1, self._cluster.cpus // UNIT)

    def _head_node(self) -> bytes:
        nodes = self._cluster.nodes.values()
        return next((node.node_id for node in nodes if node.is_head), next(iter(self._cluster.nodes), b""))

    # --- tasks ----------------------------------------------------------------------------------------------------

    def _admit(self, task: Task, now: float) -> None:
        kind = task.terms.kind
        if kind is TaskKind.ACTOR_CREATION:
            self._actors.check_new(task)
        record = self._all_tasks.admit(task, now)
        record.pool = self._workers.pool_of(task.terms.pool)
        if task.owner_worker is not None:
            owner = self._workers.records.get(task.owner_worker)
            if owner is not None and owner.actor is not None and owner.actor.creation.of_detached:
                record.of_detached = True
        if kind is TaskKind.ACTOR_CALL:
            self._actors.call(record, now)
            return
        if kind is TaskKind.ACTOR_CREATION:
            self._actors.create(record, now)
        if task.terms.job in self._ended_jobs and not record.of_detached:
            self._came_too_late(record, now)
            return
        if not task.missing or not self._all_tasks.awaited.wait(record):
            self._all_tasks.line_up(record, now)

    def _tasks_submitted(self, event: ev.TasksSubmitted, now: float) -> None:
        tasks = event.tasks
        if len(tasks) == 1 and not tasks[0].is_alone:
            self._admit(tasks[0], now)
            return
        terms = tasks[0].terms
        records = self._all_tasks.line_up_new(tasks, self._workers.pool_of(terms.pool), now)
        if terms.job in self._ended_jobs:
            for record in records:
                self._came_too_late(record, now)

    def _came_too_late(self, record: TaskRecord, now: float) -> None:
        """It was on its way when its driver left."""
        if record.actor is not None:
            self._actors.end(record.actor, "its job has ended", now, Failure.JOB_ENDED)
        else:
            self._all_tasks.fail(record, Failure.JOB_ENDED, f"{record.task.name} came after its job had ended.", now)

    def _objects_ready(self, event: ev.ObjectsReady, now: float) -> None:
        for record in self._all_tasks.awaited.arrived(event.object_ids):
            if record.over:
                continue
            if record.task.kind is TaskKind.ACTOR_CALL:
                self._actors.arguments_arrived(record, now)
            else:
                self._all_tasks.line_up(record, now)

    def _argument_failed(self, event: ev.ArgumentFailed, now: float) -> None:
        record = self._all_tasks.records.get(event.task_id)
        if record is None or record.over:
            return
        if record.state not in (ARGS, WAITING):
            raise IllegalEvent(
                "ArgumentFailed", str(record), record.state.name, record.story, "It has been started before."
            )
        self._all_tasks.drop(record, now, event.cancelled)
        if record.task.kind is TaskKind.ACTOR_CALL:
            self._actors.left(record.actor, record, now)
        elif record.actor is not None:
            record.actor.settled = True
            self._actors.end(record.actor, "an argument of its constructor failed", now)

    def _cancel_requested(self, event: ev.CancelRequested, now: float) -> None:
        record = self._all_tasks.records.get(event.task_id)
        if record is not None and not record.over:
            self._endings.cancel(record, event, now)

    # --- workers --------------------------------------------------------------------------------------------------

    def _worker_ready(self, event: ev.WorkerReady, now: float) -> None:
        worker = self._workers.known("WorkerReady", event.worker_id)
        if worker is None or worker.state is STOPPING:
            return
        if worker.state is not STARTING:
            raise IllegalEvent("WorkerReady", str(worker), worker.state.name, worker.story, "It was ready before.")
        self._workers.became_ready(worker, event.pid, now)
        if worker.queue:
            self._dispatcher.worker_ready(worker, now)

    def _tasks_returned(self, event: ev.TasksReturned, now: float) -> None:
        worker = self._workers.known("TasksReturned", event.worker_id)
        if worker is None:
            return
        if worker.actor is None:
            self._queues.returned(worker, event.returns, event.loaded, now)
            if self._queues.ahead:
                self._has_gone_on(worker)
            return
        for each in event.returns:
            if not worker.queue or worker.queue[0].task.task_id != each.task_id:
                self._all_actors.returned(worker, each, now)
            elif worker.state is not STOPPING:
                self._all_actors.created(worker, each, now)

    def _has_gone_on(self, worker: WorkerRecord) -> None:
        """A plain task has returned: a worker that is idle now may take what lies behind another task elsewhere."""
        if worker.state is IDLE and not self._cluster.someone_may_start():
            self._queues.share()

    def _call_returned(self, event: ev.CallReturned, now: float) -> None:
        worker = self._workers.records.get(event.worker_id)
        if self.lazy_calls.any and (worker is None or worker.actor is None or worker.actor.closing is not None):
            self.lazy_calls.make_records()  # it may be the last of an actor that is to end
        self._tasks_returned(ev.TasksReturned(event.worker_id, [ev.TaskReturn(event.task_id)]), now)

    def _tasks_given_back(self, event: ev.TasksGivenBack, now: float) -> None:
        worker = self._workers.known("TasksGivenBack", event.worker_id)
        if worker is not None:
            self._queues.given_back(worker, event, now)

    def _worker_blocked(self, event: ev.WorkerBlocked, now: float) -> None:
        worker = self._workers.known("WorkerBlocked", event.worker_id)
        if worker is None:
            return
        if worker.state in (STARTING, SPARE):
            raise IllegalEvent("WorkerBlocked", str(worker), worker.state.name, worker.story, "It runs nothing.")
        self._queues.blocked(worker, now)

    def _worker_unblocked(self, event: ev.WorkerUnblocked, now: float) -> None:
        worker = self._workers.known("WorkerUnblocked", event.worker_id)
        if worker is not None:
            self._queues.unblocked(worker, now)

    def _worker_spoiled(self, event: ev.WorkerSpoiled, now: float) -> None:
        worker = self._workers.known("WorkerSpoiled", event.worker_id)
        if worker is None or worker.state is STOPPING:
            return
        if worker.state not in (BUSY, IDLE):
            story = worker.story
            raise IllegalEvent("WorkerSpoiled", str(worker), worker.state.name, story, "It has not run a plain task.")
        self._workers.stop(worker, event.why, now)  # its unstarted tasks go back when the process is gone

    def _worker_died(self, event: ev.WorkerDied, now: float) -> None:
        worker = self._workers.known("WorkerDied", event.worker_id)
        if worker is None:
            return
        if worker.actor is not None:
            self._actors.worker_died(worker, event.why, event.intended, now)
        else:
            self._queues.died(worker, event.why, now)

    def _prestart_requested(self, event: ev.PrestartRequested, now: float) -> None:
        self._workers.prestart(event.zygote)

    def _spares_outdated(self, event: ev.SparesOutdated, now: float) -> None:
        self._workers.replace_spares(event.zygote, now)

    # --- devices --------------------------------------------------------------------------------------------------

    def _assignment_refused(self, event: ev.AssignmentRefused, now: float) -> None:
        """Another head holds it. The task goes back to its line, its worker has not been touched."""
        record = self._all_tasks.records.get(event.task_id)
        if record is None or record.over:
            return
        worker = record.worker
        if worker is None or record.hold is None or record.state != RUNNING or worker.queue[0] is not record:
            raise IllegalEvent("AssignmentRefused", str(record), record.state.name, record.story, "It holds no device.")
        hold = record.hold
        place = hold.place
        device = self._device(place.node_id, event.resource, event.index, "AssignmentRefused")
        wanted = sum(amount for part, amount in hold.parts if (part.base or part) is device)
        self._unassign(worker, record, now)
        # What the head offers cannot have been enough: never ask for the same again before it says DeviceChanged.
        device.limit = max(0, min(event.free, device.used + wanted - 1))
        device.reason = f"held by {event.holder}"
        self._cluster.nodes[place.node_id].version += 1
        if worker.state is not STOPPING:
            self._workers.rest(worker, now)

    def _unassign(self, worker: WorkerRecord, record: TaskRecord, now: float) -> None:
        actor = record.actor
        worker.leased = False
        worker.queue.clear()
        if actor is not None:
            worker.actor = actor.worker = actor.hold = None
        self._dispatcher.end_queue(worker)
        if record.cancelled:
            self._all_tasks.fail(record, Failure.CANCELLED, f"{record.task.name} was cancelled.", now)
        else:
            self._all_tasks.line_up_again([record], now)

    def _device(self, node_id: bytes, resource: str, index: int, event: str) -> LedgerDevice:
        node = self._cluster.nodes.get(node_id)
        for device in node.devices.get(resource, ()) if node is not None else ():
            if device.spec.index == index:
                return device
        raise IllegalEvent(event, f"{resource} {index} of node {node_id.hex()}", "unknown", (), "No node offers it.")

    def _arguments_lost(self, event: ev.ArgumentsLost, now: float) -> None:
        """It was not sent after all: it waits for its arguments again, its worker goes on with others."""
        record = self._all_tasks.records.get(event.task_id)
        if record is None or record.over or record.worker is None:
            return
        worker = record.worker
        if record.task.kind is TaskKind.ACTOR_CALL or record not in worker.queue:
            raise IllegalEvent(
                "ArgumentsLost", str(record), record.state.name, record.story, "It is not a queued task."
            )
        if len(worker.queue) == 1:
            self._unassign(worker, record, now)
            if worker.state is not STOPPING:
                self._workers.rest(worker, now)
        else:
            self._queues.take_out(worker, record, now)
        if not record.over:
            self._all_tasks.wait_again(record, event.object_ids, now)

    def _device_changed(self, event: ev.DeviceChanged, now: float) -> None:
        if event.node_id not in self._cluster.nodes:
            return
        device = self._device(event.node_id, event.resource, event.index, "DeviceChanged")
        device.limit, device.reason = event.free, event.reason
        if device.is_lost != event.lost:
            device.is_lost = event.lost
            self._cluster.reopen_all()
        self._cluster.device_freed(self._cluster.nodes[event.node_id], device)

    # --- actors, jobs, nodes, groups ------------------------------------------------------------------------------

    def _actor_kill_requested(self, event: ev.ActorKillRequested, now: float) -> None:
        actor = self._actors.records.get(event.actor_id)
        if actor is not None:
            self._actors.kill_requested(actor, event.why, event.no_restart, event.graceful, now)

    def _job_ended(self, event: ev.JobEnded, now: float) -> None:
        self._ended_jobs.add(event.job)
        self._endings.job_ended(event.job, event.why, now)

    def _node_added(self, event: ev.NodeAdded, now: float) -> None:
        node = self._cluster.nodes.get(event.node.node_id)
        if node is not None:
            raise IllegalEvent("NodeAdded", f"node {node.name}", "here", (), "Its id is in use.")
        place = self._cluster.add_node(event.node)
        if place.node_type:
            self._growth.came(place, event.node.launch, now)
        self._groups.nodes_changed()

    def _node_removed(self, event: ev.NodeRemoved, now: float) -> None:
        node = self._cluster.nodes.get(event.node_id)
        if node is None:
            raise IllegalEvent("NodeRemoved", f"node {event.node_id.hex()}", "unknown", (), "It is not here.")
        self._endings.remove_node(node, event.why, now)
        if node.node_type:
            self._growth.left(node)

    def _group_requested(self, event: ev.GroupRequested, now: float) -> None:
        self._groups.ask(event, now)

    def _group_remove_requested(self, event: ev.GroupRemoveRequested, now: float) -> None:
        group = self._groups.records.get(event.group_id)
        if group is not None:
            self._endings.remove_group(group, "its placement group was removed", now)

    def _time_passed(self, event: ev.TimePassed, now: float) -> None:
        self._timers.run(now)


def _check_books(
    cluster: PlacementBook,
    tasks: TaskTable,
    workers: WorkerTable,
    actors: ActorTable,
    groups: GroupTable,
    queues: WorkerQueues,
) -> None:
    """The invariants that hold after every event. Raises AssertionError, naming the record, where one is broken."""
    assert not cluster.freed, "something came back, and nobody was tried for it"
    bundles = [place for each in cluster.bundles.values() for place in each.values()]
    commons = [place for each in cluster.commons.values() for place in each.values()]
    for place in (*cluster.nodes.values(), *bundles, *commons):
        _check_place(place)
    for place in commons:
        _check_commons(place)
    for request in cluster.requests.values():
        _check_request(request, cluster)
    for shape in tasks.shapes.values():
        _check_shape(shape)
    live = [record for record in tasks.records.values() if not record.over]
    _check_tasks(tasks, live)
    there = {node_id: set(workers.on_node(node_id)) for node_id in {each.node_id for each in workers.records.values()}}
    for worker in workers.records.values():
        _check_worker(worker, worker in there[worker.node_id], workers, queues)
    for actor in actors.records.values():
        _check_actor(actor)
    for group in groups.records.values():
        complete = len(group.places) == len(group.spec.bundles)
        assert (group.state is GroupState.CREATED) == complete, (
            f"{group} is {group.state.name}, {len(group.places)} placed"
        )


def _check_place(place: Place) -> None:
    """Nothing is assigned twice, nothing is lost."""
    held = Counter[str]()
    for hold in place.holds:
        assert hold.place is place, f"a hold of another place is in the books of {place.name}"
        for name, amount in hold.pooled:
            held[name] += amount - (hold.lent if name == "CPU" else 0)
        for device, amount in hold.parts:
            assert device.holds.get(hold) == amount, f"{place.name}: a device does not know its holder"
    for name, total in place.totals.items():
        assert place.free[name] == total - held[name], (
            f"{place.name}: {place.free[name]} {name} free, {held[name]} held"
        )
        assert place.free[name] >= 0 or name == "CPU", f"{place.name}: {name} is below zero"
    for device in chain.from_iterable(place.devices.values()):
        assert device.used == sum(device.holds.values()) <= device.amount, f"{place.name}: {device.spec} overbooked"
        assert all(hold in place.holds for hold in device.holds), f"{place.name}: {device.spec} has a lost holder"


def _check_commons(commons: Place) -> None:
    """They have what their bundles have, and whoever holds some of a bundle holds as much of them."""
    totals = Counter[str]()
    for bundle in commons.bundles:
        totals.update(bundle.totals)
        for hold in bundle.holds:
            copy = hold.in_commons
            assert copy is not None and copy in commons.holds and copy.is_copy, f"{hold.owner} is not in the commons"
            same = (copy.pooled, copy.lent, copy.devices) == (hold.pooled, hold.lent, hold.devices)
            assert same, f"{hold.owner} holds one amount of {bundle.name} and another of the commons"
    assert commons.totals == dict(totals), f"{commons.name} have {commons.totals}, their bundles {dict(totals)}"
    copies = sum(hold.is_copy for hold in commons.holds)
    assert copies == sum(len(bundle.holds) for bundle in commons.bundles), f"{commons.name}: {copies} copies"


def _check_request(request: PlaceableChoice, cluster: PlacementBook) -> None:
    """It has the places that could meet it, in order; an exhausted one finds room nowhere but, perhaps, on offer."""
    allowed = {p for p in cluster.eligible(request.choice) if p.alive and p.lacks_for_ever(request.asked) is None}
    assert request.places.keys() == allowed, f"{request.choice} has other places than it may use"
    assert request.in_order() == sorted(allowed, key=request.entry_of), f"{request.choice} has its places out of order"
    assert request.exhausted == (request in cluster.exhausted), f"{request.choice} is counted wrong"
    assert request.exhausted or not request.offers, f"{request.choice} looks at all places and has offers"
    for place in request.places if request.exhausted else ():
        assert place in request.offers or place.lacks_now(request.asked) is not None, (
            f"{request.choice} passes {place.name}, which has enough free"
        )


def _check_shape(shape: Shape) -> None:
    """A line is counted right and in order, and nobody waits in it who could start."""
    waiting = [record for record in shape.line if record.state == WAITING]
    turns = [record.turn for record in shape.line]  # also of those that no longer wait
    assert turns == sorted(turns), f"{shape.choices}: {shape.line[0]} and others wait in another order than they came"
    assert len(waiting) == shape.size, f"{shape.choices}: {len(waiting)} wait, {shape.size} counted"
    assert shape.workers >= 0, f"{shape.choices}: {shape.workers} workers"
    if waiting:
        for place in shape.requests[0].places:
            assert place.lacks_now(shape.requests[0].asked) is not None, (
                f"{waiting[0]} waits although {place.name} has enough free"
            )
        assert shape.notice_armed or not any(request.has_places for request in shape.requests) or shape.size, (
            f"{shape.choices}"
        )


def _check_tasks(tasks: TaskTable, live: list[TaskRecord]) -> None:
    counted = Counter(record.state for record in live)
    for state in (ARGS, WAITING, SUBMITTED, RUNNING, IN_GET):
        assert tasks.counts[state] == counted[state], (
            f"{counted[state]} are {state.name}, {tasks.counts[state]} counted"
        )
    for name, number in (("finished", 0), ("failed", 1), ("cancelled", 2)):
        endings = sum(count.endings[number] for count in (*tasks.functions, tasks.functions.internal))
        assert tasks.counts[FINISHED + number] == endings, f"{endings} of all functions have {name}"
    unfinished = Counter(record.count for record in live)
    for count in (*tasks.functions, tasks.functions.internal):
        assert count.unfinished == unfinished[count], f"{unfinished[count]} of {count.function} have not ended: {count}"
    internal = {record.task.task_id for record in live if record.task.terms.internal}
    assert tasks.internal.keys() == internal, f"{len(internal)} of nbaccel's own live, {len(tasks.internal)} are kept"
    for record in live:
        _check_task(record)


def _check_task(record: TaskRecord) -> None:
    at_worker = record.state in (SUBMITTED, RUNNING, IN_GET)
    assert (record.worker is not None) == at_worker, f"{record} is {record.state.name}, its worker is {record.worker}"
    pauses = record.actor is not None and record.actor.creation is record and record.actor.pauses
    waits = bool(record.missing) or pauses
    assert (record.state == ARGS) == waits, f"{record} is {record.state.name}, missing {record.missing}"
    if record.task.kind is TaskKind.ACTOR_CALL:
        assert record.actor is not None, f"{record} has no actor"
        in_line = any(record in line for line in record.actor.lines.values())
        assert in_line != (record.task.task_id in record.actor.sent), f"{record} is in {in_line} lines"
    elif at_worker:
        assert record.worker is not None and record in record.worker.queue, f"{record} is not with its worker"
    elif record.state == WAITING:
        assert record.shape is not None and record in record.shape.line, f"{record} is in no line"


def _check_worker(worker: WorkerRecord, is_there: bool, workers: WorkerTable, queues: WorkerQueues) -> None:
    state = worker.state
    if state in (SPARE, IDLE):
        assert not worker.queue and worker.hold is None and worker.actor is None, f"{worker} is {state.name} with work"
    if state is SPARE:
        assert not worker.used and worker in workers.zygotes[worker.zygote].spares, f"{worker} is not a spare"
    assert (worker in workers.idle) == (state is IDLE), f"{worker} is {state.name}"
    assert is_there == (state is not STOPPING and worker.pool is not None), f"{worker} is not found on its node"
    if state is BUSY:
        assert worker.queue and worker.hold is not None, f"{worker} is busy without a task"
        running = [record for record in worker.queue if record.state in (RUNNING, IN_GET)]
        assert running in ([], list(worker.queue)[:1]), f"{worker} runs more than one task"
        assert (worker in queues.ahead) == (len(worker.queue) > 1), f"{worker} has {len(worker.queue)} tasks"
    if state is STARTING and worker.queue:
        assert len(worker.queue) == 1 and worker.hold is not None, f"{worker} starts for more than one task"
    if worker.queue and worker.queue[0].task.terms.fresh and state is not STOPPING:
        assert not worker.used, f"{worker} has run code before {worker.queue[0]}"
    if state is ACTOR:
        assert worker.actor is not None and worker.actor.worker is worker, f"{worker} serves no actor"


def _check_actor(actor: ActorRecord) -> None:
    waiting = sum(not record.over for line in actor.lines.values() for record in line)
    assert waiting == actor.waiting == sum(len(line) for line in actor.lines.values()), f"{actor}: {waiting} calls wait"
    assert all(actor.lines.values()), f"{actor} keeps an empty line"
    assert all(record.state == SUBMITTED for record in actor.behind), f"{actor}: a call is behind and runs"
    assert len(actor.sent) == actor.busy + len(actor.behind), f"{actor}: {len(actor.sent)} sent, {actor.busy} run"
    assert actor.busy <= actor.task.terms.actor.max_concurrency or not actor.behind, f"{actor} runs too many calls"
    if actor.state is ActorStatus.ALIVE:
        assert actor.worker is not None and actor.hold is not None, f"{actor} is alive without a process"
        heads = [line[0] for line in actor.lines.values()]
        assert all(record.missing for record in heads), f"{actor}: a call waits that could be sent"
    if actor.state is ActorStatus.DEAD:
        assert not actor.sent and not actor.lines and actor.creation.over, f"{actor} is dead with work"
