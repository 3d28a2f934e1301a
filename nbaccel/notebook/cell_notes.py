"""The note under a cell: why its work waits, a line for each reason, in one box that changes in place."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nbaccel.notebook import parts
from nbaccel.views import wording
from nbaccel.views.sinks import Notice

CELLS_REMEMBERED = 200
_NEVER = ("infeasible", "deadlock")  # kinds of what a person has to change


@dataclass(slots=True)
class _Note:
    """What waits of one cell, and whether its box is on the page."""

    lines: dict[bytes, Notice] = field(default_factory=dict)  # by task
    is_shown: bool = False


class CellNotes:
    """The notes of all cells."""

    def __init__(self) -> None:
        self._notes: OrderedDict[bytes, _Note] = OrderedDict()
        self._cells: dict[bytes, bytes] = {}  # under which a task's line stands

    def changed(self, cell: bytes, notice: Notice) -> tuple[str, dict[str, Any]] | None:
        """The message (type, content) that shows what waits of a cell now; None if nothing has changed."""
        cell = self._cells.setdefault(notice.task_id, cell)
        if not notice.message:
            del self._cells[notice.task_id]
        note = self._notes.setdefault(cell, _Note())
        before = note.lines.pop(notice.task_id, None)
        if notice.message:
            note.lines[notice.task_id] = notice
        if len(self._notes) > CELLS_REMEMBERED:
            self._notes.popitem(last=False)
        if not note.lines and before is None:
            return None
        kind, note.is_shown = "update_display_data" if note.is_shown else "display_data", True
        return kind, {"data": _bundle(note), "metadata": {}, "transient": {"display_id": _display_id(cell)}}


def _display_id(cell: bytes) -> str:
    return f"nbaccel-waits-{hashlib.sha256(cell).hexdigest()[:24]}"


def _bundle(note: _Note) -> dict[str, str]:
    """What a person has to change comes first."""
    if not note.lines:
        return {"text/plain": "", "text/html": ""}
    never = _once(each for each in note.lines.values() if each.kind in _NEVER)
    waits = _once(each for each in note.lines.values() if each.kind not in _NEVER)
    drawn = [*map(parts.attention, never), *(parts.line(f"◌ {line}") for line in waits)]
    return {"text/plain": "\n".join(f"nbaccel: {line}" for line in (*never, *waits)), "text/html": parts.box(drawn)}


def _once(notices: Iterable[Notice]) -> list[str]:
    """A line for each reason: "evaluate waits for 1 GPU; score waits for 1 GPU. Both GPUs are busy: …"."""
    subjects: dict[str, Counter[str]] = {}  # by what is said after them
    for notice in notices:
        subject, stop, why = wording.plain(notice.message).partition(". ")
        subjects.setdefault(stop + why, Counter())[subject] += 1
    return [
        "; ".join(subject if number == 1 else f"× {number} {subject}" for subject, number in alike.items()) + why
        for why, alike in subjects.items()
    ]
