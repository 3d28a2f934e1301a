"""Chrome trace events of what tasks have reported, on lanes of workers and of devices."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from nbaccel.ray_engine.reports.notes import Note
from nbaccel.views import trace_events


def events(
    notes: Iterable[Note], names: Mapping[str, str], phases: Mapping[str, list[float]]
) -> list[dict[str, object]]:
    """Those of each task that has begun; `names`: what tasks were called where they were submitted;
    `phases`: the times that Ray has measured of a task (see of_task).
    """
    made: list[dict[str, object]] = []
    for note in notes:
        if note.get("started_at") is None:
            continue
        state = "RUNNING" if "ended_at" not in note else "FAILED" if "error" in note else "FINISHED"
        facts = {"task_id": note["task_id"], "state": state}
        end = note.get("ended_at") or time.time()
        lane = f"worker {note.get('pid') or ''}"
        devices = note.get("devices") or {}
        name = names.get(note["task_id"], note["name"])
        # For a task that still runs, Ray has only the time at which its arguments were read.
        times = phases.get(note["task_id"], []) if "ended_at" in note else []
        made += trace_events.of_task(name, note["started_at"], end, lane, devices, facts, times)
    return made
