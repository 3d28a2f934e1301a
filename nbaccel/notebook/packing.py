"""Packs rows of a large snapshot by columns, so that shared values are sent once: 64 devices take the space of 16.

```
  [{"id": "0", "name": "H100"}, {"id": "1", "name": "H100"}]
      ──► {"rows": 2, "same": {"name": "H100"}, "each": {"id": ["0", "1"]}}        unpacked by cockpit/packing.js
```
"""

from __future__ import annotations

from itertools import chain
from types import NoneType
from typing import Any

Row = dict[str, Any]
LEAST_ALIKE = 6  # characters that texts have in common, for less of which they are sent whole
_TEXTS = {str, NoneType}
_ROWS, _LISTS, _PLAIN = {dict, NoneType}, {list, NoneType}, {str, int, float, bool, NoneType}


class Packer:
    """Packs one table again and again, and only those of its columns that have changed since the last time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[Any], tuple[str, Any]]] = {}  # column -> its values, and how they were sent
        self._within: dict[str, Packer] = {}  # column -> of the rows within its rows

    def packed(self, rows: list[Row]) -> dict[str, Any]:
        """The rows by columns: `same` in all, one of a few (`of`), rows within rows (`within`, `lists`), or `each` its
        own.

        Texts that begin and end alike, as ids do, are `cut` into that beginning, what each has of its own, and that
        end. A null stands for a field that the row lacks.
        """
        table: dict[str, Any] = {"rows": len(rows)}
        names: Row = {}
        for row in rows:
            names.update(row)
        for name in names:
            values = [row.get(name) for row in rows]
            known = self._known.get(name)
            if known is None or known[0] != values:
                known = self._known[name] = values, self._column(name, values)
            kind, column = known[1]
            table.setdefault(kind, {})[name] = column
        return table

    def _column(self, name: str, values: list[Any]) -> tuple[str, Any]:
        """How a column is sent, and what of it. C loops over the values: a snapshot of 500 rows has 10,000 of them."""
        if values.count(values[0]) == len(values):
            return "same", values[0]
        kinds = set(map(type, values))
        if kinds <= _ROWS and _all_keys_are_words(values):
            return "within", self._inner(name, [value or {} for value in values])
        if kinds <= _LISTS:
            ones = list(chain.from_iterable(filter(None, values)))
            if set(map(type, ones)) <= {dict}:
                sizes = [len(value) if value else 0 for value in values]
                return "lists", {"sizes": sizes, "rows": self._inner(name, ones)}
        elif kinds <= _PLAIN:
            distinct = list(dict.fromkeys(values))
            if len(distinct) <= len(values) // 3:
                places = {value: place for place, value in enumerate(distinct)}
                return "of", [distinct, list(map(places.__getitem__, values))]
            if set(map(type, distinct)) <= _TEXTS:
                return _cut(values)
        return "each", values

    def _inner(self, name: str, rows: list[Row]) -> dict[str, Any]:
        return self._within.setdefault(name, Packer()).packed(rows)


def packed(rows: list[Row]) -> dict[str, Any]:
    """The rows of a table that is packed once."""
    return Packer().packed(rows)


def _cut(values: list[str | None]) -> tuple[str, Any]:
    """Texts without what all of them begin and end with, if that is longer than what it takes to say so."""
    texts = [value for value in values if value is not None]
    start = _beginning(texts)
    rest = [text[len(start) :] for text in texts]
    has_end = rest[0][-1:] == rest[-1][-1:] != ""
    end = _beginning([text[::-1] for text in rest])[::-1] if has_end else ""
    if len(start) + len(end) < LEAST_ALIKE:
        return "each", values
    cuts = iter(rest)
    return "cut", [start, [None if value is None else next(cuts).removesuffix(end) for value in values], end]


def _beginning(texts: list[str]) -> str:
    """What all of them begin with: what the first and the last of them, as they are sorted, begin with."""
    first, last = min(texts), max(texts)
    alike, most = 0, len(first)
    while alike < most:  # halves: an id has fifty characters
        half = (alike + most + 1) // 2
        alike, most = (half, most) if last.startswith(first[:half]) else (alike, half - 1)
    return first[:alike]


def _all_keys_are_words(rows: list[Row | None]) -> bool:
    return set(map(type, chain.from_iterable(filter(None, rows)))) <= {str}
