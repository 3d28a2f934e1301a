"""Ray's own tables as plain records: asked directly, or by a task where the driver comes through Ray Client."""

from __future__ import annotations

from typing import Any

import ray

Row = dict[str, Any]


def tables() -> dict[str, Any]:
    """Nodes, what of each is free, actors, workers that live, placement groups, jobs."""
    state = ray._private.state
    return {
        "nodes": ray.nodes(),
        "available": state.available_resources_per_node(),
        "actors": [_actor(row) for row in state.actors().values()],
        "workers": {worker_id: _pid(row) for worker_id, row in state.workers().items()},
        "groups": list(ray.util.placement_group_table().values()),
        "jobs": state.jobs(),
    }


def _actor(row: Row) -> Row:
    """Without the parts that only Ray's own code can read."""
    plain = {name: value for name, value in row.items() if name != "DeathCause"}
    plain["why"] = _words(row.get("DeathCause"))
    plain["class_name"] = row["ActorClassName"].rpartition(".")[2]
    return plain


def _words(cause: Any) -> str:
    kind = cause.WhichOneof("context") if cause is not None else None
    if kind is None:
        return ""
    detail = getattr(cause, kind)
    text = getattr(detail, "error_message", "") or getattr(detail, "formatted_exception_string", "")
    lines = str(text).strip().splitlines()
    return lines[0] if kind != "creation_task_failure_context" or not lines else lines[-1]


def _pid(row: Row) -> int | None:
    """Ray writes a worker's pid into the names of its log files only."""
    pid = row.get("stderr_file", "").rpartition("-")[2].removesuffix(".err")
    return int(pid) if pid.isdigit() else None
