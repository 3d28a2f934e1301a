"""What a Ray cluster is asked for, and the nodes that come and do not come, as rows of a snapshot."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, NotRequired, TypedDict

from nbaccel.ray_engine.reports.snapshot_building import job_number
from nbaccel.views.expected_growth import stays_for
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, RequestRow, Snapshot

SOURCE = "Ray's autoscaler"


class GrowthFacts(TypedDict):
    """What nbaccel_in_ray.growth tells; see there."""

    request: list[dict[str, dict[str, Any]]]
    held: list[dict[str, Any]]
    types: dict[str, dict[str, Any]] | None
    nodes: dict[str, dict[str, Any]]
    arriving: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    infeasible: list[dict[str, float]]
    left_out: list[dict[str, Any]]
    sources: NotRequired[dict[str, str]]


def add(snapshot: Snapshot, facts: GrowthFacts) -> None:
    """Put the rows into a snapshot of the same cluster."""
    types = facts["types"] or {}
    alive = [node for node in snapshot.nodes if node.alive]
    for node in alive:
        known = facts["nodes"].get(node.node_id)
        if known is None or known["type"] not in types or node.is_head:
            continue
        node.node_type = known["type"]
        if known["idle_s"]:
            node.idle_since = snapshot.time - known["idle_s"]
            idle_s = types[node.node_type].get("idle_s")
            node.leaves_at = node.idle_since + idle_s if idle_s is not None else None
    _say_who_needs(alive, facts, _requests(facts))
    snapshot.arrivals = [
        ArrivalRow(
            each["id"],
            each["type"],
            each.get("source", SOURCE),
            each.get("why") or "arriving",
            each.get("since") or snapshot.time,
        )
        for each in facts["arriving"]
    ]
    snapshot.node_types = _types(types, facts, Counter(node.node_type for node in alive))
    snapshot.requests = _requests(facts)
    snapshot.infeasible_requests = facts["infeasible"] + [
        bundle for held in facts["left_out"] for bundle in held["bundles"]
    ]


def _say_who_needs(nodes: list[NodeRow], facts: GrowthFacts, requests: list[RequestRow]) -> None:
    """Idle nodes that a request counts do not leave. Ray does not tell which: those in use count first, as with it."""
    bundles = [each["resources"] for each in facts["request"]]
    bundles += [bundle for held in facts["held"] if held not in facts["left_out"] for bundle in held["bundles"]]
    room = [(node, dict(node.totals)) for node in sorted(nodes, key=lambda node: node.idle_since is not None)]
    for bundle in bundles:
        for node, free in room:
            if all(free.get(name, 0.0) >= amount for name, amount in bundle.items()):
                free.update({name: free[name] - amount for name, amount in bundle.items() if amount})
                if node.idle_since is not None and node.leaves_at is not None:
                    node.leaves_at, node.kept_by = None, stays_for("request", requests)
                break


def _types(types: dict[str, dict[str, Any]], facts: GrowthFacts, here: Counter[str]) -> list[NodeTypeRow]:
    """The types that are told, and those of nodes that come or have failed; of these only the name is known."""
    arriving = Counter(each["type"] for each in facts["arriving"])
    failed = {each["type"]: each for each in facts["failed"]}
    sources = facts.get("sources", {})
    rows = []
    for name in dict.fromkeys([*types, *arriving, *failed]):
        told, failure = types.get(name, {}), failed.get(name, {})
        rows.append(
            NodeTypeRow(
                name, sources.get(name, SOURCE), told.get("resources", {}), told.get("labels", {}),
                told.get("min_workers", 0), told.get("max_workers", 0), here[name], arriving[name], told.get("idle_s"),
                failure.get("count", 0), failure.get("why", ""), failure.get("next_try_at"),
                failed_at=failure.get("at") or None,
            )
        )  # fmt: skip
    return rows


def _requests(facts: GrowthFacts) -> list[RequestRow]:
    asked = [bundle["resources"] for bundle in facts["request"]]
    rows = [RequestRow("request", _sum(asked), len(asked))] if asked else []
    for held in facts["held"]:
        bundles = held["bundles"]
        rows.append(RequestRow("held", _sum(bundles), len(bundles), held["by"], job_number(held["job"]), held["since"]))
    return rows


def _sum(bundles: list[dict[str, float]]) -> dict[str, float]:
    totals: Counter[str] = Counter()
    for bundle in bundles:
        totals.update(bundle)
    return dict(totals)


def of_session(title: str, job: str, id: str, bundles: list[dict[str, float]]) -> dict[str, Any]:
    """What a driver holds under an id, as the cluster keeps it."""
    return {"job": job, "id": id, "bundles": bundles, "by": title, "since": time.time()}
