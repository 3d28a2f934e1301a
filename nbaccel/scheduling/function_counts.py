"""How many tasks each function has had, and how they ended: exact, however many records have been forgotten.

A task costs one addition when it comes and one when it ends. How many of a function run now follows from those that
are with a worker, and the others wait (`Queries.tasks_by_function`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from nbaccel.scheduling.moves import FINISHED, TaskStatus
from nbaccel.scheduling.terms import TaskKind, Terms

MOST_FUNCTIONS = 1_000  # tasks of further ones are counted together, and belong to no function
_ENDINGS = len(TaskStatus) - FINISHED


class FunctionCount(msgspec.Struct, eq=False):
    """The tasks of one function, or the constructors or the calls of one method."""

    function: str  # its own name, whatever a task is called; "" for what is counted together
    kind: TaskKind
    came: int = 0
    endings: list[int] = msgspec.field(default_factory=lambda: [0] * _ENDINGS)  # FINISHED, FAILED, CANCELLED

    @property
    def unfinished(self) -> int:
        return self.came - sum(self.endings)


class FunctionCounts:
    """The counts of all functions."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str, TaskKind], FunctionCount] = {}
        self._others = FunctionCount("", TaskKind.TASK)
        self.internal = FunctionCount("", TaskKind.TASK)  # all that nbaccel submits for itself
        self._last_terms: Terms | None = None
        self._last = self._others

    def of(self, terms: Terms) -> FunctionCount:
        """The count to which tasks with these terms belong."""
        if terms is self._last_terms:
            return self._last
        if terms.internal:
            return self.internal
        kind = terms.kind
        name = terms.name if kind is TaskKind.ACTOR_CREATION or not terms.method else ""
        key = (name, terms.class_name, terms.method, kind)
        count = self._counts.get(key)
        if count is None:
            count = self._others
            if len(self._counts) < MOST_FUNCTIONS:
                count = self._counts[key] = FunctionCount(terms.function or terms.name, kind)
        self._last_terms, self._last = terms, count
        return count

    def __iter__(self) -> Iterator[FunctionCount]:
        """Those of users' functions."""
        yield from self._counts.values()
        if self._others.came:
            yield self._others
