"""The small actor that gathers the reports of a job's tasks; it exists only once somebody watches or asks."""

from __future__ import annotations

import asyncio
from typing import Any

MOST_TASKS = 5_000
MOST_SENT = 2_000

Note = dict[str, Any]


class Collector:
    """Tasks by id, the latest attempt of each, numbered by their last change."""

    def __init__(self) -> None:
        self._tasks: dict[str, Note] = {}
        self._ended = {"FINISHED": 0, "FAILED": 0}
        self._seq = 0
        self._changed: asyncio.Event | None = None

    async def report(self, where: Note, batch: list[Note]) -> None:
        """Take what a process says of the tasks that it runs or has submitted."""
        for note in batch:
            self._take(note, where if "started_at" in note else {})
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def _take(self, note: Note, where: Note) -> None:
        self._seq += 1
        known = self._tasks.pop(note["task_id"], {})
        if "started_at" in note and known.get("attempt", 0) < note["attempt"]:
            for name in ("ended_at", "error", "progress"):
                known.pop(name, None)
        if "ended_at" in note and "ended_at" not in known:
            self._ended["FAILED" if "error" in note else "FINISHED"] += 1
        self._tasks[note["task_id"]] = {**known, **note, **where, "seq": self._seq}
        if len(self._tasks) > MOST_TASKS:
            self._forget_one()

    def _forget_one(self) -> None:
        """The task that changed longest ago, rather one that has ended."""
        for task_id, note in self._tasks.items():
            if "ended_at" in note:
                del self._tasks[task_id]
                return
        del self._tasks[next(iter(self._tasks))]

    async def since(self, seq: int, wait_s: float) -> tuple[int, list[Note], dict[str, int]]:
        """(seq, what has changed after `seq`, number of ended tasks by state); waits so long for a first change."""
        if self._seq <= seq and wait_s > 0:
            if self._changed is None:
                self._changed = asyncio.Event()
            try:
                await asyncio.wait_for(self._changed.wait(), wait_s)
            except TimeoutError:
                return self._seq, [], self._ended
        notes: list[Note] = []
        for note in reversed(self._tasks.values()):
            if note["seq"] <= seq or len(notes) >= MOST_SENT:
                break
            notes.append(note)
        return self._seq, notes, self._ended
