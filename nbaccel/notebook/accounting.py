"""The history's accounting as tables: who used the devices, and how long each device was idle.

Rows, words and colours are those of the cockpit's Accounting view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nbaccel.notebook import blocks
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.timeline import LaneLabels
from nbaccel.notebook.view import View
from nbaccel.views import palette, tables, wording
from nbaccel.views.history.answers import AccountingAnswer, AccountRow, DeviceAccount
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Snapshot

MOST_ROWS = 50  # of a table
MOST_UNUSED = 8  # devices that were never held and have a row each
NOTHING = (
    "Nothing has run yet. The device-seconds of each function and each cell, and the idle share of each device, "
    "appear here. A call is counted:"
)
_UNITS = (("hour", 3600, 36_000), ("minute", 60, 600), ("second", 1, 0))  # (name, seconds, from so many seconds on)
_BAR_PX = 84
_GRID = "nbaccel-grid"  # tables of one grid of columns


def accounting_view(answer: AccountingAnswer, snapshot: Snapshot | None = None) -> View:
    """The accounting by function, by cell and by device; a snapshot names other notebooks, nodes and MIG devices."""
    drawn = blocks.box(sections(answer, snapshot))
    if not answer.functions:
        return View("Nothing has run yet.", drawn)
    labels, used = LaneLabels(snapshot), _used_cells(answer)
    lines = [
        total(answer),
        *(f"{wording.plain(row.name)}: {_row_words(row, answer)}" for row in answer.functions[:MOST_ROWS]),
    ]
    lines += [f"{wording.cell(_cell(row, snapshot))}: {_row_words(row, answer)}" for row in used[:MOST_ROWS]]
    devices = _in_order(answer, labels)
    lines += [f"{labels.of(row.device)}: idle {idle(row, answer.time)}" for row in devices[:MOST_ROWS]]
    return View("\n".join(lines), drawn)


def sections(answer: AccountingAnswer, snapshot: Snapshot | None) -> list[Html]:
    """The total, and a table for each of functions, cells and devices."""
    used = _used_cells(answer)
    more = answer.left_out + sum(max(len(rows) - MOST_ROWS, 0) for rows in (answer.functions, used))
    first = blocks.paragraph(blocks.words(total(answer), strong=True)) if answer.functions else _nothing()
    return [
        first,
        _table("By function", "Function", answer, answer.functions, _function),
        _table("By cell", "Cell", answer, used, lambda row: blocks.words(_cell(row, snapshot))),
        _devices(answer, LaneLabels(snapshot)),
        blocks.note(f"and {wording.count(more, 'more row')}" if more else ""),
    ]


def total(answer: AccountingAnswer) -> str:
    """ "12.3 device-minutes in all, devices idle 75 % of the time"."""
    used = f"{_in_unit(_all_seconds(answer), answer)} device-{_unit(answer)[0]}s in all"
    if not answer.known_seconds:
        return used
    return f"{used}, devices idle {_percent(1 - answer.held_seconds / answer.known_seconds)} of the time"


def _all_seconds(answer: AccountingAnswer) -> float:
    return sum(row.device_seconds for row in answer.functions)


def _unit(answer: AccountingAnswer) -> tuple[str, int]:
    """The unit in which all of a view is said, and its length in seconds."""
    most = max([_all_seconds(answer), *(row.seconds for row in answer.functions)])
    return next((name, length) for name, length, least in _UNITS if most >= least)


def _in_unit(seconds: float, answer: AccountingAnswer) -> str:
    """ "12.3", "4711"; "< 0.1" of next to nothing."""
    value = seconds / _unit(answer)[1]
    if 0 < value < 0.05:
        return "< 0.1"
    return str(math.floor(value + 0.5)) if value >= 100 else wording.amount(math.floor(10 * value + 0.5) / 10)


def idle(row: DeviceAccount, now: float) -> str:
    """The share of the time since a device is known in which nobody here held it: "40 %"."""
    return _percent(1 - _held_share(row, now)) if now > row.since else "unknown"


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{math.floor(100 * max(share, 0.0) + 0.5)} %"


def _held_share(row: DeviceAccount, now: float) -> float:
    return min(row.held_seconds / (now - row.since), 1.0) if now > row.since else 0.0


def _used_cells(answer: AccountingAnswer) -> list[AccountRow]:
    return [row for row in answer.cells if row.name]


def _row_words(row: AccountRow, answer: AccountingAnswer) -> str:
    used = f"{_in_unit(row.device_seconds, answer)} device-{_unit(answer)[0]}s"
    return f"{wording.count(row.runs, 'run')}, {used}"


def _nothing() -> Html:
    return blocks.empty(NOTHING, "f.remote()")


def _cell(row: AccountRow, snapshot: Snapshot | None) -> str:
    owner = tables.owner(snapshot, row.job) if snapshot is not None else ""
    return " ".join(part for part in (owner, wording.plain(row.name)) if part)


def _function(row: AccountRow) -> Html:
    return blocks.join([blocks.swatch(_colour(row)), blocks.name_cell(wording.plain(row.name))])


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
        return blocks.NOTHING
    failed, all_seconds, unit = any(row.failed for row in rows), _all_seconds(answer), _unit(answer)[0]
    devices = [f"Device-{unit}s", "Share"] if all_seconds > 0 else []
    columns = [what, "Runs", *(["Failed"] if failed else []), f"{unit.capitalize()}s in all", *devices]
    cells = []
    for row in rows[:MOST_ROWS]:
        ended = [blocks.words(str(row.runs)), *([blocks.failures(row.failed)] if failed else [])]
        said = [_in_unit(row.seconds, answer), *([_in_unit(row.device_seconds, answer)] if devices else [])]
        colour = _colour(row) if rows is answer.functions else palette.WAITING
        share = [_share(row.device_seconds / all_seconds, colour)] if devices else []
        cells.append([name(row), *ended, *map(blocks.words, said), *share])
    return blocks.table(title, columns, cells, kind=_GRID)


def _devices(answer: AccountingAnswer, labels: LaneLabels) -> Html:
    """The devices in the order of all views: none where none was held, and one row for many that never were."""
    rows = _in_order(answer, labels)
    unused = [row for row in rows if not row.held_seconds]
    if len(unused) == len(rows):
        return blocks.NOTHING
    together = unused if len(unused) > MOST_UNUSED else []
    cells = [_held(labels.drawn(row.device), row, answer) for row in rows if row.held_seconds or not together]
    if together:
        names = ", ".join(labels.of(row.device) for row in unused)
        named = blocks.titled(blocks.words(wording.count(len(unused), "device"), strong=True), names)
        cells.insert(0, _held(named, unused[0], answer))
    columns = ["Device", f"Held {_unit(answer)[0]}s", "Idle", "Held share"]
    return blocks.table("By device", columns, cells, kind=_GRID)


def _held(named: Html, row: DeviceAccount, answer: AccountingAnswer) -> list[Html]:
    held = _in_unit(row.held_seconds, answer) if row.held_seconds else "never"
    share = _share(_held_share(row, answer.time))
    return [named, blocks.words(held), blocks.words(idle(row, answer.time)), share]


def _in_order(answer: AccountingAnswer, labels: LaneLabels) -> list[DeviceAccount]:
    return sorted(answer.devices, key=lambda row: labels.place(row.device))


def _share(share: float, colour: str = palette.WAITING) -> Html:
    """A bar with its number."""
    return blocks.join([blocks.bar([(share, colour)], width_px=_BAR_PX), blocks.words(_percent(share))])
