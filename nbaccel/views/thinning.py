"""Makes a curve of fewer points that looks the same: no peak is lost, and the first and the last point stay."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[int, float]


def thinned(points: Sequence[Point]) -> list[Point]:
    """About half of the points: of each four the lowest and the highest; the first and the last point always stay."""
    kept: list[Point] = [points[0]]
    for start in range(1, len(points) - 1, 4):
        group = points[start : min(start + 4, len(points) - 1)]
        low, high = min(group, key=lambda point: point[1]), max(group, key=lambda point: point[1])
        kept += [low] if low == high else sorted((low, high))
    return [*kept, points[-1]]


def few(points: Sequence[Point], most: int) -> list[Point]:
    """At most this many points, five or more."""
    while len(points) > most:
        points = thinned(points)
    return list(points)
