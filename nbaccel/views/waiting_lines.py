"""What waits, as every view says it: one line for tasks that wait alike, each with how many they are.

A snapshot has rows of some waiting tasks, and counts of all by their functions. So a number here is never the number of
rows: what is not known exactly is "some of 300".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from nbaccel.views import function_rows, tables, wording
from nbaccel.views.snapshot import Alert, Snapshot, TaskRow

NOT_FIRST = "they are behind others in their line"  # of a function none of whose tasks has a row


class Waiting(Struct, frozen=True):
    """Tasks of one function that wait alike.

    row     the one that waits longest; None where none of them has a row
    number  of those that are alike; 0 where only the function's tasks are counted
    total   tasks of the function that wait
    """

    row: TaskRow | None
    name: str
    function: str
    number: int
    total: int

    @property
    def many(self) -> str:
        """ "× 38 " before the name; "" of one."""
        if not self.number:
            return f"some of {self.total} "
        return f"× {self.number} " if self.number > 1 else ""

    def since(self, now: float) -> str:
        """ "waits 5 s"."""
        return (tables.took(self.row, now) if self.row is not None else "") or "waits"

    def why(self) -> str:
        """The reason without what the line says elsewhere, or what they ask for."""
        return NOT_FIRST if self.row is None else tables.why_words(self.row) or wording.demand(self.row.demand)

    def brief(self, now: float) -> str:
        """ "× 38 train waits 5 s: Both GPUs are busy: …"."""
        return f"{self.many}{self.name} {self.since(now)}: {self.why()}"

    def sentence(self) -> str:
        """ "× 38 train waits for 1 GPU. Both GPUs are busy: …"."""
        if self.row is None:
            return f"{self.many}{self.name}: {NOT_FIRST}"
        return f"{self.many}{tables.waiting_words(self.row)}"


def of_snapshot(snapshot: Snapshot) -> list[Waiting]:
    """A line for each name, reason and demand, and for each function whose tasks have no row; the most tasks first."""
    groups: dict[tuple[str, str, str, str], list[TaskRow]] = {}
    told: dict[
        tuple[str, str, str], str
    ] = {}  # only the first rows of many have a reason: the others wait for the same
    for row in tables.waiting(snapshot):
        about = function_rows.subject(row), row.name, wording.demand(row.demand)
        why = row.why or told.get(about, "")
        told.setdefault(about, why)
        groups.setdefault((*about, why), []).append(row)
    totals = {row.name: row.waiting for row in snapshot.functions if row.waiting}
    rows: dict[str, int] = {}  # of each function
    lines: dict[str, int] = {}
    for (function, *_), alike in groups.items():
        rows[function] = rows.get(function, 0) + len(alike)
        lines[function] = lines.get(function, 0) + 1
    found = []
    for (function, name, *_), alike in groups.items():
        total = max(totals.get(function, 0), rows[function])
        number = len(alike) if total == rows[function] else total if lines[function] == 1 else 0
        found.append(Waiting(alike[0], wording.task_name(name), function, number, total))
    found += [
        Waiting(None, wording.plain(name), name, total, total) for name, total in totals.items() if name not in rows
    ]
    return sorted(found, key=lambda each: -(each.number or each.total))


def untold(snapshot: Snapshot, alerts: Iterable[Alert]) -> list[Waiting]:
    """The same without tasks of which an alert already says that they can never start."""
    told = {alert.task_id for alert in alerts if alert.kind == "infeasible"}
    said = {(row.name, row.why) for row in tables.waiting(snapshot) if row.task_id in told}
    return [each for each in of_snapshot(snapshot) if each.row is None or (each.row.name, each.row.why) not in said]


def others(snapshot: Snapshot, told: Collection[Waiting]) -> int:
    """How many tasks wait of which these lines say nothing."""
    functions = {each.function: each.total for each in told if not each.number}
    known = sum(functions.values()) + sum(each.number for each in told if each.function not in functions)
    waiting = tables.counted(snapshot).get("waiting", 0)
    return max(0, max(waiting, len(tables.waiting(snapshot))) - known)
