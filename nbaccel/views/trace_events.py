"""Chrome's trace events of tasks, with Ray's categories: `task::train` for a task, and one for each of its phases.

```
  task::train                 the lanes of its worker and of its devices
    task:deserialize_arguments    task:execute    task:store_outputs        the lane of its worker
```
A worker measures the phases and reports them with the task's end; before that, only the start of the execution is
known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nbaccel.views.snapshot import TaskRow

TASK = "task::"  # how the category of a task begins; behind it comes its name
PHASES = ("task:deserialize_arguments", "task:execute", "task:store_outputs")
_EXECUTE = PHASES[1]
_COLORS = dict(zip(PHASES, ("rail_load", "rail_animation", "rail_idle"), strict=True))


def of_rows(
    rows: Iterable[TaskRow], lane_of: Callable[[TaskRow], str], times_of: Callable[[TaskRow], Sequence[float]]
) -> list[dict[str, Any]]:
    """The events of the tasks that have begun, with their phases between the moments of `times_of`."""
    events: list[dict[str, Any]] = []
    for row in rows:
        if row.started_at is None:
            continue
        end_s = row.finished_at or time.time()
        facts = {"task_id": row.task_id, "function": row.function or row.name, "cell": row.cell, "state": row.state}
        events += of_task(row.name, row.started_at, end_s, lane_of(row), row.device_ids, facts, times_of(row))
    return events


def of_task(
    name: str,
    start_s: float,
    end_s: float,
    worker: str,
    devices: Mapping[str, Sequence[str]],
    facts: Mapping[str, Any],
    times: Sequence[float] = (),
) -> list[dict[str, Any]]:
    """The events of one task. Times are Unix seconds; a viewer shows `facts` beside the name.

    `times` are the moments between which its phases lie: a task whose code raised has two phases and three times.
    Without them the whole task counts as its code.
    """
    if times:
        start_s, end_s = min(start_s, times[0]), times[-1]
        phases = list(zip(PHASES, pairwise(times), strict=False))
    else:
        phases = [(_EXECUTE, (start_s, end_s))]
    lanes = [("workers", worker)]
    lanes += [("devices", f"{resource} {id}") for resource, ids in devices.items() for id in ids]
    whole = {"cat": f"{TASK}{name}", "name": name, "cname": "generic_work", **_span(start_s, end_s)}
    on_lanes = [{**whole, "args": {"name": name, **facts}, "pid": group, "tid": lane} for group, lane in lanes]
    return on_lanes + [
        {
            "cat": phase,
            "name": phase,
            "cname": _COLORS[phase],
            **_span(*span),
            "args": {},
            "pid": "workers",
            "tid": worker,
        }
        for phase, span in phases
    ]


def _span(start_s: float, end_s: float) -> dict[str, Any]:
    return {"ph": "X", "ts": start_s * 1e6, "dur": max(end_s - start_s, 0) * 1e6}
