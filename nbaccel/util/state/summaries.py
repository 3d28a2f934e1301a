"""Counts of tasks, actors and objects by what they are, in the shape of Ray's summaries."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nbaccel.util.state.row_queries import actors, objects, tasks

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
