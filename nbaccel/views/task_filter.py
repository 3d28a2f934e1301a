"""A filter of tasks: the engine applies it to all tasks that it knows, because a snapshot holds only some of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.snapshot import TaskRow


class TaskFilter(msgspec.Struct, frozen=True):
    """What a task must be to be found; an empty field asks for nothing.

    states   words as views say them ("failed") or Ray's names ("PENDING_ARGS_AVAIL")
    cell     the cell's number, "7" or "[7]"
    job      the number of the job that submitted it
    text     somewhere in its name, id, cell, devices or reason, in any case
    limit    how many rows at most, the newest; 0 for all
    """

    states: list[str] = []
    cell: str = ""
    job: int = 0
    text: str = ""
    limit: int = 0

    def may_pass(self, state: str, cell: str, job: int) -> bool:
        """Whether a task with these facts passes all but the text."""
        return (
            (not self.states or state in self.states or tables.state_word(state) in self.states)
            and (not self.job or job == self.job)
            and (not self.cell or cell.startswith(f"[{self.cell.strip('[]')}]"))
        )

    def passes(self, row: TaskRow) -> bool:
        return self.may_pass(row.state, row.cell, row.job) and self.has_text(row)

    def has_text(self, row: TaskRow) -> bool:
        wanted = self.text.strip().lower()
        devices = wording.device_ids(row.device_ids)
        texts = (
            row.name,
            wording.task_name(row.name),
            row.task_id,
            wording.short_id(row.task_id),
            row.cell,
            devices,
            row.why,
        )
        return not wanted or any(wanted in text.lower() for text in texts)


class FoundTasks(msgspec.Struct):
    """The newest rows that pass the filter, newest first, and the number of all that pass."""

    rows: list[TaskRow] = []
    total: int = 0


def find(rows: Iterable[TaskRow], wanted: TaskFilter) -> FoundTasks:
    """The rows that pass the filter."""
    passing = [row for row in rows if wanted.passes(row)]
    newest = heapq.nlargest(wanted.limit or len(passing), passing, key=lambda row: row.submitted_at or 0.0)
    return FoundTasks(newest, len(passing))
