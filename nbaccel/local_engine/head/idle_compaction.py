"""What the head does in a rest after work: it gives memory back to the system.

```
  many tasks have ended ── nothing happens for 1.5 s ──► the records that stay are written anew, close together
                                                    └──► the collector, and the C library's freed memory
```
Python's allocator takes a megabyte at a time, and gives none back that holds one living object. The last thousand tasks
stay known, and their parts lie wherever there was a gap when each of them ran: after a burst of 50,000 tasks a megabyte
here and there kept 30 MB. So they are packed into one piece of bytes, let go of, and made again in few places.

Packs records of ended tasks into one piece of bytes, and makes them again.

What a record shares with others (its terms, its function's count, its worker) stays where it is and is only named.
"""

from __future__ import annotations

import gc
import io
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.scheduling.tasks import Pack, TaskRecord
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
    terms = Terms("", TASK)
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


LOOK_S = 1.5  # between two looks whether anything has happened
WORTH_IT = 1_000  # tasks that have ended since: a rest takes 25 to 100 ms, in which the head does nothing else
TOO_MANY = 1_000  # unfinished tasks: the collector looks at each of them


LetGo = Callable[[], Callable[[], None]]  # lets records go that lie all over the memory; returns what makes them again


class Tasks(Protocol):
    """The tasks of the head's scheduler."""

    def ended_so_far(self) -> int: ...
    def unfinished(self) -> int: ...
    def let_go_of_ended(self, pack: Pack) -> Callable[[], None]: ...


class IdleCompaction:
    """Notices that the head rests. `others` let go of the records beside the tasks."""

    def __init__(
        self,
        timers: LoopTimers,
        tasks: Tasks,
        others: Callable[[], Sequence[LetGo]],
        trim: Callable[[], None] = memory.trim,
    ) -> None:
        self._timers = timers
        self._tasks = tasks
        self._others = others
        self._trim = trim
        self._is_timed = False
        self.has_stirred = False
        self._settled = 0  # how many tasks had ended by then
        self._is_due = False  # once more: workers that were idle have ended since, and free what was among the rest

    def stir(self) -> None:
        """Something has happened."""
        self.has_stirred = True
        if not self._is_timed:
            self._is_timed = True
            self._timers.after(LOOK_S, self._look)

    def _look(self) -> None:
        if self.has_stirred:
            self.has_stirred = False
            self._timers.after(LOOK_S, self._look)
            return
        self._is_timed = False
        ended = self._tasks.ended_so_far()
        is_much = ended - self._settled >= WORTH_IT
        if (is_much or self._is_due) and self._tasks.unfinished() <= TOO_MANY:
            self._settled, self._is_due = ended, is_much
            self._settle()

    def _settle(self) -> None:
        """All parts go before the first is made again: one that stayed would keep the memory of the others."""
        with ExitStack() as make_again:  # whatever one of them raises, the others come back
            make_again.callback(self._tasks.let_go_of_ended(pack))
            for let_go in self._others():
                make_again.callback(let_go())
            gc.collect()  # also the interpreter's lists of free objects, which lie all over the memory
        self._trim()
