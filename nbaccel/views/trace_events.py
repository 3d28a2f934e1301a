"""Chrome's trace events of tasks, with Ray's categories: `task::train` for a task, `task:execute` for its code.

A task lies on the lane of its worker and on those of its devices. What Ray measures beside (reading arguments, storing
results) is not measured apart here, and is a part of `task:execute`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TASK = "task::"  # how the category of a task begins; behind it comes its name
EXECUTE = "task:execute"


def of_task(
    name: str,
    start_s: float,
    end_s: float,
    worker: str,
    devices: Mapping[str, Sequence[str]],
    facts: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The events of one task; times are Unix seconds, `facts` are what a viewer shows beside its name."""
    span = {"ph": "X", "ts": start_s * 1e6, "dur": max(end_s - start_s, 0) * 1e6}
    lanes = [("workers", worker)]
    lanes += [("devices", f"{resource} {id}") for resource, ids in devices.items() for id in ids]
    args = {"name": name, **facts}
    whole = {"cat": f"{TASK}{name}", "name": name, "cname": "generic_work", **span, "args": args}
    execution = {"cat": EXECUTE, "name": EXECUTE, "cname": "rail_animation", **span, "args": {}}
    on_lanes = [{**whole, "pid": group, "tid": lane} for group, lane in lanes]
    return [*on_lanes, {**execution, "pid": "workers", "tid": worker}]
