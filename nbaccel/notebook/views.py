"""The magics as plain functions, for notebooks without magics (marimo) and for code; each returns its view.

Example::

    from nbaccel import notebook
    notebook.devices()      # as %accel_devices
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from nbaccel import api, engine
from nbaccel.notebook import static_tables, view
from nbaccel.notebook.accounting import accounting_view
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.notebook.task_names import names_of
from nbaccel.notebook.view import View
from nbaccel.views import node_tables, tables, task_lines
from nbaccel.views.history.answers import AccountingAnswer
from nbaccel.views.observer_lines import ReadAccounting
from nbaccel.views.snapshot import FunctionRow, Snapshot, TaskRow
from nbaccel.views.task_filter import TaskFilter
from nbaccel.views.task_lines import TaskLine

NOT_RUNNING = "nbaccel is not running here. Start it with %accel_init or nbaccel.init()."
MOST_READ = 5_000  # tasks that one view reads to choose and count its rows
STATES = tables.STATE_WORDS  # Ray's names are understood as well


# The last snapshot that was shown. Tab offers its tasks without asking the head.
_last_seen: Snapshot | None = None
_last_accounting: AccountingAnswer | None = None


def seen() -> Snapshot:
    """The current snapshot, stored for Tab. Raises RaySystemError if no cluster runs."""
    return keep(api.snapshot())


def keep(snapshot: Snapshot) -> Snapshot:
    """Stores a snapshot that is shown, such as each one of the cockpit, and returns it."""
    global _last_seen
    _last_seen = snapshot
    return snapshot


def last_seen() -> Snapshot | None:
    """The last snapshot that was shown; None before the first one."""
    return _last_seen


def status() -> View:
    """The cluster card of this notebook's cluster; as `%accel_status`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    return view.of_cluster(seen())


def devices(*, everything: bool = False) -> View:
    """Every offered device and its holders, with `everything` the others too; as `%accel_devices`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    snapshot = seen()
    drawn = static_tables.devices(snapshot, everything=everything)
    return view.of_snapshot(snapshot, tables.devices(snapshot, everything=everything), drawn)


def nodes(namespace: Mapping[str, Any] | None = None) -> View:
    """The nodes that are here, arriving and leaving, and the types that can be added; as `%accel_nodes`.

    With a namespace, the names under which it holds the objects that keep an idle node are told.
    """
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    return nodes_of(seen(), namespace)


def nodes_of(snapshot: Snapshot, namespace: Mapping[str, Any] | None, note: str = "") -> View:
    """The nodes of a snapshot, as `nodes` shows them, with a quiet last line."""
    kept = [id for node in snapshot.nodes for id in node.kept_objects]
    names = names_of(kept, namespace) if kept and namespace is not None else {}
    return view.of_tables(
        [node_tables.nodes(snapshot), node_tables.node_types(snapshot)],
        node_tables.keepers(snapshot, names) + node_tables.requests(snapshot),
        note,
    )


def tasks(*, state: Collection[str] = (), cell: str = "", limit: int = 20) -> View:
    """The newest tasks, of these states ("running", "waiting", …) and this notebook's cell ("7"); as `%accel_tasks`."""
    if limit < 1:
        raise TypingMistake(f"'limit={limit}': at least one row is needed. Example: limit=20")
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    snapshot = seen()
    states = _known([state] if isinstance(state, str) else state, snapshot)
    wanted = TaskFilter(list(states), cell, snapshot.runtime.job if cell else 0, limit=MOST_READ)
    found, total, functions = _found(wanted)
    if not cell and not states:
        functions, total = snapshot.functions, max(total, sum(snapshot.counts.values()))
    empty = _no_such(states, cell, snapshot) if snapshot.tasks else tables.NO_TASK
    is_partial = total > len(found)
    lines = task_lines.ordered(found, by_function=not states, functions=functions, is_partial=is_partial)
    shown = lines[:limit]
    table = replace(task_lines.table(snapshot, shown), empty=empty)
    note = _left_out(lines, limit, total, states)
    return view.of_snapshot(snapshot, table, static_tables.tasks(snapshot, shown, empty), note)


def _found(wanted: TaskFilter) -> tuple[list[TaskRow], int, list[FunctionRow]]:
    """The tasks that pass, and how many do, also by function. Of very many, the failed ones are read though old."""
    found = engine.current().tasks(wanted)
    if found.total > len(found.rows) and not wanted.states:
        failed = engine.current().tasks(msgspec.structs.replace(wanted, states=["failed"]))
        return list({row.task_id: row for row in (*found.rows, *failed.rows)}.values()), found.total, found.functions
    return found.rows, found.total, found.functions


def _left_out(lines: Sequence[TaskLine], limit: int, total: int, states: Collection[str]) -> str:
    """How many tasks the first `limit` lines stand for, if it is not all, and how the others are shown."""
    shown = sum(line.number for line in lines[:limit])
    if shown >= total:
        return ""
    failed = any("failed" in line.counts() for line in lines[limit:])
    more = "state=failed shows the failed ones" if failed and not states else f"limit={len(lines)} shows all"
    more = more if shown < sum(line.number for line in lines) else "The others are older"
    return f"{shown} of {total} tasks. " + (f"%accel_tasks {more}." if "=" in more else f"{more}.")


def actors() -> View:
    """Every actor that is not dead; as `%accel_actors`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    snapshot = seen()
    return view.of_snapshot(snapshot, tables.actors(snapshot), static_tables.actors(snapshot))


def accounting() -> View:
    """Which functions and cells have used how much of the devices, and how long each stood idle.

    After the cluster's end, the accounting that was shown last.
    """
    global _last_accounting
    if api.is_initialized():
        seen()
        _last_accounting = engine.current().history(ReadAccounting())
    if _last_accounting is None:
        return view.of_message(NOT_RUNNING)
    return accounting_view(_last_accounting, last_seen())


def _known(states: Collection[str], snapshot: Snapshot) -> Collection[str]:
    """Check the states; raises TypingMistake, with the nearest state, for an unknown word."""
    known = {*STATES, *tables.RUNNING, *tables.ENDED}
    known |= {name for row in snapshot.tasks for name in (row.state, tables.state_word(row.state))}
    for state in states:
        if state not in known and not state.startswith("PENDING_"):
            near = difflib.get_close_matches(state.lower(), STATES, n=1, cutoff=0.5)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise TypingMistake(f"There is no state '{state}'.{hint} The states are: {', '.join(STATES)}.")
    return states


def _no_such(states: Collection[str], cell: str, snapshot: Snapshot) -> str:
    of = f" of cell {cell.strip('[]')}" if cell else ""
    if not states:
        return f"No task{of} is known."
    were = sum(
        number for name, number in snapshot.counts.items() if name in states or tables.state_word(name) in states
    )
    kept = f" There were {were}, too long ago for their records to be kept." if were and not cell else ""
    return f"No task{of} is {' or '.join(states)}.{kept}"
