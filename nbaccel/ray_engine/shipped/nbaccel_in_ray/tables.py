"""Ray's own tables as plain records: asked directly, or by a task if the driver uses Ray Client."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import growth, internals

Row = dict[str, Any]
_MIRRORED = re.compile("node_[0-9a-f]{56}")  # types that Ray's monitor makes up of nodes' ids where nothing scales


def tables() -> dict[str, Any]:
    """Nodes with their free resources, actors, living workers, placement groups, jobs."""
    return {
        "nodes": ray.nodes(),
        "available": internals.free_resources(),
        "actors": [_actor(row) for row in internals.actors().values()],
        "workers": {worker_id: _pid(row) for worker_id, row in internals.workers().items()},
        "groups": list(ray.util.placement_group_table().values()),
        "jobs": internals.jobs(),
    }


def autoscaler() -> Row:
    """What Ray reports about the cluster's autoscaler.

    groups    the kinds of nodes that it may add, with `name`, `resources`, `labels` and `max_count`; None: not told
    scales    whether there is one at all
    arriving  nodes that were asked for: type, and since when or why they are not here (of nbaccel's heads only)
    failed    nodes that did not come: type, why
    here      how many nodes of each type there are
    """
    config = internals.cluster_config()
    if config is not None and config.node_group_configs:
        return {"groups": [_group(each) for each in config.node_group_configs], "scales": True}
    if (told := growth.published_types()) is not None:
        groups = [_told_group(name, each) for name, each in told.items()]
        return {"groups": groups, "scales": True, **(_news() if growth.is_second() else {})}
    status = internal_kv._internal_kv_get("__autoscaling_status")
    report = (json.loads(status) if status else {}).get("autoscaler_report") or {}
    kinds = [*kinds_of_the_first(report), *_kinds_of_the_second()]
    return {"groups": None, "scales": any(not _MIRRORED.fullmatch(kind) for kind in kinds)}


def kinds_of_the_first(report: Row) -> list[str]:
    """The kinds of nodes in the status of Ray's first autoscaler: running, starting, and failed to start."""
    counted = [kind for part in ("active_nodes", "idle_nodes", "pending_launches") for kind in report.get(part) or {}]
    listed = [row[1] for part in ("pending_nodes", "failed_nodes") for row in report.get(part) or []]
    return [*counted, *listed, *(report.get("node_type_mapping") or {}).values()]


def _group(config: Any) -> Row:
    return {
        "name": config.name,
        "resources": {name: float(amount) for name, amount in config.resources.items()},
        "labels": dict(getattr(config, "labels", {})),
        "max_count": config.max_count,
    }


def _news() -> Row:
    """Which nodes come, and which did not."""
    known = growth.news(growth.second_status())
    return {name: known[name] for name in ("arriving", "failed")} | {
        "here": Counter(node["type"] for node in known["nodes"].values())
    }


def _told_group(name: str, told: Row) -> Row:
    return {
        "name": name,
        "resources": {name: float(amount) for name, amount in told["resources"].items()},
        "labels": dict(told.get("labels") or {}),
        "max_count": told.get("max_workers", 0),
    }


def _kinds_of_the_second() -> list[str]:
    """The kinds of nodes of Ray's second autoscaler, which writes no status like the first one's."""
    from ray.autoscaler.v2 import sdk
    from ray.autoscaler.v2.utils import is_autoscaler_v2

    if not is_autoscaler_v2():
        return []
    status = sdk.get_cluster_status(ray.get_runtime_context().gcs_address)
    return kinds_of_the_second(status)


def kinds_of_the_second(status: Any) -> list[str]:
    """The kinds of nodes in the status of Ray's second autoscaler."""
    parts = ("active_nodes", "idle_nodes", "pending_launches", "pending_nodes", "failed_launches", "failed_nodes")
    found = [each.ray_node_type_name for part in parts for each in getattr(status, part)]
    return [name for name in found if name]


def _actor(row: Row) -> Row:
    """An actor's record without the parts that only Ray's own code can read."""
    plain = {name: value for name, value in row.items() if name != "DeathCause"}
    plain["why"] = _words(row.get("DeathCause"))
    plain["out_of_scope"] = _is_out_of_scope(row.get("DeathCause"))
    plain["class_name"] = row["ActorClassName"].rpartition(".")[2]
    plain["internal"] = internals.is_marked(row["ActorClassName"])
    return plain


def _is_out_of_scope(cause: Any) -> bool:
    """Whether the actor ended because its last handle was dropped and all of its calls were done."""
    if cause is None or cause.WhichOneof("context") != "actor_died_error_context":
        return False
    context = cause.actor_died_error_context
    name: str = type(context).Reason.Name(context.reason)
    return name in ("OUT_OF_SCOPE", "REF_DELETED")


def _words(cause: Any) -> str:
    kind = cause.WhichOneof("context") if cause is not None else None
    if kind is None:
        return ""
    detail = getattr(cause, kind)
    text = getattr(detail, "error_message", "") or getattr(detail, "formatted_exception_string", "")
    lines = str(text).strip().splitlines()
    return lines[0] if kind != "creation_task_failure_context" or not lines else lines[-1]


def _pid(row: Row) -> int | None:
    """The pid of a worker, which Ray writes only into the names of log files."""
    pid = row.get("stderr_file", "").rpartition("-")[2].removesuffix(".err")
    return int(pid) if pid.isdigit() else None


# ---- when the phases of tasks began and ended, as Ray measures them
#
# Each worker sends its measurements to Ray's head once a second, so a task that has just ended has none yet.


_PHASES = ("task:deserialize_arguments", "task:execute", "task:store_outputs")
_NANOSECOND = 1e-9


def phases() -> dict[str, list[float]]:
    """For the last attempt of each task: the Unix seconds at which its phases begin, and the end of the last one."""
    found = sorted(internals.task_events(), key=lambda each: each.attempt_number)
    return {each.task_id.hex(): times(each.profile_events.events) for each in found}


def times(events: Iterable[Any]) -> list[float]:
    """The same for one attempt: the phases that it reached, [] if none is known yet."""
    told = {event.event_name: event for event in events}
    there = []
    for phase in _PHASES:
        if phase not in told:
            break  # one that comes later was told first
        there.append(told[phase])
    return [event.start_time * _NANOSECOND for event in there] + [event.end_time * _NANOSECOND for event in there[-1:]]


# ---- the objects on Ray: each Ray process knows the objects to which it refers, and each node asks its processes


ASK_TIMEOUT_S = 10.0
MOST_FROM_A_NODE = 100_000
_INLINE_BYTES = 100 * 1024  # larger results lie in shared memory; what put() made does in any case
_PUT_AT = 100_000_000  # Ray numbers what put() makes from here on
_INDEX_BYTES = 4
_CREATION = b"\xff" * 8  # how the id of an actor's constructor begins, whose result stands for the handle
_OF_ACTOR = slice(8, 24)  # where a call's id names the actor


def objects(but_of: list[bytes]) -> list[Row]:
    """A row for each object, joined from the answers of all processes; results of these actors are left out.

    Raises ImportError where grpc is missing.
    """
    found: dict[bytes, Row] = {}
    for node in ray.nodes():
        if node["Alive"]:
            address = f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
            for worker in internals.objects_of_node(address, MOST_FROM_A_NODE, ASK_TIMEOUT_S).core_workers_stats:
                for ref in worker.object_refs:
                    if not ref.object_id.startswith(_CREATION) and ref.object_id[_OF_ACTOR] not in but_of:
                        _enter(found, ref, worker)
    return list(found.values())


def locations(refs: list[ray.ObjectRef]) -> list[Row]:
    """The nodes of each object; none for an object that Ray cannot look up."""
    from ray.experimental import get_object_locations

    found = get_object_locations(refs)
    return [found.get(ref, {"node_ids": [], "object_size": None, "did_spill": False}) for ref in refs]


def _enter(found: dict[bytes, Row], ref: Any, worker: Any) -> None:
    row = found.setdefault(ref.object_id, _blank(ref.object_id.hex()))
    status = internals.word("TaskStatus", ref.task_status)
    if status != "NIL":  # by its owner
        row["task_status"] = status
        kind = internals.word("WorkerType", worker.worker_type).capitalize()
        row |= {"type": kind, "pid": worker.pid, "ip": worker.ip_address, "attempt_number": ref.attempt_number}
    if ref.object_size > 0 or row["object_size"] is None:
        row["object_size"] = ref.object_size if ref.object_size >= 0 else None
    row["place"] = _place(ref.object_id, row["object_size"])
    row["holders"] += ref.local_ref_count > 0
    if row["reference_type"] in ("UNKNOWN_STATUS", "CAPTURED_IN_OBJECT"):
        row["reference_type"] = _reference_type(ref)
    if ref.call_site not in ("", "<unknown>"):
        row["call_site"] = ref.call_site


def _blank(object_id: str) -> Row:
    return {
        "object_id": object_id,
        "object_size": None,
        "place": "pending",
        "reference_type": "UNKNOWN_STATUS",
        "task_status": "NIL",
        "holders": 0,
        "call_site": "disabled",
    }


def _place(object_id: bytes, size: int | None) -> str:
    if size is None:
        return "pending"
    is_put = int.from_bytes(object_id[-_INDEX_BYTES:], "little") >= _PUT_AT
    return "shared memory" if is_put or size > _INLINE_BYTES else "inline"


def _reference_type(ref: Any) -> str:
    """The kind of a reference, by Ray's name."""
    if ref.pinned_in_memory:
        return "PINNED_IN_MEMORY"
    if ref.submitted_task_ref_count > 0:
        return "USED_BY_PENDING_TASK"
    if ref.local_ref_count > 0:
        return "LOCAL_REFERENCE"
    return "CAPTURED_IN_OBJECT" if ref.contained_in_owned else "UNKNOWN_STATUS"
