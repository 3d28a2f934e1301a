"""Which runs, experiments and long tasks have ended between two snapshots, as sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from nbaccel.views import experiment_snapshot, run_snapshot, tables, wording
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.snapshot import Snapshot, TaskRow

Ended = TypeVar("Ended", RunSnapshot, ExperimentSnapshot)
_MOST_KNOWN = 10_000
_ENDS = {"FINISHED": "has finished", "FAILED": "has failed", "CANCELLED": "was cancelled"}


class EndedWork:
    """Those of one driver's own work, each told once: also of a task whose row was left out while it ran."""

    def __init__(self, since: float, long_s: float) -> None:
        self._since = since
        self._long_s = long_s  # a task that ran for less is not told
        self._running: set[str] = set()
        self._told: set[str] = set()

    def seen(self, snapshot: Snapshot) -> list[str]:
        """What has ended since the last snapshot."""
        if len(self._running) + len(self._told) > _MOST_KNOWN:
            self._since = snapshot.time
            self._running.clear()
            self._told.clear()
        own = {row.id for row in snapshot.published if not tables.owner(snapshot, row.job)}
        runs = [each for each in run_snapshot.of_snapshot(snapshot) if each.id in own]
        experiments = [each for each in experiment_snapshot.of_snapshot(snapshot) if each.id in own]
        tasks = [row for row in snapshot.tasks if row.started_at is not None and not tables.owner(snapshot, row.job)]
        trials = tuple(f"{each.name} " for each in experiments)
        return [
            *(run_snapshot.one_line(each, snapshot.time) for each in self._ended(runs)),
            *(experiment_snapshot.one_line(each, snapshot.time) for each in self._ended(experiments)),
            *(_of_task(row) for row in tasks if not _is_trial(row, trials) and self._is_told(row)),
        ]

    def _is_told(self, row: TaskRow) -> bool:
        has_ended = self._is_new(row.task_id, row.state not in tables.ENDED, row.finished_at)
        return has_ended and _seconds(row) >= self._long_s

    def _ended(self, records: Iterable[Ended]) -> list[Ended]:
        return [each for each in records if self._is_new(each.id, each.is_under_way, each.ended_at)]

    def _is_new(self, id: str, is_under_way: bool, ended_at: float | None) -> bool:
        """Whether this has ended now. What runs again is told once more."""
        if is_under_way:
            self._running.add(id)
            self._told.discard(id)
            return False
        is_new = id not in self._told and (id in self._running or (ended_at or 0.0) > self._since)
        self._running.discard(id)
        self._told |= {id} if is_new else set()
        return is_new


def _is_trial(row: TaskRow, prefixes: tuple[str, ...]) -> bool:
    """Whether the end of this task is told with its experiment."""
    return row.function == "run_trial" and row.name.startswith(prefixes)


def _seconds(row: TaskRow) -> float:
    return (row.finished_at or 0.0) - (row.started_at or 0.0)


def _of_task(row: TaskRow) -> str:
    what = f"{wording.plain(row.name)} {_ENDS[row.state]} after {wording.age(_seconds(row))}"
    return wording.sentence([what, f"cell {wording.plain(row.cell)}" if row.cell else "", wording.plain(row.why)])
