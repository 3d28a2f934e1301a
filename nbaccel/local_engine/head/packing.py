"""Packs records of ended tasks into one piece of bytes, and makes them again.

What a record shares with others (its terms, its function's count, its worker) stays where it is and is only named.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import TASK, Task, Terms

MANY = 1 << 30
_OWN = {TaskRecord, Task, TaskEntry, wire.Submit, bytes, float, int, str, bool, type(None), tuple, list, dict, set}


def pack(records: list[TaskRecord], held_by: int) -> Callable[[], list[TaskRecord]]:
    """Empty this list of records, and return what makes them again.

    Only those leave that `held_by` others hold: a further holder would keep the old one, and change that alone.
    """
    shared: list[Any] = []
    lonely = _holders([_lonely()])[0]  # how references are counted is not the same in each version of Python
    most = (lonely[0] + held_by, *lonely[1:])
    stays = [
        record if any(number > limit for number, limit in zip(holders, most, strict=True)) else None
        for record, holders in zip(records, _holders(records), strict=True)
    ]
    alone = [record for record, stay in zip(records, stays, strict=True) if stay is None]
    file = io.BytesIO()
    _Packer(file, alone, shared).dump(alone)
    records.clear()

    def unpack() -> list[TaskRecord]:
        file.seek(0)
        made = iter(_Unpacker(file, shared).load())
        return [next(made) if stay is None else stay for stay in stays]

    return unpack


def _lonely() -> TaskRecord:
    """A record that nobody holds."""
    terms = Terms("", TASK, b"", ())
    task = Task(terms, b"", TaskEntry(wire.Submit(b"", 0), terms, 0, 0.0))
    return TaskRecord(task, None, None, 0, 0.0)


def _holders(records: list[TaskRecord]) -> list[tuple[int, int, int, int]]:
    """How many references there are to each record, its task, its entry and its submission, as seen from here."""
    return [
        (
            sys.getrefcount(record),
            sys.getrefcount(record.task),
            sys.getrefcount(record.task.payload),
            sys.getrefcount(record.task.payload.submit) if type(record.task.payload) is TaskEntry else MANY,
        )
        for record in records
    ]


class _Packer(pickle.Pickler):
    """Names what is shared by its place in `shared`."""

    def __init__(self, file: io.BytesIO, alone: list[TaskRecord], shared: list[Any]) -> None:
        super().__init__(file, protocol=5)
        self._alone = set(map(id, alone))
        self._shared = shared
        self._places: dict[int, int] = {}

    def persistent_id(self, part: Any) -> int | None:
        kind = type(part)
        if kind in _OWN and (kind is not TaskRecord or id(part) in self._alone):
            return None
        place = self._places.get(id(part))
        if place is None:
            place = self._places[id(part)] = len(self._shared)
            self._shared.append(part)
        return place


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, place: int) -> Any:
        return self._shared[place]
