"""Chrome trace events of what tasks have reported, on lanes of workers and of devices."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from nbaccel.views import trace_events


def events(notes: Iterable[dict[str, Any]], phases: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    """Those of each task that has begun; `phases` are the times that Ray has measured of a task (see of_task)."""
    made = []
    for note in notes:
        if note.get("started_at") is None:
            continue
        state = "RUNNING" if "ended_at" not in note else "FAILED" if "error" in note else "FINISHED"
        facts = {"task_id": note["task_id"], "state": state}
        end = note.get("ended_at") or time.time()
        lane = f"worker {note.get('pid') or ''}"
        devices = note.get("devices") or {}
        # Without the end of a task that still runs, Ray tells no more than where its arguments were read.
        times = phases.get(note["task_id"], []) if "ended_at" in note else []
        made += trace_events.of_task(note["name"], note["started_at"], end, lane, devices, facts, times)
    return made
