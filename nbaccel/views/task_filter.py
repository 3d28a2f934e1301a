"""A filter of tasks: the engine applies it to all tasks that it knows, because a snapshot holds only some of them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from nbaccel.views import wording
from nbaccel.views.snapshot import FunctionRow, TaskRow

T = TypeVar("T")


class TaskFilter(msgspec.Struct, frozen=True):
    """What a task must be to be found; an empty field asks for nothing.

    states   words as views say them ("failed") or Ray's names ("PENDING_ARGS_AVAIL")
    cell     the cell's number, "7" or "[7]"
    job      the number of the job that submitted it
    text     somewhere in its name, id, cell, devices or reason, in any case
    function its function's own name, or the class of an actor's constructors and calls
    limit    how many rows at most, the first ones; 0 for all
    skip     so many of the first ones are left out
    by_state those that run come first, then failed, waiting, cancelled and finished ones, each the newest first;
             without it, the newest come first
    """

    states: list[str] = []
    cell: str = ""
    job: int = 0
    text: str = ""
    limit: int = 0
    function: str = ""
    skip: int = 0
    by_state: bool = False

    def may_pass(self, state: str, cell: str, job: int) -> bool:
        """Whether a task with these facts passes all but the text."""
        from nbaccel.views import tables

        return (
            (not self.states or state in self.states or tables.state_word(state) in self.states)
            and (not self.job or job == self.job)
            and (not self.cell or cell.startswith(f"[{self.cell.strip('[]')}]"))
        )

    def passes(self, row: TaskRow) -> bool:
        from nbaccel.views import task_lines

        is_of_function = not self.function or task_lines.subject(row) == self.function
        return is_of_function and self.may_pass(row.state, row.cell, row.job) and self.has_text(row)

    def chosen(self, passing: Iterable[T], facts: Callable[[T], tuple[str, float | None]]) -> list[T]:
        """Of what passes, the rows that are asked for, in their order; `facts` are the state and the submission."""
        from nbaccel.views import task_lines

        every = list(passing)

        def rank(each: T) -> tuple[int, float]:
            state, submitted = facts(each)
            return task_lines.place(state) if self.by_state else 0, -(submitted or 0.0)

        if not self.limit:
            return sorted(every, key=rank)[self.skip :]
        return heapq.nsmallest(self.skip + self.limit, every, key=rank)[self.skip :]

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
    """The rows that were asked for of those that pass the filter, and how many pass, in all and of each function."""

    rows: list[TaskRow] = []
    total: int = 0
    functions: list[FunctionRow] = []


def find(rows: Iterable[TaskRow], wanted: TaskFilter) -> FoundTasks:
    """The rows that pass the filter."""
    passing = [row for row in rows if wanted.passes(row)]
    shown = wanted.chosen(passing, lambda row: (row.state, row.submitted_at))
    from nbaccel.views import task_lines

    numbers = Counter((task_lines.subject(row), row.state) for row in passing)
    return FoundTasks(shown, len(passing), task_lines.rows_of_functions(((*of, n) for of, n in numbers.items()), shown))
