"""Chrome trace events of what tasks have reported, on lanes of workers and of devices."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from nbaccel.views import trace_events


def events(notes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of each task that has begun."""
    made = []
    for note in notes:
        if note.get("started_at") is None:
            continue
        state = "RUNNING" if "ended_at" not in note else "FAILED" if "error" in note else "FINISHED"
        facts = {"task_id": note["task_id"], "state": state}
        end = note.get("ended_at") or time.time()
        lane = f"worker {note.get('pid') or ''}"
        made += trace_events.of_task(note["name"], note["started_at"], end, lane, note.get("devices") or {}, facts)
    return made
