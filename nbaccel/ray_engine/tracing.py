"""Chrome trace events of what tasks have reported, on lanes of workers and of devices."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any


def events(notes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One event for each task on its worker's lane and on those of its devices."""
    made = []
    for note in notes:
        if note.get("started_at") is None:
            continue
        end = note.get("ended_at") or time.time()
        lanes = [("workers", f"worker {note.get('pid') or ''}")]
        lanes += [
            ("devices", f"{resource} {id}") for resource, ids in (note.get("devices") or {}).items() for id in ids
        ]
        state = "RUNNING" if "ended_at" not in note else note.get("end", "FINISHED")
        for group, lane in lanes:
            made.append(
                {
                    "cat": note["kind"],
                    "name": note["name"],
                    "ph": "X",
                    "pid": group,
                    "tid": lane,
                    "ts": note["started_at"] * 1e6,
                    "dur": max(end - note["started_at"], 0) * 1e6,
                    "args": {"task_id": note["task_id"], "state": state},
                }
            )
    return made
