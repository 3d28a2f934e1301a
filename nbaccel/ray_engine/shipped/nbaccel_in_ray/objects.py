"""The objects on Ray: each Ray process knows the objects to which it refers, and each node asks its processes."""

from __future__ import annotations

from typing import Any

import ray

from nbaccel_in_ray import internals

Row = dict[str, Any]
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
