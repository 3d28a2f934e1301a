"""Asking the cluster for its rows, and choosing among them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from numbers import Integral
from typing import Any, TypeVar

from msgspec.structs import asdict

from nbaccel import engine as engines
from nbaccel.util.state.records import (
    ActorState,
    ClusterEventState,
    JobState,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RayStateApiException,
    Record,
    RuntimeEnvState,
    ServerUnavailable,
    TaskState,
    WorkerState,
)
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    ListedDriver,
    ListedEnvironment,
    ListedGroup,
    ListedObject,
    NodeRow,
    TaskRow,
    WorkerRow,
)

MOST_ROWS = 10_000  # of one answer, as in Ray
_MOST_ROWS_VARIABLE = "RAY_MAX_LIMIT_FROM_API_SERVER"
WORKER_ID_BYTES = 28
R = TypeVar("R", bound=Record)
Filters = Sequence[tuple[str, str, Any]]
_TYPES = {"task": "NORMAL_TASK", "actor creation": "ACTOR_CREATION_TASK", "actor call": "ACTOR_TASK"}


def most_rows() -> int:
    """How many rows one answer may have: as the environment says now. Raises ValueError."""
    said = os.environ.get(_MOST_ROWS_VARIABLE, "")
    if said and not said.strip().isdigit():
        raise ValueError(
            f"{_MOST_ROWS_VARIABLE}={said!r} is not a number of rows: set a whole number, or unset it for {MOST_ROWS}."
        )
    return int(said or MOST_ROWS)


def rows(kind: type[engines.ListedRow]) -> list[engines.ListedRow]:
    """All rows of a kind, as the engine says them. Raises ServerUnavailable."""
    return _state(kind, most_rows())


def every(kind: type[engines.ListedRow]) -> list[engines.ListedRow]:
    """The rows of every node or device: a snapshot of a large cluster has some. Raises ServerUnavailable."""
    return _state(kind, sys.maxsize)


def _state(kind: type[engines.ListedRow], limit: int) -> list[engines.ListedRow]:
    engine = engines.started()
    if engine is None:
        raise ServerUnavailable(engines.why_not_started())
    return engine.state(kind, limit)


def chosen(kind: type[R], records: Iterable[R], filters: Filters | None, limit: int) -> list[R]:
    """Those that meet all filters, at most `limit`. Raises ValueError, TypeError for what cannot be meant."""
    checked = [_check_filter(kind, each) for each in filters or ()]
    _check_limit(limit)
    found = [record for record in records if all(_meets(record, each) for each in checked)]
    return found[:limit]


def _check_limit(limit: Any) -> None:
    if not isinstance(limit, Integral):
        raise TypeError(f"limit is a whole number of rows, not {limit!r} ({type(limit).__name__}).")
    if int(limit) < 0:
        raise ValueError(f"limit={limit} cannot be a number of rows: give 0 or more.")
    if int(limit) > most_rows():
        raise ValueError(
            f"Given limit {limit} exceeds the supported limit {most_rows()}. Use a lower limit, or set the environment "
            f"variable {_MOST_ROWS_VARIABLE}={limit}."
        )


def _check_filter(kind: type[Record], each: Any) -> tuple[str, str, Any]:
    if not isinstance(each, (tuple, list)) or len(each) != 3:
        raise ValueError(f"A filter is a tuple of a column, '=' or '!=', and a value, not {each!r}.")
    column, predicate, value = each
    if predicate not in ("=", "!="):
        raise ValueError(f"Unsupported filter predicate {predicate} is given. Available predicates: =, !=.")
    if column not in kind.columns():
        columns = ", ".join(sorted(kind.columns()))
        raise RayStateApiException(
            f"The filter key {column!r} is not supported here. Supported filter keys: {columns}."
        )
    return column, predicate, value


def _meets(record: Record, each: tuple[str, str, Any]) -> bool:
    column, predicate, wanted = each
    return (_plain(record[column]) == _plain(wanted)) is (predicate == "=")


def _plain(value: Any) -> str:
    """Values from a command line are text: True and "true", 3 and "3" are the same here."""
    return str(value).lower()


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)


def _job(number: int) -> str:
    return number.to_bytes(4, "big").hex()


def tasks() -> list[TaskState]:
    return [_task(row) for row in rows(TaskRow)]


def _task(row: TaskRow) -> TaskState:
    state = "FAILED" if row.state == "CANCELLED" else row.state  # as Ray counts what was cancelled
    return TaskState(
        task_id=row.task_id,
        attempt_number=row.attempt,
        name=row.name,
        state=state,
        job_id=_job(row.job),
        actor_id=row.actor_id,
        type=_TYPES[row.kind],
        func_or_class_name=row.function or row.name,
        parent_task_id=row.parent_task_id,
        node_id=row.node_id,
        worker_id=row.worker_id,
        worker_pid=row.pid,
        error_type=row.error_type or None,
        why=row.why,
        required_resources=row.demand,
        device_ids=row.device_ids,
        cell=row.cell,
        creation_time_ms=_milliseconds(row.submitted_at),
        start_time_ms=_milliseconds(row.started_at),
        end_time_ms=_milliseconds(row.finished_at),
        error_message=row.why if state == "FAILED" else None,
        events=_events(row, state),
    )


def _events(row: TaskRow, state: str) -> list[dict[str, Any]]:
    """What it has gone through, as far as the times are known."""
    last = state if state == "FAILED" else "FINISHED"
    steps = [("PENDING_NODE_ASSIGNMENT", row.submitted_at), ("RUNNING", row.started_at), (last, row.finished_at)]
    return [
        {"state": state, "created_at": datetime.fromtimestamp(at, UTC).isoformat()}
        for state, at in steps
        if at is not None
    ]


def actors() -> list[ActorState]:
    return [
        ActorState(
            actor_id=row.actor_id,
            class_name=row.class_name,
            state=row.state,
            job_id=_job(row.job),
            name=row.name,
            node_id=row.node_id,
            pid=row.pid,
            ray_namespace=row.namespace,
            why=row.why,
            required_resources=row.demand,
            device_ids=row.device_ids,
            death_cause=row.why if row.state == "DEAD" else None,
            is_detached=row.detached,
            num_restarts=row.restarts,
            pending_calls=row.pending_calls,
            cell=row.cell,
        )
        for row in rows(ActorRow)
    ]


def nodes() -> list[NodeState]:
    return [
        NodeState(
            node_id=row.node_id,
            node_ip=row.address,
            is_head_node=row.is_head,
            state="ALIVE" if row.alive else "DEAD",
            state_message=row.why or None,
            node_name=row.name,
            resources_total=row.totals,
            labels=row.labels,
            resources_available=row.available,
        )
        for row in rows(NodeRow)
    ]


def _addresses() -> tuple[dict[str, str], str]:
    """Of the nodes by their ids; and of the head's node, where drivers are taken to be."""
    found = rows(NodeRow)
    head = next((row.address for row in found if row.is_head), "")
    return {row.node_id: row.address for row in found}, head


def workers() -> list[WorkerState]:
    addresses, head_address = _addresses()
    return [
        WorkerState(
            worker_id=row.worker_id,
            is_alive=row.state != "STOPPING",
            worker_type="WORKER",
            exit_type=None,
            node_id=row.node_id,
            ip=addresses.get(row.node_id or "", ""),
            pid=row.pid,
            state=row.state,
            running=row.running,
        )
        for row in rows(WorkerRow)
    ] + [_driver(row, head_address) for row in rows(ListedDriver) if row.status == "RUNNING"]


def _driver(job: ListedDriver, address: str) -> WorkerState:
    """The process of a job that goes on. Its id is the job's, filled up, as in Ray."""
    worker_id = job.job_id.ljust(2 * WORKER_ID_BYTES, "f")
    return WorkerState(worker_id, True, "DRIVER", None, None, address, job.pid, "ALIVE", job.entrypoint)


def objects() -> list[ObjectState]:
    found = rows(ListedObject)
    address = _addresses()[1] if found else ""
    return [ObjectState(**asdict(row) | {"ip": row.ip or address}) for row in found]


def groups() -> list[PlacementGroupState]:
    return [
        PlacementGroupState(
            placement_group_id=row.placement_group_id,
            name=row.name,
            creator_job_id=row.creator_job_id,
            state=row.state,
            bundles=_bundles(row),
            is_detached=row.is_detached,
            strategy=row.strategy,
        )
        for row in rows(ListedGroup)
    ]


def _bundles(row: ListedGroup) -> list[dict[str, Any]]:
    nodes_of = row.bundles_to_node_id
    group_id = row.placement_group_id
    return [
        {
            "bundle_id": {"placement_group_id": group_id, "bundle_index": index},
            "unit_resources": bundle,
            "node_id": nodes_of.get(index),
        }
        for index, bundle in row.bundles.items()
    ]


def jobs() -> list[JobState]:
    _, address = _addresses()
    return [
        JobState(
            job_id=row.job_id,
            status=row.status,
            entrypoint=row.entrypoint,
            start_time=_milliseconds(row.start_time),
            driver_info={"id": row.job_id, "pid": str(row.pid), "node_ip_address": address},
        )
        for row in rows(ListedDriver)
    ]


def runtime_envs() -> list[RuntimeEnvState]:
    return [
        RuntimeEnvState(row.runtime_env, row.error is None, row.error, row.node_id) for row in rows(ListedEnvironment)
    ]


def events() -> list[ClusterEventState]:
    return [
        ClusterEventState("WARNING", str(row.since), row.kind, row.message, str(number))
        for number, row in enumerate(rows(Alert))
    ]


READERS: dict[type[Record], Callable[[], list[Any]]] = {
    TaskState: tasks,
    ActorState: actors,
    NodeState: nodes,
    WorkerState: workers,
    ObjectState: objects,
    PlacementGroupState: groups,
    JobState: jobs,
    RuntimeEnvState: runtime_envs,
    ClusterEventState: events,
}


# ---- counts of tasks, actors and objects by what they are, in the shape of Ray's summaries


MIB = 1 << 20


def of_tasks() -> dict[str, Any]:
    summary: dict[str, dict[str, Any]] = {}
    kinds: Counter[str] = Counter()
    for task in tasks():
        kinds[task.type] += 1
        row = summary.setdefault(
            task.func_or_class_name,
            {"func_or_class_name": task.func_or_class_name, "type": task.type, "state_counts": {}},
        )
        _count(row["state_counts"], task.state)
    return {
        "summary": summary,
        "total_tasks": kinds["NORMAL_TASK"],
        "total_actor_tasks": kinds["ACTOR_TASK"],
        "total_actor_scheduled": kinds["ACTOR_CREATION_TASK"],
        "summary_by": "func_name",
    }


def of_actors() -> dict[str, Any]:
    summary: dict[str, dict[str, Any]] = {}
    found = actors()
    for actor in found:
        row = summary.setdefault(actor.class_name, {"class_name": actor.class_name, "state_counts": {}})
        _count(row["state_counts"], actor.state)
    return {"summary": summary, "total_actors": len(found), "summary_by": "class"}


def of_objects() -> dict[str, Any]:
    found = objects()
    size_mb = sum(each.object_size or 0 for each in found) / MIB
    states: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for each in found:
        _count(states, each.task_status)
        _count(kinds, each.reference_type)
    row = {
        "total_objects": len(found),
        "total_size_mb": size_mb,
        "task_state_counts": states,
        "ref_type_counts": kinds,
    }
    return {
        "summary": {"disabled": row} if found else {},
        "total_objects": len(found),
        "total_size_mb": size_mb,
        "callsite_enabled": False,
        "summary_by": "callsite",
    }


def _count(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
