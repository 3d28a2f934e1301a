"""How many tasks of each function there are, as rows of a snapshot: views say them where they cannot show every task.

Example::

    rows([("train", "RUNNING", 2), ("train", "FINISHED", 98), ("load", "FINISHED", 1)], shown=[])[0].total     # 100
"""

from __future__ import annotations

from collections.abc import Iterable

from nbaccel.views import palette, tables
from nbaccel.views.snapshot import FunctionRow, TaskRow

MOST_FUNCTIONS = 50
MOST_OF_ONE = 8  # tasks of a function with a row each; views show more as one row of the function


def subject(row: TaskRow) -> str:
    """The function of a task, or the class of an actor's constructor or call."""
    return palette.subject(row.name, row.function, row.kind)


def rows(numbers: Iterable[tuple[str, str, int]], shown: Iterable[TaskRow]) -> list[FunctionRow]:
    """A row for each function, from (function or class, state, number of tasks).

    At most `MOST_FUNCTIONS`: those of the tasks that are `shown`, in this order, then those that wait, then those that
    have the most tasks.
    """
    found: dict[str, FunctionRow] = {}
    for name, state, number in numbers:
        row = found.get(name)
        if row is None:
            row = found[name] = FunctionRow(name)
        word = tables.state_word(state)
        setattr(row, word, getattr(row, word) + number)
    first = dict.fromkeys(filter(found.__contains__, map(subject, shown)))
    unseen = (row for row in found.values() if row.total and row.name not in first)
    others = sorted(unseen, key=lambda row: (-row.waiting, -row.total))
    return [*(found[name] for name in first), *others][:MOST_FUNCTIONS]
