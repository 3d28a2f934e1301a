"""Counters of an application's requests: what the card, `status` and the metrics show."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import Any

# Upper edges of the times, in seconds: 0.25 ms to 33 minutes, each 1.5 times the one before.
EDGES = [0.00025 * 1.5**number for number in range(40)]
_SLICES, _SLICE_S = 12, 5.0  # one minute, in slices of which the oldest is forgotten


class _Slice:
    def __init__(self, number: int) -> None:
        self.number = number
        self.times = [0] * (len(EDGES) + 1)
        self.requests = 0


class Counts:
    """The requests of one application at the door."""

    def __init__(self) -> None:
        self.under_way = 0
        self.requests = 0
        self.statuses: dict[int, int] = {}
        self._slices: list[_Slice] = []

    def begin(self) -> float:
        """The time now, for `end`."""
        self.under_way += 1
        return time.monotonic()

    def end(self, status: int, began: float) -> None:
        ended = time.monotonic()
        self.under_way -= 1
        self.requests += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        now = self._slice(ended)
        now.requests += 1
        now.times[bisect_left(EDGES, ended - began)] += 1

    def _slice(self, now: float) -> _Slice:
        number = int(now / _SLICE_S)
        slices = self._slices
        if not slices or slices[-1].number != number:
            slices.append(_Slice(number))
            self._slices = [each for each in slices if each.number > number - _SLICES]
        return self._slices[-1]

    def facts(self) -> dict[str, Any]:
        """Totals, and the rate and times of the last minute. A time is None while there was no request."""
        newest = int(time.monotonic() / _SLICE_S)
        recent = [each for each in self._slices if each.number > newest - _SLICES]
        times = [sum(column) for column in zip(*(each.times for each in recent), strict=True)]
        requests = sum(times)
        span_s = min(_SLICES, newest - recent[0].number + 1) * _SLICE_S if recent else 0.0
        return {
            "requests": self.requests,
            "under_way": self.under_way,
            "statuses": {str(status): number for status, number in sorted(self.statuses.items())},
            "failed": sum(number for status, number in self.statuses.items() if status >= 500),
            "per_s": requests / span_s if span_s else 0.0,
            "p50_s": _quantile(times, 0.5),
            "p95_s": _quantile(times, 0.95),
        }


def _quantile(times: list[int], share: float) -> float | None:
    """The upper edge of the column that this share of all times reaches."""
    total = sum(times)
    if not total:
        return None
    seen = 0
    for number, edge in zip(times, [*EDGES, EDGES[-1]], strict=True):
        seen += number
        if seen >= share * total:
            return edge
    return EDGES[-1]
