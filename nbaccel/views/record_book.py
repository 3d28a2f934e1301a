"""The records that programs publish to every viewer of the cluster: one record for each id, the latest.

```
  publish(kind, id, record) ──► RecordBook ──► Snapshot.published ──► card, %accel_status, top, observers
  asked("stop") ◄────────────── RecordBook ◄── ask(id, "stop") ◄───── a button, an observer, another notebook
                                RecordBook ──► rows of a record, for whoever asks
```
A head has one book for all its drivers and workers; so has the head of the debug engine. On the Ray engine each process
has its own book, and only the process that published a record sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from nbaccel.views.snapshot import PublishedRow

# ---- the rows of a published record, such as the trials of an experiment
#
# They are asked for, and no snapshot has them.
#
#   publish(…, rows={"trial 7": {…}}) ──► RowBook ◄── ReadRows(id, since) ── a view that is open
#
# A publisher sends the rows that have changed. Each change has a number; whoever asks names the last one that it
# knows.


MOST_ROWS = 10_000  # of one record; further ones are not kept
MOST_ROW_BYTES = 4_000  # of one row as JSON
ANSWER_BYTES = 31_000  # of one answer
BYTES_PER_S = 4_000  # that an open view costs
LEAST_PAUSE_S = 0.5

Row = dict[str, Any]


class RowsAnswer(msgspec.Struct):
    """Rows of a record that have changed, by their keys, in the order in which they changed.

    `seq` is the number of the last change, to be asked with as `since` the next time, and `pause_s` how long to wait
    before that; it is 0 if there was no room for all of them. `total` is how many rows the record has.
    """

    seq: int
    pause_s: float
    total: int
    rows: dict[str, Row]


def check_rows(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises ValueError for rows that cannot be published."""
    for key, row in rows.items():
        try:
            size = len(msgspec.json.encode(row))
        except TypeError as error:
            raise ValueError(
                f"The row {key} cannot be published: {error}. Use numbers, texts, lists and dicts."
            ) from None
        if size > MOST_ROW_BYTES:
            raise ValueError(f"The row {key} has {size} bytes of JSON, and at most {MOST_ROW_BYTES} can be published.")


class RowBook:
    """The rows of one record."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[int, Row, int]] = {}  # by key, oldest change first: its number, the row, its bytes
        self.last_change = 0  # its number

    def put(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Add rows, or replace those of these keys."""
        for key, row in rows.items():
            known = self._rows.pop(key, None)
            if known is None and len(self._rows) >= MOST_ROWS:
                continue
            self.last_change += 1
            self._rows[key] = self.last_change, dict(row), len(msgspec.json.encode(row)) + len(key) + 4

    def answer(self, since: int) -> RowsAnswer:
        """The rows that have changed after the change of this number, as many as fit: at least one."""
        changed = []
        for key in reversed(self._rows):
            if self._rows[key][0] <= since:
                break
            changed.append(key)
        told: dict[str, Row] = {}
        seq, size = since, 0
        for key in reversed(changed):
            number, row, size_bytes = self._rows[key]
            if told and size + size_bytes > ANSWER_BYTES:
                break
            told[key] = row
            seq, size = number, size + size_bytes
        pause_s = max(LEAST_PAUSE_S, round(size / BYTES_PER_S, 2)) if len(told) == len(changed) else 0.0
        return RowsAnswer(seq, pause_s, len(self._rows), told)


# ---- the records


MOST_BYTES = 64 << 10  # of one record as JSON
MOST_RECORDS = 20  # of one publisher; its oldest goes
P = TypeVar("P")  # how a publisher is known
Asked = Callable[[str], object]
Rows = Mapping[str, Mapping[str, Any]]  # by key


def nobody_asked(what: str) -> None:
    """Takes the requests to a record whose publisher has ended: they come too late."""


def check(kind: str, id: str, record: Mapping[str, Any]) -> None:
    """Raises ValueError for a record that cannot be published."""
    if not kind or not id:
        raise ValueError(f"A record has a kind and an id, but these are {kind!r} and {id!r}.")
    try:
        size = len(msgspec.json.encode(record))
    except TypeError as error:
        raise ValueError(
            f"The record {id} cannot be published: {error}. Use numbers, texts, lists and dicts."
        ) from None
    if size > MOST_BYTES:
        raise ValueError(
            f"The record {id} has {size} bytes of JSON, and at most {MOST_BYTES} can be published: it is sent again "
            "with each change. Publish less of it, such as fewer points of a curve."
        )


class RecordBook(Generic[P]):
    """The records that are published now, with their publishers."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[P, PublishedRow]] = {}
        self._rows: dict[str, RowBook] = {}

    def publish(
        self, publisher: P, kind: str, id: str, record: Mapping[str, Any], job: int, rows: Rows | None = None
    ) -> None:
        """Add a record, or replace the one of this id; add `rows` to those that it has, or replace them.

        Raises ValueError for a record that cannot be published.
        """
        check(kind, id, record)
        entry = self._entries.get(id)
        if entry is not None and entry[0] != publisher:
            raise ValueError(f"The record {id} is published by another program.")
        if rows:
            self._rows.setdefault(id, RowBook()).put(rows)
        changes = self._rows.get(id, _NO_ROWS).last_change
        self._entries[id] = publisher, PublishedRow(kind, id, dict(record), time.time(), job, changes)
        own = [each for each, (whose, _row) in self._entries.items() if whose == publisher]
        for oldest in own[:-MOST_RECORDS]:
            self._forget(oldest)

    def withdraw(self, publisher: P, id: str) -> bool:
        """Remove a publisher's record. Returns whether there was one."""
        entry = self._entries.get(id)
        if entry is None or entry[0] != publisher:
            return False
        self._forget(id)
        return True

    def publisher_gone(self, publisher: P) -> bool:
        """Remove all records of a publisher. Returns whether there were any."""
        gone = [id for id, (whose, _row) in self._entries.items() if whose == publisher]
        for id in gone:
            self._forget(id)
        return bool(gone)

    def _forget(self, id: str) -> None:
        del self._entries[id]
        self._rows.pop(id, None)

    def read_rows(self, id: str, since: int) -> RowsAnswer:
        """The record's rows that have changed after this change. Raises ValueError when no record has this id."""
        self.publisher_of(id)
        return self._rows.get(id, _NO_ROWS).answer(since)

    def publisher_of(self, id: str) -> P:
        """Raises ValueError when no record has this id."""
        entry = self._entries.get(id)
        if entry is None:
            raise ValueError(f"No record {id} is published here: its program has ended or has withdrawn it.")
        return entry[0]

    def rows(self) -> list[PublishedRow]:
        """The records in the order in which they were first published."""
        return [row for _publisher, row in list(self._entries.values())]


_NO_ROWS = RowBook()


class OwnRecords:
    """The records of one process, for an engine whose views are in the same process."""

    def __init__(self, job: int = 0, changed: Callable[[], object] = lambda: None) -> None:
        self._job = job
        self._book: RecordBook[str] = RecordBook()
        self._asked: dict[str, Asked] = {}
        self._changed = changed

    def publish(
        self,
        kind: str,
        id: str,
        record: Mapping[str, Any] | None,
        asked: Asked | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Publish a record, as the engine promises."""
        if record is None:
            self._asked.pop(id, None)
            self._book.withdraw("", id)
        else:
            check_rows(rows or {})
            self._book.publish("", kind, id, record, self._job, rows)
            if asked is not None:
                self._asked[id] = asked
        self._changed()

    def ask(self, id: str, what: str) -> None:
        """Raises ValueError when no record has this id."""
        self._book.publisher_of(id)
        asked = self._asked.get(id)
        if asked is not None:
            asked(what)

    def read_rows(self, id: str, since: int) -> RowsAnswer:
        """Raises ValueError when no record has this id."""
        return self._book.read_rows(id, since)

    def rows(self) -> list[PublishedRow]:
        return self._book.rows()
