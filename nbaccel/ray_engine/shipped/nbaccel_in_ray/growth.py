"""What a Ray cluster is asked to have, and which nodes come and do not come, as plain records."""

from __future__ import annotations

import json
from typing import Any

from ray.experimental import internal_kv

from nbaccel_in_ray import cluster_request, holds
from nbaccel_in_ray.reporting import NAMESPACE

Row = dict[str, Any]
_DEAD = 2  # a NodeStatus of Ray's
NODE_TYPES = "nbaccel_node_types"  # where the command that started the head has noted its types


def growth() -> Row:
    """
    request     the bundles that programs ask for
    held        what notebooks hold: job, id, bundles, by, since
    types       the types of nodes that can be asked for, as the head's file for the autoscaler has them; None: not told
    nodes       node -> its type, and for how many seconds it has been idle
    arriving    nodes that were asked for: type, id, and since when or why they are not here
    failed      nodes that did not come: type, why, at
    infeasible  requested bundles that no node and no type can meet together
    left_out    of what notebooks hold: what would be too much beside the rest
    """
    known = holds.kept()
    facts: Row = {"held": known.get("held", []), "left_out": known.get("left_out", []), "types": published_types()}
    if not cluster_request.is_second():
        current = cluster_request.read()
        return {**facts, "request": _of_programs(current, known), "nodes": {}, "arriving": [], "failed": []} | {
            "infeasible": []
        }
    reply = cluster_request.status()
    return {**facts, "request": _of_programs(cluster_request.of_status(reply), known), **of_status(reply)}


def of_status(reply: Any) -> Row:
    """The nodes in the second autoscaler's message."""
    state, nodes = reply.autoscaling_state, reply.cluster_resource_state.node_states
    here = {node.instance_id for node in nodes if node.status != _DEAD}
    arriving = [
        {
            "type": each.ray_node_type_name,
            "id": f"{each.ray_node_type_name}-{number}",
            "since": each.request_ts,
            "why": "",
        }
        for each in state.pending_instance_requests
        for number in range(each.count)
    ]
    arriving += [
        {"type": each.ray_node_type_name, "id": each.instance_id, "why": each.details}
        for each in state.pending_instances
        if each.instance_id not in here  # the autoscaler learns a moment later that it has joined
    ]
    return {
        "nodes": {
            node.node_id.hex(): {"type": node.ray_node_type_name, "idle_s": node.idle_duration_ms / 1000}
            for node in nodes
            if node.status != _DEAD
        },
        "arriving": arriving,
        "failed": [
            {"type": each.ray_node_type_name, "why": each.reason, "at": each.failed_ts, "count": each.count}
            for each in state.failed_instance_requests
        ],
        "infeasible": [bundle["resources"] for bundle in cluster_request.infeasible(reply)],
    }


def published_types() -> dict[str, Row] | None:
    """These types; None where nobody has noted any."""
    content = internal_kv._internal_kv_get(NODE_TYPES, namespace=NAMESPACE)
    return dict(json.loads(content)) if content else None


def _of_programs(current: list[cluster_request.Bundle], known: Row) -> list[cluster_request.Bundle]:
    """The part of the cluster's request that notebooks do not hold."""
    book = holds.HoldBook(known)
    book.seen(current)
    request: list[cluster_request.Bundle] = book.request
    return request
