"""The ended tasks that can still be asked for: the newest, before them those that failed or ran for long."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, compress, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbaccel.scheduling.tasks import TaskRecord

KEEP_ENDED = 1000
KEEP_FAILED = 200  # of tasks that failed before them, or ran for long
KEEP_INTERNAL = 200  # of nbaccel's own
HELD_BY = 2  # a record: its line, and all records

# Takes the records out of a list, and returns what makes them again; how many hold each of them is given.
Pack = Callable[["list[TaskRecord]", int], "Callable[[], list[TaskRecord]]"]


class EndedTasks:
    """Which ended tasks keep their records. Of the others it removes them from `records`."""

    def __init__(self, records: dict[bytes, TaskRecord]) -> None:
        self._records = records
        self._newest: deque[TaskRecord] = deque()
        self._failed: deque[TaskRecord] = deque()  # too old for `_newest`
        self._internal: deque[TaskRecord] = deque()  # apart: so many calls would push users' tasks out

    def add(self, record: TaskRecord) -> None:
        """A task of a user's has ended."""
        newest = self._newest
        newest.append(record)
        if len(newest) > KEEP_ENDED:
            self._age(newest.popleft())

    def add_internal(self, record: TaskRecord) -> None:
        """A task of nbaccel's own has ended."""
        self._internal.append(record)
        if len(self._internal) > KEEP_INTERNAL:
            self._forget(self._internal.popleft())

    def newest_first(self) -> Iterator[TaskRecord]:
        """Those of users."""
        return chain(reversed(self._newest), reversed(self._failed))

    def let_go(self, pack: Pack) -> Callable[[], None]:
        """Let all records go, packed, and return what makes them again: then they lie close together in memory."""
        lines, all_records = (self._newest, self._failed, self._internal), self._records
        sizes = [len(line) for line in lines]
        ended = [record for line in lines for record in line]
        known = [all_records.get(record.task.task_id) is record for record in ended]
        ids = [record.task.task_id for record in compress(ended, known)]
        unpack = pack(ended, HELD_BY)
        for id in ids:
            del all_records[id]
        ids.clear()
        for line in lines:
            line.clear()

        def make_again() -> None:
            made = unpack()
            all_records.update((record.task.task_id, record) for record in compress(made, known))
            rest = iter(made)
            for line, size in zip(lines, sizes, strict=True):
                line.extend(islice(rest, size))

        return make_again

    def _age(self, old: TaskRecord) -> None:
        """It is no longer among the newest: failures and long runs are kept for longer, others forgotten."""
        if old.is_kept and self._records.get(old.task.task_id) is old:
            self._failed.append(old)
            if len(self._failed) <= KEEP_FAILED:
                return
            old = self._failed.popleft()
        self._forget(old)

    def _forget(self, old: TaskRecord) -> None:
        if self._records.get(old.task.task_id) is old:
            del self._records[old.task.task_id]
