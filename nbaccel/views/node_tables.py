"""Tables of nodes: those that are here, arriving or not coming, and the types that can be asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from nbaccel.views import totals, wording
from nbaccel.views.explanations import ExpectedGrowth
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, Snapshot
from nbaccel.views.tables import Table

NO_TYPE = "No type of node can be added. This makes one: nbaccel.init(node_types={'gpu': {'num_gpus': 1, 'max': 2}})"
_COUNTED = ("CPU", "GPU", "TPU", "HPU", "NPU", "neuron_cores")


def nodes(snapshot: Snapshot) -> Table:
    """One row for each node that is here or asked for, and for each type whose last node did not come.

    A type that is asked for again has both: Ray's autoscaler asks at once.
    """
    rows = [
        (wording.plain(node.name), wording.plain(node.node_type), _state(node, snapshot.time), _has(node.totals))
        for node in snapshot.nodes
        if node.alive
    ]
    kinds = {kind.name: kind for kind in snapshot.node_types}
    for arrival in snapshot.arrivals:
        state = _arriving(arrival, snapshot.time)
        has = _has(kinds[arrival.node_type].resources) if arrival.node_type in kinds else ""
        rows.append(("", wording.plain(arrival.node_type), state, has))
    rows += [
        ("", wording.plain(kind.name), _not_coming(kind, snapshot.time), _has(kind.resources))
        for kind in snapshot.node_types
        if kind.failures
    ]
    return Table("Nodes", ("Node", "Type", "State", "Has"), rows, more=totals.nodes_left_out(snapshot))


def moving(snapshot: Snapshot) -> str:
    """The first node that is about to leave, or that was asked for: "● node-2 alive idle for 50 s, leaves in 10 s"."""
    for node in snapshot.nodes:
        if node.leaves_at is not None and node.leaves_at > snapshot.time:
            why = wording.plain(node.why) or _state(node, snapshot.time)
            return f"{'● %s alive' if node.alive else '✕ %s gone'} {why}" % node_names(snapshot.nodes)[node.node_id]
    arrival = next(iter(snapshot.arrivals), None)
    return f"◌ {wording.plain(arrival.node_type)} {_arriving(arrival, snapshot.time)}" if arrival else ""


def node_types(snapshot: Snapshot) -> Table:
    """One row for each type of node that can be asked for."""
    rows = [
        (
            wording.plain(kind.name),
            _has(kind.resources),
            f"{kind.min} to {kind.max}" if kind.max else "not told",
            str(kind.here),
            str(kind.arriving),
            wording.duration(kind.idle_s) if kind.idle_s is not None else "",
            f"{kind.used_s / 3600:.2f}" if kind.source == "virtual" else "",
        )
        for kind in snapshot.node_types
    ]
    return Table(
        "Node types", ("Type", "Has", "Nodes", "Here", "Arriving", "Leaves when idle for", "Node hours"), rows, NO_TYPE
    )


def keepers(snapshot: Snapshot, names: Mapping[str, str]) -> list[str]:
    """A sentence for each idle node that cannot leave: what keeps it, and what lets it go.

    `names` are the variables that hold objects, by the objects' hex ids.
    """
    said = []
    for node in snapshot.nodes:
        if not (node.alive and node.kept_objects):
            continue
        known = [wording.plain(names[id]) for id in node.kept_objects if id in names]
        what = f"only it has {' and '.join(known)}" if known else node.kept_by
        freed = f"`del` of {'it' if len(known) == 1 else 'these'} or " if known else ""
        name = wording.plain(node.name)
        said.append(f"{name} cannot leave: {what}. {freed}`%accel_nodes move={name}` lets it go.")
    return said


def expected(growth: ExpectedGrowth | None, snapshot: Snapshot) -> list[str]:
    """What a request would bring, in sentences."""
    if growth is None:
        if snapshot.runtime.engine == "ray":
            return [
                "Ray's autoscaler decides when it is asked. %accel_probe num_gpus=1 says whether a node could come."
            ]
        return [f"Nothing would come: this cluster does not grow. {NO_TYPE}"]
    kinds = {kind.name: kind for kind in snapshot.node_types}
    said = [
        f"{wording.count(number, 'node')} of type {wording.plain(name)} would come "
        f"({_has(kinds[name].resources)} each{_usually(name, snapshot)})."
        for name, number in growth.nodes.items()
    ]
    if not (said or growth.infeasible or growth.short):
        said = ["Nothing would come: what is here or on its way has the room."]
    said += [f"No node and no type of node can meet {wording.demand(each)}." for each in growth.infeasible]
    for each, number in _counted(growth.short):
        said.append(f"No more nodes may come now for {wording.demand(each)}{f' (× {number})' if number > 1 else ''}.")
    return [*said, "Nothing was asked for."]


def _usually(name: str, snapshot: Snapshot) -> str:
    took = [arrival.usually_s for arrival in snapshot.arrivals if arrival.node_type == name]
    return f", usually within {wording.duration(took[0])}" if took and took[0] is not None else ""


def _counted(bundles: list[dict[str, float]]) -> list[tuple[dict[str, float], int]]:
    distinct = [each for index, each in enumerate(bundles) if each not in bundles[:index]]
    return [(each, bundles.count(each)) for each in distinct]


def requests(snapshot: Snapshot) -> list[str]:
    """A sentence for each request, and one for what nothing can meet."""
    said = [
        f"{_has(row.resources)} asked for by {wording.plain(row.by) or 'a program'}"
        + (f" since {wording.moment(row.since)}" if row.since else "")
        + (" (until its block, its cell or its process ends)" if row.kind == "held" else " (request_resources)")
        for row in snapshot.requests
    ]
    never = [wording.demand(bundle) for bundle in snapshot.infeasible_requests]
    return said + [f"No node and no type of node can meet {each}." for each in never]


def _arriving(arrival: ArrivalRow, now: float) -> str:
    usually = f" (usually {wording.duration(arrival.usually_s)})" if arrival.usually_s is not None else ""
    why = "" if arrival.state == "arriving" else f": {wording.plain(arrival.state)}"
    return f"arriving for {wording.duration(max(now - arrival.since, 0))}{usually}{why}"


def _state(node: NodeRow, now: float) -> str:
    idle = f"idle for {wording.duration(max(now - node.idle_since, 0))}" if node.idle_since is not None else ""
    if node.kept_by:
        return f"{idle}{', ' if idle else ''}stays: {wording.plain(node.kept_by)}"
    if node.leaves_at is None:
        return idle or ("in use" if node.node_type else "here")
    left = node.leaves_at - now
    return (
        f"{idle}, leaves in {wording.duration(left)}" if left > 0 else f"{idle}, kept for a request or its type's min"
    )


def _not_coming(kind: NodeTypeRow, now: float) -> str:
    if kind.given_up:
        return f"not coming: {wording.plain(kind.why)}; stopped trying after {kind.failures} failures"
    again = f"; next try in {wording.duration(max(kind.next_try_at - now, 0))}" if kind.next_try_at else ""
    begins = "the last one did not come" if kind.arriving else "not coming"
    return f"{begins}: {wording.plain(kind.why)}{_how_often(kind, now)}{again}"


def _how_often(kind: NodeTypeRow, now: float) -> str:
    last = f"{wording.duration(max(now - kind.failed_at, 0))} ago" if kind.failed_at is not None else ""
    often = f"{kind.failures} failures" if kind.failures > 1 else ""
    words = f"{often}, the last {last}" if often and last else often or last
    return f" ({words})" if words else ""


def _has(resources: dict[str, float]) -> str:
    return wording.demand({name: resources[name] for name in _COUNTED if resources.get(name)})


# ---- what nodes are called in every view
#
# Without their domain, and of a long name the beginning and the end, which tells it from others. A title has the
# whole. The page does the same (`model/words.ts`).


HEAD, TAIL = 13, 10  # letters of a long name, before and after its ellipsis


def node_names(nodes: Sequence[NodeRow]) -> dict[str, str]:
    """The nodes' names by their ids; two that differ only in their domains keep these."""
    wholes = {node.node_id: wording.plain(node.name) for node in nodes}
    times = Counter(map(_host, wholes.values()))
    return {id: _shortened(whole if times[_host(whole)] > 1 else _host(whole)) for id, whole in wholes.items()}


def _host(name: str) -> str:
    """The name without its domain; an address has none."""
    return name if re.fullmatch(r"[\d.:]+", name) else name.partition(".")[0]


def _shortened(name: str) -> str:
    return f"{name[:HEAD]}…{name[-TAIL:]}" if len(name) > HEAD + 1 + TAIL else name
