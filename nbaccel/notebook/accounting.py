"""The history's accounting as tables: who used the devices, and how long each device was idle.

Rows, words and colours are those of the cockpit's Accounting view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nbaccel.notebook import parts
from nbaccel.notebook.lane_labels import LaneLabels
from nbaccel.notebook.parts import Html
from nbaccel.notebook.view import View
from nbaccel.views import palette, tables, wording
from nbaccel.views.history.answers import AccountingAnswer, AccountRow, DeviceAccount
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Snapshot

MOST_ROWS = 50  # of a table
NOTHING = (
    "Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. "
    "A call is counted here:"
)
_BAR_PX = 84
_ABOUT = 20  # shares that differ by less than a part of so many are about equal
_GRID = "nbaccel-grid"  # tables of one grid of columns


def accounting_view(answer: AccountingAnswer, snapshot: Snapshot | None = None) -> View:
    """The accounting by function, by cell and by device; a snapshot names other notebooks, nodes and MIG devices."""
    drawn = parts.box(sections(answer, snapshot))
    if not answer.functions:
        return View("Nothing has run yet.", drawn)
    labels, used = LaneLabels(snapshot), _used_cells(answer)
    lines = [total(answer), *(f"{wording.plain(row.name)}: {_said(row)}" for row in answer.functions[:MOST_ROWS])]
    lines += [f"{wording.cell(_cell(row, snapshot))}: {_said(row)}" for row in used[:MOST_ROWS]]
    lines += [f"{labels.of(row.device)}: idle {idle(row, answer.time)}" for row in answer.devices[:MOST_ROWS]]
    return View("\n".join(lines), drawn)


def sections(answer: AccountingAnswer, snapshot: Snapshot | None) -> list[Html]:
    """The total, and a table for each of functions, cells and devices."""
    used = _used_cells(answer)
    more = answer.left_out + sum(max(len(rows) - MOST_ROWS, 0) for rows in (answer.functions, used))
    first = parts.paragraph(parts.words(total(answer), strong=True)) if answer.functions else _nothing()
    return [
        first,
        _table("By function", "Function", answer, answer.functions, _function),
        _table("By cell", "Cell", answer, used, lambda row: parts.words(_cell(row, snapshot))),
        _devices(answer, LaneLabels(snapshot)),
        parts.note(f"and {wording.count(more, 'more row')}" if more else ""),
    ]


def total(answer: AccountingAnswer) -> str:
    """ "12.3 device-seconds in all, devices idle 75 % of the time"."""
    seconds = device_seconds(sum(row.device_seconds for row in answer.functions))
    if not answer.known_seconds:
        return f"{seconds} device-seconds in all"
    idle = _percent(1 - answer.held_seconds / answer.known_seconds)
    return f"{seconds} device-seconds in all, devices idle {idle} of the time"


def device_seconds(value: float) -> str:
    """ "12.3", "4711"."""
    return str(math.floor(value + 0.5)) if value >= 100 else wording.amount(math.floor(10 * value + 0.5) / 10)


def idle(row: DeviceAccount, now: float) -> str:
    """The share of the time since a device is known in which nobody here held it: "40 %"."""
    return _percent(1 - _held_share(row, now)) if now > row.since else "unknown"


def _percent(share: float) -> str:
    return f"{math.floor(100 * max(share, 0.0) + 0.5)} %"


def _held_share(row: DeviceAccount, now: float) -> float:
    return min(row.held_seconds / (now - row.since), 1.0) if now > row.since else 0.0


def _used_cells(answer: AccountingAnswer) -> list[AccountRow]:
    return [row for row in answer.cells if row.name]


def _said(row: AccountRow) -> str:
    return f"{wording.count(row.runs, 'run')}, {device_seconds(row.device_seconds)} device-seconds"


def _nothing() -> Html:
    return parts.empty(NOTHING, "f.remote()")


def _cell(row: AccountRow, snapshot: Snapshot | None) -> str:
    owner = tables.owner(snapshot, row.job) if snapshot is not None else ""
    return " ".join(part for part in (owner, wording.plain(row.name)) if part)


def _function(row: AccountRow) -> Html:
    return parts.join([parts.swatch(_colour(row)), parts.name_cell(wording.plain(row.name))])


def _colour(row: AccountRow) -> str:
    return palette.colour(HUES.of(palette.owner(row.name)))


def _table(
    title: str,
    what: str,
    answer: AccountingAnswer,
    rows: Sequence[AccountRow],
    name: Callable[[AccountRow], Html],
) -> Html:
    if not rows:
        return parts.NOTHING
    failed, all_seconds = any(row.failed for row in rows), sum(row.device_seconds for row in answer.functions)
    columns = [what, "Runs", *(["Failed"] if failed else []), "Took in all", "Device-seconds", "Share"]
    cells = []
    for row in rows[:MOST_ROWS]:
        share = row.device_seconds / all_seconds if all_seconds > 0 else 0.0
        words = [str(row.runs), *([str(row.failed or "")] if failed else []), wording.duration(row.seconds)]
        colour = _colour(row) if rows is answer.functions else palette.WAITING
        seconds = device_seconds(row.device_seconds)
        cells.append([name(row), *map(parts.words, [*words, seconds]), _share(share, colour)])
    return parts.table(title, columns, cells, kind=_GRID)


def _devices(answer: AccountingAnswer, labels: LaneLabels) -> Html:
    """The least held devices first, and those that are held about equally in the order of devices."""
    if not answer.devices:
        return parts.NOTHING
    rows = sorted(answer.devices, key=lambda row: (_about(_held_share(row, answer.time)), labels.place(row.device)))
    cells = [
        [
            parts.words(labels.of(row.device), strong=True),
            parts.words(wording.duration(row.held_seconds) if row.held_seconds else "never"),
            parts.join([_share(_held_share(row, answer.time)), parts.words(f"idle {idle(row, answer.time)}")]),
        ]
        for row in rows
    ]
    return parts.table("By device", ["Device", "Held", "Held share"], cells, kind=_GRID)


def _about(share: float) -> int:
    return math.floor(_ABOUT * share + 0.5)


def _share(share: float, colour: str = palette.WAITING) -> Html:
    return parts.bar([(share, colour)], width_px=_BAR_PX)
