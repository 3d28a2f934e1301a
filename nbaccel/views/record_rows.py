"""The rows of a published record, such as the trials of an experiment: they are asked for, and no snapshot has them.

```
  publish(…, rows={"trial 7": {…}}) ──► RowBook ◄── ReadRows(id, since) ── a view that is open
```
A publisher sends the rows that have changed. Each change has a number; whoever asks names the last one that it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

MOST_ROWS = 10_000  # of one record; further ones are not kept
MOST_BYTES = 4_000  # of one row as JSON
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


def check(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises ValueError for rows that cannot be published."""
    for key, row in rows.items():
        try:
            size = len(msgspec.json.encode(row))
        except TypeError as error:
            raise ValueError(
                f"The row {key} cannot be published: {error}. Use numbers, texts, lists and dicts."
            ) from None
        if size > MOST_BYTES:
            raise ValueError(f"The row {key} has {size} bytes of JSON, and at most {MOST_BYTES} can be published.")


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
