"""What is noted of a task: a `Note`, a `Call` that costs less, and both packed into 48 bytes once it has ended."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

Note = dict[str, Any]
# Of a call that asks for no device: Ray's id, attempt, description, start (Unix seconds), and None while it runs, then
# its end; or its note, once somebody has asked for it. A note of each call would cost the call twice as much.
Call = list[Any]
Kind = tuple[str, str, str]  # a task's name, kind and choice
Briefs = tuple[list[Kind], bytes]  # the kinds, and a row for each task
BRIEF = struct.Struct("<24sIIdd")  # task id, number of its kind, attempt, started and ended (Unix seconds)
FIELDS_OF_BRIEF = 7  # of a note: task_id, attempt, name, kind, started_at, choice, ended_at


class Description(Protocol):
    """The facts about a piece of code that a call's note needs; see wrapping."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def choice(self) -> str: ...


def as_note(call: Call) -> Note:
    """The note of a call."""
    task_id, attempt, about, started_at, ended_at = call
    note = {
        "task_id": task_id, "attempt": attempt, "name": about.name, "kind": about.kind, "started_at": started_at,
        "choice": about.choice,
    }  # fmt: skip
    return note if ended_at is None else {**note, "ended_at": ended_at}


def is_brief(note: Note) -> bool:
    """Whether a task has ended and its note has nothing else to report."""
    return "ended_at" in note and len(note) - ("sent" in note) == FIELDS_OF_BRIEF


def packed(ended: Iterable[Note | Call]) -> Briefs:
    """Pack what is noted of tasks that ended before their first report."""
    kinds: dict[Kind, int] = {}
    rows = []
    for each in ended:
        note = as_note(each) if isinstance(each, list) else each
        number = kinds.setdefault((note["name"], note["kind"], note["choice"]), len(kinds))
        id = note["task_id"].binary()
        rows.append(BRIEF.pack(id, number, note["attempt"], note["started_at"], note["ended_at"]))
    return list(kinds), b"".join(rows)


def expanded(briefs: Briefs, where: Note) -> Iterator[Note]:
    """Unpack notes into the form in which the collector keeps others."""
    kinds, rows = briefs
    for id, number, attempt, started_at, ended_at in BRIEF.iter_unpack(rows):
        name, kind, choice = kinds[number]
        yield {
            "task_id": id.hex(), "attempt": attempt, "name": name, "kind": kind, "started_at": started_at,
            "choice": choice, "ended_at": ended_at, **where,
        }  # fmt: skip
