"""Packs rows of a large snapshot by columns, so that shared values are sent once: 64 devices take the space of 16.

```
  [{"id": "0", "name": "H100"}, {"id": "1", "name": "H100"}]
      ──► {"rows": 2, "same": {"name": "H100"}, "each": {"id": ["0", "1"]}}        unpacked by cockpit/packing.js
```
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def packed(rows: list[Row]) -> dict[str, Any]:
    """The rows by columns: `same` in all, one of a few (`of`), rows within rows (`within`, `lists`), or `each` its own.

    A null stands for a field that the row lacks.
    """
    table: dict[str, Any] = {"rows": len(rows)}
    for name in dict.fromkeys(name for row in rows for name in row):
        kind, column = _column([row.get(name) for row in rows])
        table.setdefault(kind, {})[name] = column
    return table


def _column(values: list[Any]) -> tuple[str, Any]:
    if all(value == values[0] for value in values):
        return "same", values[0]
    if all(
        value is None or (isinstance(value, dict) and all(isinstance(key, str) for key in value)) for value in values
    ):
        return "within", packed([value or {} for value in values])
    lists = [value or [] for value in values if value is None or isinstance(value, list)]
    if len(lists) == len(values) and all(isinstance(one, dict) for some in lists for one in some):
        return "lists", {
            "sizes": [len(some) for some in lists],
            "rows": packed([one for some in lists for one in some]),
        }
    if all(isinstance(value, (str, int, float, type(None))) for value in values):
        distinct = list(dict.fromkeys(values))
        if len(distinct) <= len(values) // 3:
            places = {value: place for place, value in enumerate(distinct)}
            return "of", [distinct, [places[value] for value in values]]
    return "each", values
