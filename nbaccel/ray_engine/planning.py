"""Why work waits on Ray, and where it could run: Ray's nodes written into the scheduler's books, which then judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from nbaccel.options import UNIT
from nbaccel.scheduling.events import Choice, DeviceSpec, NodeSpec, Placement
from nbaccel.scheduling.placement import Cluster
from nbaccel.scheduling.reasons import Feasibility, choice_text, judge
from nbaccel.scheduling.resources import listed
from nbaccel.snapshot import DeviceRow, NodeRow, Snapshot, TaskRow

MOST_NAMED = 4
_WAITING = ("PENDING_NODE_ASSIGNMENT", "PENDING_ARGS_AVAIL")


def books(snapshot: Snapshot) -> Cluster:
    """The nodes that live, with what is held taken off."""
    cluster = Cluster()
    for node in snapshot.nodes:
        if node.alive:
            _enter(cluster, node, [device for device in snapshot.devices if device.node_id == node.node_id])
    return cluster


def _enter(cluster: Cluster, node: NodeRow, devices: list[DeviceRow]) -> None:
    counted = {device.resource for device in devices}
    totals = {name: round(amount * UNIT) for name, amount in node.totals.items() if name not in counted}
    specs = [DeviceSpec(device.resource, device.index, type=device.type) for device in devices]
    place = cluster.add_node(NodeSpec(bytes.fromhex(node.node_id), node.name, totals, specs, node.labels, node.is_head))
    for name in totals:
        place.free[name] = round(node.available.get(name, 0) * UNIT)
    for row in devices:
        device = place.devices[row.resource][row.index]
        device.used = UNIT - round(row.free * UNIT)


def verdict(snapshot: Snapshot, demand: dict[str, float], labels: dict[str, str] | None = None) -> Feasibility:
    """Whether this could run now, or ever, on the nodes of the picture."""
    return judge(books(snapshot), _choice(demand, labels))


def _choice(demand: dict[str, float], labels: dict[str, str] | None = None) -> Choice:
    pairs = tuple(sorted((name, round(amount * UNIT)) for name, amount in demand.items()))
    return Choice(pairs, Placement(labels=tuple(sorted((labels or {}).items()))))


def sentence(snapshot: Snapshot, row: TaskRow) -> dict[str, Any]:
    """Why this task waits, with those who hold what it asks for."""
    choice = _choice(row.demand)
    found = judge(books(snapshot), choice)
    answer = {"id": row.task_id, "name": row.name, "state": row.state, **_facts(snapshot, choice, found)}
    start = f"Task {row.name}{_of_cell(row.cell)} asks for {answer['asks']}"
    if found.fits_now:
        answer["sentence"] = f"{start}, which is free: it is about to start, or waits for its arguments."
    elif not found.ever:
        answer["sentence"] = f"{start}, which can never be met here: {found.reason}."
    else:
        answer["sentence"] = f"{start}: {found.reason}{_who(answer['holders'])}."
    return answer


def _facts(snapshot: Snapshot, choice: Choice, found: Feasibility) -> dict[str, Any]:
    """What an explanation and a probe have in common."""
    return {
        "asks": choice_text(choice),
        "reason": found.reason,
        "fits_now": found.fits_now,
        "ever": found.ever,
        "resources": found.resources,
        "fragmented": found.fragmented,
        "holders": list(_holders(snapshot, found.resources)) if found.ever else [],
    }


def _holders(snapshot: Snapshot, resources: list[str]) -> Iterator[dict[str, Any]]:
    """Of devices, and of what else tasks and actors hold for as long as they run."""
    for device in snapshot.devices:
        for holder in device.holders if device.resource in resources else ():
            yield {
                "name": holder.name, "resource": device.resource, "amount": holder.amount, "device_id": device.id,
                "cell": holder.cell, "pid": holder.pid, "since": holder.since, "task_id": holder.task_id,
                "actor_id": holder.actor_id, "for_life": holder.actor_id is not None,
            }  # fmt: skip
    on_devices = {device.resource for device in snapshot.devices}
    running = [row for row in snapshot.tasks if row.state == "RUNNING" and row.kind == "task"]
    for name in resources:
        for row in running if name not in on_devices else ():
            if row.demand.get(name):
                yield {
                    "name": row.name, "resource": name, "amount": row.demand[name], "cell": row.cell, "pid": row.pid,
                    "since": row.started_at, "task_id": row.task_id,
                }  # fmt: skip


def _who(holders: list[dict[str, Any]]) -> str:
    named = []
    for holder in holders[:MOST_NAMED]:
        device = f" ({holder['resource']} {holder['device_id']})" if holder.get("device_id") else ""
        pid = f", pid {holder['pid']}" if holder.get("pid") else ""
        named.append(f"{holder['name']}{_of_cell(holder['cell'])}{device}{pid}")
    if len(holders) > MOST_NAMED:
        named.append(f"{len(holders) - MOST_NAMED} more")
    return f"; held by {listed(named)}" if named else ""


def _of_cell(cell: str) -> str:
    return f" (cell {cell})" if cell else ""


def probe(snapshot: Snapshot, demand: dict[str, float]) -> dict[str, Any]:
    """What a task of this demand would meet."""
    choice = _choice(demand)
    found = judge(books(snapshot), choice)
    answer = _facts(snapshot, choice, found)
    word = "now" if found.fits_now else "busy" if found.ever else "never"
    texts = {
        "now": f"{answer['asks']}: free now.",
        "busy": f"{answer['asks']}: {found.reason}{_who(answer['holders'])}.",
        "never": f"{answer['asks']} can never be met here: {found.reason}.",
    }
    kept = {name: value for name, value in answer.items() if name not in ("fits_now", "ever")}
    return {"verdict": word, "sentence": texts[word], **kept}


def explanations(snapshot: Snapshot, what: str | None) -> list[dict[str, Any]]:
    """Of one task or actor, or of all that wait."""
    rows = [row for row in snapshot.tasks if what in (None, row.task_id, row.actor_id)]
    if what is None:
        rows = [row for row in rows if row.state in _WAITING]
    return [_explained(snapshot, row) for row in rows]


def _explained(snapshot: Snapshot, row: TaskRow) -> dict[str, Any]:
    if row.state in _WAITING and row.kind != "actor call":
        return sentence(snapshot, row)
    words = {"RUNNING": "runs", "FINISHED": "has ended", "FAILED": f"has failed: {row.why}"}
    where = f" (pid {row.pid})" if row.pid and row.state == "RUNNING" else ""
    text = f"{row.kind.capitalize()} {row.name} {words.get(row.state, 'waits for its actor')}{where}."
    return {"id": row.task_id, "name": row.name, "state": row.state, "sentence": text, "fits_now": True}


def state_rows(snapshot: Snapshot, tables: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """Rows for nbaccel.util.state, as plain dicts."""
    if what == "groups":
        return list(tables["groups"])
    if what == "jobs":
        return [
            {"job_id": job["JobID"], "status": "SUCCEEDED" if job["IsDead"] else "RUNNING", "pid": job["DriverPid"],
             "entrypoint": job["Entrypoint"], "start_time": job["StartTime"] / 1000}
            for job in tables["jobs"]
        ]  # fmt: skip
    rows: dict[str, list[Any]] = {
        "tasks": snapshot.tasks,
        "actors": snapshot.actors,
        "workers": snapshot.workers,
        "nodes": snapshot.nodes,
    }
    found = rows.get(what, [])
    return [dict(msgspec.to_builtins(row)) for row in found]
