"""Why work waits on Ray, and where it could run: Ray's nodes written into the scheduler's books, which then judge."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any, NotRequired, TypedDict

import msgspec

from nbaccel.engine import ListedRow
from nbaccel.handles.options import TaskOptions, demand_of_task
from nbaccel.quantities import ACCELERATORS, UNIT
from nbaccel.ray_engine.reports.reports import JobFacts, RaysTables
from nbaccel.scheduling import explain
from nbaccel.scheduling.events import DeviceSpec, GroupAsked, NodeSpec
from nbaccel.scheduling.explain import Explainer, HolderFact, room_on_other_types, until_when, ways_out
from nbaccel.scheduling.groups import GroupRecord, GroupTable
from nbaccel.scheduling.moves import GroupState
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import Feasibility, choice_text, judge
from nbaccel.scheduling.terms import Choice, Placement
from nbaccel.views.explanations import Blocker, Explanation, Probe, Verdict
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    DeviceRow,
    GroupRow,
    ListedDriver,
    ListedGroup,
    NodeRow,
    Snapshot,
    TaskRow,
    WorkerRow,
)

LEAST = 0.001  # smaller amounts count as zero: Ray counts in 0.0001
_WAITING = ("PENDING_NODE_ASSIGNMENT", "PENDING_ARGS_AVAIL")


def books(snapshot: Snapshot) -> PlacementBook:
    """The nodes that live, with what is held taken off.

    The only one is spoken of as the cluster: that it is this machine is not known.
    """
    cluster = PlacementBook()
    alive = [node for node in snapshot.nodes if node.alive]
    for node in alive:
        devices = [device for device in snapshot.devices if device.node_id == node.node_id]
        _enter(cluster, node, node.name if len(alive) > 1 else "", devices)
    return cluster


def _enter(cluster: PlacementBook, node: NodeRow, name: str, devices: list[DeviceRow]) -> None:
    counted = {device.resource for device in devices}
    totals = {name: round(amount * UNIT) for name, amount in node.totals.items() if name not in counted}
    specs = [DeviceSpec(device.resource, device.index, type=device.type) for device in devices]
    place = cluster.add_node(NodeSpec(bytes.fromhex(node.node_id), name, totals, specs, node.labels))
    for name in totals:
        place.free[name] = round(node.available.get(name, 0) * UNIT)
    for row in devices:
        device = place.devices[row.resource][row.index]
        device.used = UNIT - round(row.free * UNIT)


def verdict(snapshot: Snapshot, demand: dict[str, float], labels: dict[str, str] | None = None) -> Feasibility:
    """Whether this could run now, or ever, on the nodes of the snapshot."""
    return judge(books(snapshot), _choice(demand, labels))


def asked(demand: dict[str, float]) -> str:
    """The demand in words."""
    return choice_text(_choice(demand))


def _choice(demand: dict[str, float], labels: dict[str, str] | None = None) -> Choice:
    pairs = tuple(sorted((name, round(amount * UNIT)) for name, amount in demand.items()))
    return Choice(pairs, Placement(labels=tuple(sorted((labels or {}).items()))))


class NodeKind(TypedDict):
    """A kind of node that the autoscaler may add; `max_count` 0: without a limit that is known."""

    name: str
    resources: dict[str, float]
    labels: dict[str, str]
    max_count: int


class AutoscalerFacts(TypedDict):
    """What Ray tells of it, see tables.autoscaler; `groups` None: not which kinds it has."""

    scales: bool
    groups: list[NodeKind] | None
    arriving: NotRequired[list[dict[str, Any]]]
    failed: NotRequired[list[dict[str, Any]]]
    here: NotRequired[dict[str, int]]


Autoscaler = Callable[[], AutoscalerFacts]


def _none() -> AutoscalerFacts:
    return {"scales": False, "groups": None}


def waiting(snapshot: Snapshot, row: TaskRow, autoscaler: Autoscaler = _none) -> Explanation:
    """Why this task waits, with those who hold what it asks for."""
    choice, cluster = _choice(row.demand), books(snapshot)
    found = judge(cluster, choice)
    asks = choice_text(choice)
    holders = holders_of(snapshot, found.resources) if found.ever else []
    subject = _subject(row.name, row.cell)
    start = f"{subject} asks for {asks}"
    word, more = ("", "") if found.ever else addable(autoscaler(), row.demand)
    ever: bool | None = found.ever
    instead = "" if found.fits_now else room_on_other_types(cluster, choice)
    kept = False
    if found.fits_now:
        sentence = f"{start}, which is free: it is about to start, or waits for its arguments."
    elif word:
        ever = True if word in ("addable", "coming") else None
        sentence = f"{start}: {found.reason}; {more}.{instead}"
    elif not found.ever:
        lacking = f"; {more}" if more else ""
        sentence = f"{start}, but {found.reason}{lacking}."
    else:
        kept = _nobody_gives_back(snapshot, found.resources, holders)
        stuck = f" {_until_ended(holders, found.resources)}" if kept else ""
        grows = _beside(autoscaler(), row.demand)
        sentence = f"{subject} waits for {asks}. {busy(found.reason, holders, since=True)}.{grows}{instead}{stuck}"
    return Explanation(
        id=row.task_id, name=row.name, state=row.state, sentence=sentence, asks=asks, fits_now=found.fits_now,
        ever=ever, resources=found.resources, fragmented=found.fragmented, kept=kept, reason=found.reason,
        holders=holders,
    )  # fmt: skip


def never(name: str, cell: str, demand: dict[str, float], reason: str) -> str:
    """What is said at once of a request that can never be met."""
    return (
        f"{_subject(name, cell)} asks for {asked(demand)}, but {reason}. It waits in case a node joins. "
        "Ask for less, give a fallback such as fallback='cpu', or cancel it."
    )


def why_it_waits(snapshot: Snapshot, name: str, cell: str, demand: dict[str, float], more: str = "") -> tuple[str, str]:
    """("waiting" or "kept", what is said of work that has waited for long); "" when it could start now.

    `more`: what is known of the autoscaler where no node could ever meet it.
    """
    choice, cluster = _choice(demand), books(snapshot)
    found = judge(cluster, choice)
    asks = choice_text(choice)
    instead = "" if found.fits_now else room_on_other_types(cluster, choice)
    if not found.ever and more:
        return "waiting", f"{_subject(name, cell)} asks for {asks}: {found.reason}; {more}.{instead}"
    if found.fits_now or not found.ever:
        return "waiting", ""
    holders = holders_of(snapshot, found.resources)
    if _nobody_gives_back(snapshot, found.resources, holders):
        return "kept", (
            f"{_subject(name, cell)} waits for {asks}, but all of it is held by work that does not give it back by "
            f"itself{held_by(holders)}. {_until_ended(holders, found.resources)}"
        )
    return "waiting", f"{_subject(name, cell)} waits for {asks}. {busy(found.reason, holders)}.{instead}"


def _nobody_gives_back(snapshot: Snapshot, resources: list[str], holders: list[Blocker]) -> bool:
    return all(_all_is_held(snapshot, resource, holders) for resource in resources)


def _until_ended(holders: list[Blocker], resources: list[str]) -> str:
    """Until when they keep it. Ray does not tell of an actor whether it is detached."""
    kept = {until_when(each.for_life, bool(each.actor_id)): None for each in holders}
    return f"{'; '.join(words for words in kept if words)}. {ways_out(resources)}"


def _all_is_held(snapshot: Snapshot, resource: str, holders: list[Blocker]) -> bool:
    """Whether actors and groups hold all that is not free, as they do for life; False where it is not known."""
    held = _held(snapshot, resource)
    of_actors = [holder for holder in holders if holder.resource == resource]
    known = sum(holder.amount for holder in of_actors)
    return bool(of_actors) and all(holder.for_life for holder in of_actors) and abs(held - known) < LEAST


def _subject(name: str, cell: str) -> str:
    return f"{name.removesuffix('.__init__')}{_of_cell(cell)}"


def holders_of(snapshot: Snapshot, resources: list[str]) -> list[Blocker]:
    """Who holds some of these: tasks and actors, and placement groups for what of their bundles nobody is using."""
    found = list(_running_holders(snapshot, resources))
    for name in resources:
        left = _held(snapshot, name) - sum(each.amount for each in found if each.resource == name)
        for group in snapshot.groups if left > LEAST else ():
            amount = sum(bundle.get(name, 0.0) for bundle in group.bundles) if group.state == "CREATED" else 0.0
            if amount:
                who = f"placement group {group.name or group.group_id}"
                found.append(Blocker(who, name, min(amount, left), group_id=group.group_id, for_life=True))
    return found


def _held(snapshot: Snapshot, resource: str) -> float:
    """How much of a resource is taken, by whomever."""
    alive = [node for node in snapshot.nodes if node.alive]
    return sum(node.totals.get(resource, 0.0) - node.available.get(resource, 0.0) for node in alive)


def _running_holders(snapshot: Snapshot, resources: list[str]) -> Iterator[Blocker]:
    """Of devices, and of what else tasks and actors hold for as long as they run."""
    for device in snapshot.devices:
        for holder in device.holders if device.resource in resources else ():
            yield Blocker(
                holder.name, device.resource, holder.amount, device.id, holder.cell, holder.pid, holder.since,
                holder.task_id, holder.actor_id, for_life=holder.actor_id is not None, node_id=device.node_id,
            )  # fmt: skip
    on_devices = {device.resource for device in snapshot.devices}
    running = [row for row in snapshot.tasks if row.state == "RUNNING" and row.kind == "task"]
    alive = [row for row in snapshot.actors if row.state == "ALIVE"]
    for name in (name for name in resources if name not in on_devices):
        for row in running:
            if row.demand.get(name):
                yield Blocker(
                    row.name, name, row.demand[name], None, row.cell, row.pid, row.started_at, row.task_id
                )  # fmt: skip
        for actor in alive:
            if actor.demand.get(name):
                yield Blocker(
                    actor.class_name, name, actor.demand[name], None, actor.cell, actor.pid, actor.since,
                    actor_id=actor.actor_id, for_life=True,
                )  # fmt: skip


def busy(reason: str, holders: list[Blocker], *, since: bool = False) -> str:
    """The reason as a sentence, with who holds the rest."""
    said = with_holders(reason, holders, since=since)
    return said[:1].upper() + said[1:]


def with_holders(reason: str, holders: list[Blocker], *, since: bool = False) -> str:
    """The same within a sentence."""
    return f"{reason}{explain.held_by(reason, _named(holders, since=since), [])}"


def held_by(holders: list[Blocker], *, since: bool = False) -> str:
    """After words that say what is held: ": train on GPU 0"."""
    held = _named(holders, since=since)
    return f": {held}" if held else ""


def _named(holders: list[Blocker], *, since: bool) -> str:
    """`since`: say for how long; a line that stays in place does not, since it would change every second."""
    return explain.named(map(_fact, holders), time.time() if since else None)


def _fact(holder: Blocker) -> HolderFact:
    """A holder as the scheduler's words know it."""
    id = holder.device_id or ""
    return HolderFact(
        holder.resource, round(holder.amount * UNIT), holder.name, holder.cell, holder.since or time.time(),
        holder.node_id.encode(), int(id) if id.isdecimal() else None, _bytes(holder.task_id), _bytes(holder.actor_id),
        _bytes(holder.group_id), for_life=holder.for_life,
    )  # fmt: skip


def _bytes(id: str | None) -> bytes | None:
    return bytes.fromhex(id) if id else None


def _of_cell(cell: str) -> str:
    return f" (cell {cell})" if cell else ""


def addable(
    autoscaler: AutoscalerFacts, demand: dict[str, float], labels: dict[str, str] | None = None
) -> tuple[str, str]:
    """("coming", "addable", "full", "unknown" or "", in words why): whether the autoscaler could add a node for this.

    With "full" as many are here as there may be. With "" the words say what all kinds of nodes lack; they are empty
    where none can be added at all.
    """
    if not autoscaler["scales"]:
        return "", ""
    if autoscaler["groups"] is None:
        return (
            "unknown",
            "the cluster has an autoscaler, which may add such a node: Ray does not tell which kinds it has",
        )
    fitting = [group for group in autoscaler["groups"] if judge(_one_node(group), _choice(demand, labels)).ever]
    if not fitting:
        kinds = "; ".join(f"{group['name']}: {_has(group)}" for group in autoscaler["groups"])
        return "", f"no kind of node that can be added has it ({kinds})" if kinds else ""
    said = [_of_kind(autoscaler, group) for group in fitting]
    return min(said, key=lambda each: ("coming", "addable", "full").index(each[0]))


def _beside(autoscaler: AutoscalerFacts, demand: dict[str, float], labels: dict[str, str] | None = None) -> str:
    """What a node that may come means for work that waits for one that is here, as a sentence after others."""
    word, more = addable(autoscaler, demand, labels)
    return f" {more[:1].upper()}{more[1:]}." if word in ("coming", "addable", "full") else ""


def _of_kind(autoscaler: AutoscalerFacts, group: NodeKind) -> tuple[str, str]:
    name = group["name"]
    failed = _failure(autoscaler, name)
    coming = [each for each in autoscaler.get("arriving", []) if each["type"] == name]
    if coming:
        since = min((each["since"] for each in coming if each.get("since")), default=0)
        ago = f" {max(time.time() - since, 0):.0f} s ago" if since else ""
        why = next((f" ({each['why']})" for each in coming if each.get("why")), "")
        return "coming", f"a node of the kind {name} was asked for{ago}{why}{failed}"
    here, limit = autoscaler.get("here", {}).get(name, 0), group["max_count"]
    if 0 < limit <= here:
        return "full", f"{here} of at most {limit} {name} nodes are here"
    most = f", of which it may start {limit}" if limit > 0 else ""
    return "addable", f"the cluster's autoscaler could add a node of the kind {name}{most}{failed}"


def _failure(autoscaler: AutoscalerFacts, name: str) -> str:
    """What became of the last node of this kind that did not come; Ray asks for the next one at once."""
    last = max((each for each in autoscaler.get("failed", []) if each["type"] == name), key=_failed_at, default=None)
    return f"; the last one did not come{_when(last)}: {last['why']}" if last is not None else ""


def _failed_at(failure: dict[str, Any]) -> float:
    return float(failure["at"])


def _when(failure: dict[str, Any]) -> str:
    ago = f"{max(time.time() - failure['at'], 0):.0f} s ago" if failure["at"] else ""
    often = f"{failure['count']} have failed" if failure["count"] > 1 else ""
    return f" ({', '.join(filter(None, (ago, often)))})" if ago or often else ""


def _has(group: NodeKind) -> str:
    counted = {name: amount for name, amount in group["resources"].items() if name in (*ACCELERATORS, "CPU")}
    return asked(counted) if counted else "nothing"


def _one_node(group: NodeKind) -> PlacementBook:
    """The books of a cluster that has but one node of this kind."""
    counted = {name: amount for name, amount in group["resources"].items() if name in ACCELERATORS}
    totals = {name: round(amount * UNIT) for name, amount in group["resources"].items() if name not in counted}
    devices = [DeviceSpec(name, index) for name, amount in counted.items() for index in range(int(amount))]
    cluster = PlacementBook()
    cluster.add_node(NodeSpec(b"\0" * 28, group["name"], totals, devices, group["labels"], False))
    return cluster


def line_before(snapshot: Snapshot, demand: dict[str, float]) -> str:
    """What of a demand that the books call free is wanted already by those who wait in line; "" when enough is left.

    Of devices only: tasks that were submitted a moment ago have not taken theirs yet.
    """
    for name, amount in demand.items():
        free = [device.free for device in snapshot.devices if device.resource == name]
        wanted = sum(row.demand.get(name, 0.0) for row in snapshot.tasks if row.state in _WAITING)
        if free and wanted and wanted + amount > sum(free):
            return f"{wanted:g} {name} of what is free is wanted by those who came before"
    return ""


def probe(snapshot: Snapshot, options: TaskOptions, autoscaler: Autoscaler) -> Probe:
    """What a task with these options would meet; the autoscaler is asked for only where it matters."""
    demand = {name: units / UNIT for name, units in demand_of_task(options).items()}
    choice = Choice(_choice(demand).demand, _placement(options))
    asks = choice_text(choice)
    if choice.placement.strategy == "GROUP":
        reason = "Ray does not tell what is free in a placement group"
        return Probe(Verdict.UNKNOWN, f"{asks}: {reason}.", asks, reason)
    cluster = books(snapshot)
    found = judge(cluster, choice)
    instead = "" if found.fits_now else room_on_other_types(cluster, choice)
    holders = holders_of(snapshot, found.resources) if found.ever else []
    word, more = "now" if found.fits_now else "busy", ""
    if not found.ever:
        is_bound = choice.placement.strategy == "NODE"  # bound to a node's id, which a new node does not have
        word, more = ("", "") if is_bound else addable(autoscaler(), demand, dict(choice.placement.labels))
        word = {"": "never", "full": "unknown"}.get(word, word)
    elif word == "busy":
        more = _beside(autoscaler(), demand, dict(choice.placement.labels))
    texts = {
        "now": f"{asks}: free now.",
        "busy": f"{asks}: not now. {busy(found.reason, holders, since=True)}.{more}{instead}",
        "never": f"A task that asks for {asks} cannot start here: {found.reason}{f'; {more}' if more else ''}.",
        "coming": f"{asks} cannot be met now, because {found.reason}; {more}.{instead}",
        "addable": f"{asks} cannot be met now, because {found.reason}; but {more}.{instead}",
        "unknown": f"{asks} cannot be met now, because {found.reason}; {more}.",
    }
    return Probe(Verdict(word), texts[word], asks, found.reason, found.resources, found.fragmented, holders)


def _placement(options: TaskOptions) -> Placement:
    """Where a task may go by its options, as the books know places."""
    labels, strategy = tuple(sorted(options.label_selector.items())), options.scheduling_strategy
    group = getattr(strategy, "placement_group", options.placement_group)
    if group not in (None, "default"):
        return Placement("GROUP")
    if hasattr(strategy, "node_id"):
        return Placement("NODE", bytes.fromhex(strategy.node_id), bool(strategy.soft), labels=labels)
    if hasattr(strategy, "hard_pairs"):
        return Placement(labels=(*labels, *strategy.hard_pairs()), soft_labels=tuple(strategy.soft_pairs()))
    return Placement(labels=labels)


def explanations(snapshot: Snapshot, what: str | None, autoscaler: Autoscaler = _none) -> list[Explanation]:
    """Of one task or actor, or of all that wait."""
    autoscaler = functools.cache(autoscaler)
    rows = [row for row in snapshot.tasks if what in (None, row.task_id, row.actor_id)]
    if what is None:
        rows = [row for row in rows if row.state in _WAITING]
    found = [_explained(snapshot, row, autoscaler) for row in rows]
    return found or [_of_actor(row) for row in snapshot.actors if row.actor_id == what]


def _of_actor(row: ActorRow) -> Explanation:
    """Of an actor none of whose tasks is known: its process was not watched, or reports nothing."""
    why = f": {row.why}" if row.why else ""
    text = f"Actor {row.class_name} is {row.state}{why}."
    return Explanation(row.actor_id, row.class_name, row.state, text, fits_now=row.state == "ALIVE")


def _explained(snapshot: Snapshot, row: TaskRow, autoscaler: Autoscaler) -> Explanation:
    if row.state in _WAITING and row.kind != "actor call":
        return waiting(snapshot, row, autoscaler)
    words = {
        "RUNNING": "runs",
        "FINISHED": "has ended",
        "FAILED": f"has failed: {row.why}",
        "CANCELLED": "was cancelled",
    }
    where = f" (pid {row.pid})" if row.pid and row.state == "RUNNING" else ""
    why = f" {_why_its_actor_waits(snapshot, row, autoscaler)}" if row.state not in words else ""
    text = f"{row.kind.capitalize()} {row.name} {words.get(row.state, 'waits for its actor')}{where}.{why}".rstrip()
    return Explanation(row.task_id, row.name, row.state, text, fits_now=True)


def _why_its_actor_waits(snapshot: Snapshot, call: TaskRow, autoscaler: Autoscaler) -> str:
    """Why the actor of this call has not started; "" if it has."""
    creations = (row for row in snapshot.tasks if row.actor_id == call.actor_id and row.kind == "actor creation")
    creation = next((row for row in creations if row.state in _WAITING), None)
    return waiting(snapshot, creation, autoscaler).sentence if creation is not None and call.actor_id else ""


def ended_at(row: TaskRow) -> float:
    """When a task ended, in Unix seconds, or where only that is known when it came; 0 for one that goes on."""
    if row.state not in ("FINISHED", "FAILED", "CANCELLED"):
        return 0.0
    return row.finished_at or row.started_at or row.submitted_at or 0.0


def state_rows(snapshot: Snapshot, tables: RaysTables, kind: type[ListedRow]) -> list[ListedRow]:
    """Rows for nbaccel.util.state; none of a kind that Ray does not tell of."""
    rows: dict[type[msgspec.Struct], Callable[[], Sequence[msgspec.Struct]]] = {
        TaskRow: lambda: sorted(snapshot.tasks, key=lambda row: -(ended_at(row) or inf)),  # the latest first
        ActorRow: lambda: snapshot.actors,
        WorkerRow: lambda: snapshot.workers,
        NodeRow: lambda: snapshot.nodes,
        DeviceRow: lambda: snapshot.devices,
        Alert: lambda: snapshot.alerts,
        ListedGroup: lambda: [ListedGroup.of_ray(row) for row in tables["groups"]],
        ListedDriver: lambda: [_driver(job) for job in tables["jobs"]],
    }
    read = rows.get(kind)
    return [row for row in read() if isinstance(row, kind)] if read is not None else []


def _driver(job: JobFacts) -> ListedDriver:
    return ListedDriver(
        job_id=job["JobID"],
        status="SUCCEEDED" if job["IsDead"] else "RUNNING",
        pid=job["DriverPid"],
        entrypoint=job["Entrypoint"],
        start_time=job["StartTime"] / 1000,
    )


_SETTLED = ("CREATED", "REMOVED")
Labels = list[dict[str, str]] | None


def never_placed(snapshot: Snapshot, row: GroupRow, labels: Labels, autoscaler: Autoscaler) -> str:
    """Why this group can never be placed; "" when it can, or when nobody can tell what an autoscaler would add."""
    cluster, group = books(snapshot), _record(row, labels)
    table = GroupTable([], cluster)
    return "" if table.could_ever(group) or _addable(cluster, group, row, autoscaler) else table.why_not(group)


def group_explanations(snapshot: Snapshot, what: str | None, autoscaler: Autoscaler) -> list[Explanation]:
    """Of one placement group, or of all that wait."""
    rows = [row for row in snapshot.groups if what in (None, row.group_id)]
    if what is None:
        rows = [row for row in rows if row.state not in _SETTLED]
    return [_explained_group(snapshot, row, autoscaler) for row in rows]


def _explained_group(snapshot: Snapshot, row: GroupRow, autoscaler: Autoscaler) -> Explanation:
    """Why this group is where it is, with those who hold what it asks for."""
    if row.state in _SETTLED:
        about = _record(row)
        is_placed = row.state == "CREATED"
        sentence = f"{about} is placed." if is_placed else f"{about} was removed."
        return Explanation(row.group_id, str(about), row.state, sentence, fits_now=is_placed)
    cluster, group = books(snapshot), _record(row)
    ever = GroupTable([], cluster).could_ever(group)
    more = "" if ever else _addable(cluster, group, row, autoscaler)
    found = Explainer(cluster, {}).group(group, ever or bool(more))
    holders = holders_of(snapshot, found.resources) if ever else []
    sentence = with_holders(found.sentence.removesuffix("."), holders, since=True)
    also = f"; {more}" if more else ""
    return Explanation(
        id=row.group_id, name=str(group), state=row.state,
        sentence=f"{sentence}{also}.", asks=found.asks,
        fits_now=False, ever=None if more else ever, resources=found.resources,
        fragmented=found.fragmented, reason=found.reason, holders=holders,
    )  # fmt: skip


def _addable(cluster: PlacementBook, group: GroupRecord, row: GroupRow, autoscaler: Autoscaler) -> str:
    """What is known of the autoscaler where the nodes do not do; "" when it cannot help."""
    known = autoscaler()
    if not known["scales"]:
        return ""
    for index, bundle in enumerate(row.bundles):
        if not judge(cluster, group.choice(index)).ever:
            word, more = addable(known, bundle)
            return more if word else ""
    return "the cluster has an autoscaler, which may add nodes for it"


def _record(row: GroupRow, labels: Labels = None) -> GroupRecord:
    bundles = [tuple(sorted((name, round(amount * UNIT)) for name, amount in one.items())) for one in row.bundles]
    pairs = [tuple(sorted(one.items())) for one in labels] if labels else None
    spec = GroupAsked(bytes.fromhex(row.group_id), row.name, bundles, row.strategy, 1, bundle_labels=pairs)
    return GroupRecord(spec, 0.0, GroupState.PENDING)
