"""The lines of a table of tasks, in the cockpit's order: what runs, what failed, what waits, and then what is over.

A line is one task, several that wait for the same reason, or more than MOST_OF_ONE tasks of one function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from nbaccel.views import palette, tables, wording
from nbaccel.views.snapshot import Alert, FunctionRow, Snapshot, TaskRow
from nbaccel.views.tables import Labels, Table

# ---- how many tasks of each function there are, as rows of a snapshot
#
# Views say them where they cannot show every task.


MOST_FUNCTIONS = 50
MOST_OF_ONE = 8  # tasks of a function with a row each; views show more as one row of the function


def subject(row: TaskRow) -> str:
    """The function of a task, or the class of an actor's constructor or call."""
    return palette.subject(row.name, row.function, row.kind)


def rows_of_functions(numbers: Iterable[tuple[str, str, int]], shown: Iterable[TaskRow]) -> list[FunctionRow]:
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


# ---- lines of tasks


ORDER = ("running", "failed", "waiting", "cancelled", "finished")
REASONS_SHOWN = 2  # on the line of a function


class TaskLine(Struct, frozen=True):
    """The tasks that one line stands for; `function` is "" unless they are all tasks of a function.

    The line of a function may have fewer rows than tasks, or none: what is counted is in `all`.
    """

    rows: Sequence[TaskRow]
    function: str = ""
    all: FunctionRow | None = None  # of a function: how many tasks it has, where that is known
    is_partial: bool = False  # of a function: it may have older tasks, which nobody has counted

    @property
    def first(self) -> TaskRow:
        return self.rows[0]

    @property
    def number(self) -> int:
        return len(self.rows) if self.all is None else self.all.total

    @property
    def name(self) -> str:
        """The name of the function, or of the tasks."""
        return wording.task_name(self.function or self.first.name)

    def state(self) -> str:
        """The state's word, or how far the function's tasks are: "5 of 9 · 4 failed"."""
        return self.progress() if self.function else tables.state_word(self.first.state)

    def counts(self) -> dict[str, int]:
        """The number of tasks in each state that has any, in people's order."""
        if self.all is not None:
            return {word: number for word in tables.STATE_WORDS if (number := getattr(self.all, word))}
        found = Counter(tables.state_word(row.state) for row in self.rows)
        return {word: found[word] for word in (*tables.STATE_WORDS, *found) if found[word]}

    def progress(self) -> str:
        """ "346 of 500 · 12 running · 2 failed"; if tasks may be missing, "of the newest 16: 2 running · 14 failed"."""
        counts = self.counts()
        first = [] if self.is_partial else [f"{counts.pop('finished', 0)} of {self.number}"]
        said = wording.sentence([*first, *(f"{count} {word}" for word, count in counts.items())])
        return f"of the newest {self.number}: {said}" if self.is_partial else said

    def alike(self, of: Callable[[TaskRow], str]) -> str:
        """What all tasks of the line have in common; "" if they differ."""
        found = list(dict.fromkeys(map(of, self.rows)))
        return found[0] if len(found) == 1 else ""

    def why(self) -> str:
        """Why it waits or failed, without what the line says elsewhere; of a function, the reasons that most have.

        Their numbers are left out where some rows are: the line would count fewer tasks than it says wait or failed.
        """
        if not self.function:
            return tables.why_words(self.first)
        said = Counter(why for row in self.rows if (why := tables.why_words(row)))
        most = said.most_common(REASONS_SHOWN)
        if self._lacks_reasons():
            return wording.sentence([*(why for why, _ in most), "other reasons" if len(said) > len(most) else ""])
        more = sum(said.values()) - sum(count for _, count in most)
        shown = [f"{count} × {why}" for why, count in most]
        return wording.sentence([*shown, f"{more} for other reasons" if more else ""])

    def _lacks_reasons(self) -> bool:
        """Whether rows of tasks that wait or failed are left out."""
        found = Counter(tables.state_word(row.state) for row in self.rows)
        counts = self.counts()
        return any(found[word] < counts.get(word, 0) for word in ("waiting", "failed"))


def each(rows: Iterable[TaskRow]) -> list[TaskLine]:
    """A line for each task, in the given order."""
    return [TaskLine([row]) for row in rows]


def ordered(
    rows: Iterable[TaskRow],
    *,
    by_function: bool = True,
    functions: Iterable[FunctionRow] = (),
    is_partial: bool = False,
) -> list[TaskLine]:
    """The lines by state, each with the newest first. Waits with one reason are together, the longest first.

    `functions` says how many tasks there are of each function, also of those whose rows are not given; functions of
    which there is no row come last. `is_partial` says that tasks of functions that are not among them may be left out.
    """
    newest = sorted(rows, key=lambda row: -(row.submitted_at or 0.0))
    several: dict[str, list[TaskRow]] = {}
    for row in sorted(newest, key=_place):
        several.setdefault(subject(row), []).append(row)
    counted = {row.name: row for row in functions if by_function and row.total > MOST_OF_ONE}
    many = {
        name: same for name, same in several.items() if (by_function and len(same) > MOST_OF_ONE) or name in counted
    }
    lines: dict[tuple[str, ...], TaskLine] = {}
    for row in sorted(newest, key=_place):
        name = subject(row)
        if name in many:
            all_of_it = counted.get(name)
            partial = is_partial and all_of_it is None
            lines[("function", name)] = TaskLine(many[name], wording.plain(name), all_of_it, partial)
        else:
            key = _alike(row)
            lines[key] = TaskLine([row, *(lines[key].rows if key in lines else ())])
    unseen = [TaskLine([], wording.plain(name), row) for name, row in counted.items() if name not in several]
    return [*lines.values(), *unseen]


def of_many(snapshot: Snapshot) -> list[TaskLine]:
    """A line for each function with more than `MOST_OF_ONE` tasks: those that go on first, then the largest."""
    many = [row for row in snapshot.functions if row.total > MOST_OF_ONE]
    many.sort(key=lambda row: (not row.running + row.waiting, -row.total))
    return [TaskLine([], wording.plain(row.name), row) for row in many]


class TableContext(Struct, frozen=True):
    """What a cell of a table is written from, beside its line: the snapshot, and how that names its devices."""

    snapshot: Snapshot
    named: Labels

    @classmethod
    def of(cls, snapshot: Snapshot) -> TableContext:
        return cls(snapshot, tables.labels_of_devices(snapshot.devices))


Cell = Callable[[TaskLine, TableContext], str]


def _of_task(text: Callable[[TaskRow, TableContext], str]) -> Cell:
    """A column that is empty on the line of a function."""
    return lambda line, context: "" if line.function else text(line.first, context)


def _name(line: TaskLine, context: TableContext) -> str:
    return line.name if line.number == 1 or line.is_partial else f"{line.name} × {line.number}"


def _devices(row: TaskRow, context: TableContext) -> str:
    """The devices that a task has, or what it asks for."""
    return tables.devices_of_task(row.device_ids, row.node_id, context.named) or wording.demand(row.demand)


def _load(row: TaskRow, context: TableContext) -> str:
    return tables.load(context.snapshot, row.pid, row.node_id) if row.state.startswith("RUNNING") else ""


def _peak(row: TaskRow, context: TableContext) -> str:
    return "" if row.peak_memory_bytes is None else wording.size(row.peak_memory_bytes)


# Every column of a table of tasks, in order, and its text. Terminals show the text as it is; saved notebooks draw some
# columns in their own way (notebook/static_tables.py).
COLUMNS: dict[str, Cell] = {
    "Id": _of_task(lambda row, context: wording.short_id(row.task_id)),
    "Name": _name,
    "State": lambda line, context: line.state(),
    "Devices": _of_task(_devices),
    "Pid": _of_task(lambda row, context: str(row.pid or "")),
    "Load": _of_task(_load),
    "Cell": lambda line, context: line.alike(lambda each: tables.cell_words(each, context.snapshot)),
    "Started": _of_task(lambda row, context: tables.started(row, context.snapshot.time)),
    "Took": _of_task(lambda row, context: tables.took(row, context.snapshot.time)),
    "Peak": _of_task(_peak),
    "Why": lambda line, context: line.why(),
}
OPTIONAL = {"Load", "Peak"}  # left out where no line has anything in them


def columns(lines: Sequence[TaskLine], context: TableContext, without: Collection[str]) -> dict[str, Cell]:
    """The columns of a table of these lines, `without` those that it does not show."""
    empty = {head for head in OPTIONAL if not any(COLUMNS[head](line, context) for line in lines)}
    return {head: text for head, text in COLUMNS.items() if head not in empty and head not in without}


def table(snapshot: Snapshot, lines: Sequence[TaskLine]) -> Table:
    """The lines as text; a task that waits or failed has its reason."""
    context = TableContext.of(snapshot)
    shown = columns(lines, context, without=["Peak"])
    rows = [tuple(text(line, context) for text in shown.values()) for line in lines]
    return Table("Tasks", tuple(shown), rows, empty=tables.NO_TASK)


def place(state: str) -> int:
    """Where tasks of a state stand in the order of views."""
    word = tables.state_word(state)
    return ORDER.index(word) if word in ORDER else len(ORDER)


def _place(row: TaskRow) -> int:
    return place(row.state)


def _alike(row: TaskRow) -> tuple[str, ...]:
    """What tasks have in common that wait for the same; of others, the id."""
    if tables.state_word(row.state) == "waiting" and row.why:
        return "waits", row.name, row.why, wording.demand(row.demand), str(row.job)
    return "task", row.task_id


# ---- what waits, as every view says it: one line for tasks that wait alike, each with how many they are
#
# A snapshot has rows of some waiting tasks, and counts of all by their functions. So a number here is never the
# number of rows: what is not known exactly is "some of 300".


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
        about = subject(row), row.name, wording.demand(row.demand)
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
