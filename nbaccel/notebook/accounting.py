"""The history's accounting as tables: who used the devices, and how long each device was idle."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.notebook import parts
from nbaccel.notebook.parts import Html
from nbaccel.notebook.view import View
from nbaccel.views import wording
from nbaccel.views.history.answers import AccountingAnswer, AccountRow, DeviceAccount

MOST_ROWS = 20
COLUMNS = ["Runs", "Failed", "Took in all", "Device seconds"]


def accounting_view(answer: AccountingAnswer) -> View:
    """The accounting by function, by cell and by device, largest first."""
    if not answer.functions:
        empty = parts.empty("Nothing has run yet. A remote function that is called makes a run:", "f.remote()")
        return View("Nothing has run yet.", parts.box([empty]))
    used = [row for row in answer.cells if row.name]
    sections = [
        parts.paragraph(parts.words(total(answer), strong=True)),
        _table("By function", "Function", answer.functions),
        _table("By cell", "Cell", used),
        _devices(answer.devices, answer.time),
    ]
    lines = [total(answer), *(f"{wording.plain(row.name)}: {_said(row)}" for row in answer.functions[:MOST_ROWS])]
    lines += [f"{wording.cell(row.name)}: {_said(row)}" for row in used[:MOST_ROWS]]
    lines += [f"{_label(row)}: idle {idle(row, answer.time)}" for row in answer.devices[:MOST_ROWS]]
    return View("\n".join(lines), parts.box([section for section in sections if section]))


def total(answer: AccountingAnswer) -> str:
    """ "12.34 device seconds in all, devices idle 75 % of the time"."""
    seconds = sum(row.device_seconds for row in answer.functions)
    if not answer.known_seconds:
        return f"{seconds:.2f} device seconds in all"
    share = max(1 - answer.held_seconds / answer.known_seconds, 0.0)
    return f"{seconds:.2f} device seconds in all, devices idle {share:.0%} of the time".replace("%", " %")


def idle(row: DeviceAccount, now: float) -> str:
    """The share of the time since a device is known in which nobody here held it: "40 %"."""
    known_s = now - row.since
    return f"{max(1 - row.held_seconds / known_s, 0.0) * 100:.0f} %" if known_s > 0 else "unknown"


def _said(row: AccountRow) -> str:
    return f"{wording.count(row.runs, 'run')}, {row.device_seconds:.2f} device seconds"


def _label(row: DeviceAccount) -> str:
    _node, resource, id = row.device.split("/", 2)
    return wording.plain(f"{resource} {id}")


def _table(title: str, what: str, rows: Sequence[AccountRow]) -> Html:
    if not rows:
        return Html("")
    cells = [
        [
            parts.words(wording.plain(row.name), strong=True),
            parts.words(str(row.runs)),
            parts.words(str(row.failed or "")),
            parts.words(f"{row.seconds:.2f} s"),
            parts.words(f"{row.device_seconds:.2f}"),
        ]
        for row in rows[:MOST_ROWS]
    ]
    more = len(rows) - MOST_ROWS
    table = parts.table(title, [what, *COLUMNS], cells)
    return Html(table + parts.note(f"and {wording.count(more, 'more row')}" if more > 0 else ""))


def _devices(rows: Sequence[DeviceAccount], now: float) -> Html:
    if not rows:
        return Html("")
    cells = [
        [parts.words(_label(row), strong=True), parts.words(f"{row.held_seconds:.2f} s"), parts.words(idle(row, now))]
        for row in rows[:MOST_ROWS]
    ]
    return parts.table("By device", ["Device", "Held", "Idle"], cells)
