"""The cluster's tables, by Ray's private path: `ray._private.state.available_resources_per_node()` for instance.

`state` is what Ray has as an object of the same name, with the same questions as methods.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.api import available_resources, cluster_resources, nodes, timeline
from nbaccel.handles.ids import PlacementGroupID
from nbaccel.runtime_context import get_runtime_context
from nbaccel.util.state import row_queries
from nbaccel.util.state.records import ActorState
from nbaccel.views.snapshot import NodeRow


def available_resources_per_node() -> dict[str, dict[str, float]]:
    """What each living node has free, by its id."""
    return {row.node_id: dict(row.available) for row in _living()}


def total_resources_per_node() -> dict[str, dict[str, float]]:
    """What each living node has, by its id."""
    return {row.node_id: dict(row.totals) for row in _living()}


def actors(actor_id: str | None = None, job_id: Any = None, actor_state_name: str | None = None) -> dict[str, Any]:
    """A row for each actor, by its id; the row itself for one `actor_id`, {} where there is none."""
    addresses = {row.node_id: row.address for row in _engine().state(NodeRow, sys.maxsize)}
    rows = {each.actor_id: _actor(each, addresses) for each in row_queries.actors()}
    if actor_id is not None:
        return rows.get(actor_id, {})
    job = job_id.hex() if job_id is not None else None
    return {
        id: row for id, row in rows.items() if job in (None, row["JobID"]) and actor_state_name in (None, row["State"])
    }


def placement_group_table(placement_group_id: PlacementGroupID | None = None) -> dict[str, Any]:
    """The row of this placement group, or those of all by their ids."""
    return _engine().group_table(None if placement_group_id is None else placement_group_id.binary())


def current_node_id() -> str:
    """The resource that names this node: "node:10.0.0.1"."""
    own = get_runtime_context().get_node_id()
    return next(f"node:{row.address}" for row in _living() if row.node_id == own)


def node_ids() -> list[str]:
    """The resources that name the living nodes."""
    return [f"node:{row.address}" for row in _living()]


def jobs() -> list[dict[str, Any]]:
    """A row for each driver, also of those that have left."""
    return [
        {
            "JobID": job.job_id,
            "DriverPid": int(job.driver_info["pid"]),
            "DriverIPAddress": job.driver_info["node_ip_address"],
            "StartTime": job.start_time,
            "Timestamp": job.start_time,
            "IsDead": job.status != "RUNNING",
            "Entrypoint": job.entrypoint,
        }
        for job in row_queries.jobs()
    ]


def _engine() -> engines.Engine:
    engine = engines.started()
    if engine is None:
        raise exceptions.RaySystemError(
            "nbaccel has not been started yet: the state API is used before nbaccel.init() has been called."
        )
    return engine


def _living() -> list[NodeRow]:
    return [row for row in _engine().state(NodeRow, sys.maxsize) if row.alive]


def _actor(actor: ActorState, addresses: dict[str, str]) -> dict[str, Any]:
    place = {"NodeID": actor.node_id or "", "IPAddress": addresses.get(actor.node_id or "", "")}
    return {
        "ActorID": actor.actor_id,
        "ActorClassName": actor.class_name,
        "IsDetached": actor.is_detached,
        "Name": actor.name,
        "JobID": actor.job_id,
        "Address": place,
        "State": actor.state,
        "NumRestarts": actor.num_restarts,
        "Timestamp": time.time() * 1000,
        "DeathCause": actor.death_cause,
        "Pid": actor.pid or 0,
    }


class GlobalState:
    """The same questions as methods."""

    actors = staticmethod(actors)
    available_resources = staticmethod(available_resources)
    available_resources_per_node = staticmethod(available_resources_per_node)
    cluster_resources = staticmethod(cluster_resources)
    current_node_id = staticmethod(current_node_id)
    node_table = staticmethod(nodes)
    placement_group_table = staticmethod(placement_group_table)
    total_resources_per_node = staticmethod(total_resources_per_node)


state = GlobalState()

__all__ = [
    "GlobalState", "actors", "available_resources", "available_resources_per_node", "cluster_resources",
    "current_node_id", "jobs", "node_ids", "nodes", "placement_group_table", "state", "timeline",
    "total_resources_per_node",
]  # fmt: skip
