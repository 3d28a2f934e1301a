"""What a Ray cluster is asked to have, and which nodes come and do not come, as plain records."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from ray.experimental import internal_kv

from nbaccel_in_ray import cluster_request, holds, internals
from nbaccel_in_ray.collector_link import NAMESPACE

Row = dict[str, Any]
_DEAD = 2  # a NodeStatus of Ray's
NODE_TYPES = "nbaccel_node_types"  # where the command that started the head has noted its types
MACHINES, MACHINES_NAMESPACE = b"nbaccel:machines", b"nbaccel"  # where the provider of machines tells how far they are
_ALLOCATED = "allocated unassigned cloud instance "  # Ray's autoscaler says so of a node that its provider has made
_SOURCES = {"slurm": "Slurm"}  # as sentences write them
_LAUNCH_FAILED = re.compile(
    r"launch failed with Failed to launch \d+ nodes of type .* with request id \S+: ?(.*)", re.S
)
_IN_LOG = r"Failed to launch \d+ nodes of type {}: (.*\S)"  # in the log of Ray's autoscaler
LOG_BYTES = 1 << 18  # so much of its end is read
FORGOTTEN_S = 1800  # a failure that is older is told no more, as by `ray status`
NOT_TOLD = "its launch failed; Ray tells the reason only in monitor.log on the head"


def growth() -> Row:
    """
    request     the bundles that programs ask for
    held        what notebooks hold: job, id, bundles, by, since
    types       the types of nodes that can be asked for, as the head's file for the autoscaler has them; None: not told
    nodes       node -> its type, and for how many seconds it has been idle
    arriving    nodes that were asked for: type, id, and since when or why they are not here
    failed      types whose nodes did not come: type, why and when (at) the last one did not, how many (count)
    sources     type -> where its nodes come from, as far as that is told
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
    return {**facts, "request": _of_programs(cluster_request.of_status(reply), known), **news(reply)}


def news(reply: Any) -> Row:
    """The nodes in the second autoscaler's message, with what their provider tells where it is nbaccel's."""
    facts = with_machines(of_status(reply), published_machines())
    facts["failed"] = [row for row in facts["failed"] if not row["at"] or time.time() - row["at"] < FORGOTTEN_S]
    return with_logged_reasons(facts, os.path.join(internals.session_folder(), "logs"))


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
    for each in state.pending_instances:
        of_provider = _provider_id(each.details)
        if of_provider not in here:  # the autoscaler learns a moment later that it has joined
            why = f"{of_provider} is there and has not joined yet" if of_provider else each.details
            arriving.append({"type": each.ray_node_type_name, "id": each.instance_id, "why": why})
    return {
        "nodes": {
            node.node_id.hex(): {"type": node.ray_node_type_name, "idle_s": node.idle_duration_ms / 1000}
            for node in nodes
            if node.status != _DEAD
        },
        "arriving": arriving,
        "failed": _failed(state.failed_instance_requests),
        "infeasible": [bundle["resources"] for bundle in cluster_request.infeasible(reply)],
    }


def _failed(requests: Iterable[Any]) -> list[Row]:
    """A row for each type whose nodes did not come. Ray forgets none of them while the head lives."""
    rows: dict[str, Row] = {}
    for each in sorted(requests, key=lambda each: float(each.failed_ts)):
        name = each.ray_node_type_name
        launch = _LAUNCH_FAILED.fullmatch(each.reason)
        why = launch[1].strip() if launch is not None else each.reason
        count = rows.get(name, {"count": 0})["count"] + each.count
        rows[name] = {"type": name, "why": why, "at": each.failed_ts, "count": count}
    return list(rows.values())


def with_logged_reasons(facts: Row, folder: str) -> Row:
    """These facts with a reason for each failure.

    Of what a provider raises Ray's autoscaler keeps nothing but a line in its log, which lies on the head.
    """
    if all(row["why"] for row in facts["failed"]):
        return facts
    log = _end_of(os.path.join(folder, "monitor.log"))
    return {**facts, "failed": [{**row, "why": row["why"] or _logged(log, row["type"])} for row in facts["failed"]]}


def _logged(log: str, name: str) -> str:
    reasons = re.findall(_IN_LOG.format(re.escape(name)), log)
    return str(reasons[-1]) if reasons else NOT_TOLD


def _end_of(path: str) -> str:
    """The end of a text; "" where there is none, as on all nodes but the head."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LOG_BYTES, 0))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _provider_id(details: str) -> str:
    """The id that a node's provider gave it, which nodes that are here name; `instance_id` is the autoscaler's own.

    Ray tells it only in the reason for the node's last step; "" where that says something else.
    """
    return details.removeprefix(_ALLOCATED) if details.startswith(_ALLOCATED) else ""


def published_types() -> dict[str, Row] | None:
    """These types; None where nobody has noted any."""
    content = internal_kv._internal_kv_get(NODE_TYPES, namespace=NAMESPACE)
    return dict(json.loads(content)) if content else None


def published_machines() -> Row | None:
    """What the provider of Slurm's and ssh's machines tells; None where the head has another provider."""
    content = internal_kv._internal_kv_get(MACHINES, namespace=MACHINES_NAMESPACE)
    return dict(json.loads(content)) if content else None


def with_machines(facts: Row, told: Row | None) -> Row:
    """These facts, where the provider's word goes before the autoscaler's, which knows no reasons."""
    if told is None:
        return facts
    types = {row["name"]: row for row in told["node_types"]}
    others = [each for each in facts["arriving"] if each["type"] not in types]
    arriving = [_arrival(row) for row in told["arrivals"]]
    for name in types:
        arriving += _not_begun([each for each in facts["arriving"] if each["type"] == name], arriving)
    failed = [
        {"type": row["name"], "why": _by(row["source"], row["why"]), "at": 0, "count": row["failures"]}
        | {"next_try_at": row["next_try_at"]}
        for row in types.values()
        if row["failures"]
    ]
    failed += [each for each in facts["failed"] if each["type"] not in types]
    sources = {name: row["source"] for name, row in types.items()}
    return {**facts, "arriving": others + arriving, "failed": failed, "sources": sources}


def _arrival(row: Row) -> Row:
    why = _by(row["source"], row["state"])
    return {"type": row["node_type"], "id": row["id"], "since": row["since"], "why": why, "source": row["source"]}


def _not_begun(of_ray: list[Row], of_provider: list[Row]) -> list[Row]:
    """The nodes of one type that Ray has asked for and the provider has not begun; Ray counts the begun ones too."""
    requests = [each for each in of_ray if each.get("since")]
    begun = sum(each["type"] == of_ray[0]["type"] for each in of_provider) if of_ray else 0
    return requests[max(begun - (len(of_ray) - len(requests)), 0) :]


def _by(source: str, said: str) -> str:
    return f"{_SOURCES.get(source, source)}: {said}" if said else ""


def _of_programs(current: list[cluster_request.Bundle], known: Row) -> list[cluster_request.Bundle]:
    """The part of the cluster's request that notebooks do not hold."""
    book = holds.HoldBook(known)
    book.seen(current)
    request: list[cluster_request.Bundle] = book.request
    return request
