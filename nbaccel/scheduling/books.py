"""The invariants that must hold after every event, in any order of events."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from nbaccel.scheduling.actors import ActorRecord, ActorTable
from nbaccel.scheduling.groups import GroupTable
from nbaccel.scheduling.ledger import Place
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
)
from nbaccel.scheduling.placement import PlaceableChoice, PlacementBook
from nbaccel.scheduling.tasks import Shape, TaskRecord, TaskTable
from nbaccel.scheduling.terms import TaskKind
from nbaccel.scheduling.worker_queues import WorkerQueues
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable


def check(
    cluster: PlacementBook,
    tasks: TaskTable,
    workers: WorkerTable,
    actors: ActorTable,
    groups: GroupTable,
    queues: WorkerQueues,
) -> None:
    """Raises AssertionError, naming the record, at the first invariant that is broken."""
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
