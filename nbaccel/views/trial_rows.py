"""The trials of an experiment as rows of its record: what a table of trials and its drawings show.

A row is some 200 bytes, so that a thousand of them reach a page in a few answers. A curve is a letter for each of at
most LETTERS places between the first and the last report, `A` its lowest value and `/` its highest: 63 parts are enough
for a drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

LETTERS = 40
LOG_FROM = 100  # values that are all positive and span more than this factor are drawn on a logarithmic axis
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = 5
Point = tuple[int, float]


class TrialCurve(msgspec.Struct, omit_defaults=True):
    """The metric over the numbers of reports; `.` among the letters is no finite value."""

    first: int
    last: int
    low: float
    high: float
    letters: str
    log: bool = False  # letters are parts of the logarithm

    def points(self) -> list[Point]:
        """The values that the letters stand for."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        count = max(1, len(self.letters) - 1)
        found = []
        for place, letter in enumerate(self.letters):
            if letter != ".":
                value = low + (high - low) * _ALPHABET.index(letter) / 63
                report = round(self.first + (self.last - self.first) * place / count)
                found.append((report, 10**value if self.log else value))
        return found


class TrialRow(msgspec.Struct, omit_defaults=True):
    """One trial. `config` has plain values as they are, and others as text."""

    number: int
    state: str = "pending"
    config: dict[str, Any] = {}
    value: float | str | None = None  # the last one of the metric; "nan" and "inf" as text
    reports: int = 0
    curve: TrialCurve | None = None
    devices: dict[str, list[str]] = {}
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    idle_s: float = 0.0  # between its attempts, when nothing of it ran
    error: str = ""
    attempts: int = 0
    stops: int = 0  # how often it was asked to stop, by itself
    waits: bool = False  # it was submitted, and its function has not begun


def curve_of(points: Sequence[Point]) -> TrialCurve | None:
    """The curve of these readings, by the numbers of their reports; None without two of them that are finite."""
    finite = [value for _, value in points if math.isfinite(value)]
    if len(finite) < 2:
        return None
    low, high = min(finite), max(finite)
    log = low > 0 and high / low > LOG_FROM
    bottom, top = (math.log10(low), math.log10(high)) if log else (low, high)
    first, last = points[0][0], points[-1][0]
    places = min(LETTERS, len(points))
    letters, at = [], 0
    for place in range(places):
        report = first + (last - first) * place / (places - 1)
        while at + 1 < len(points) and points[at + 1][0] <= report + 1e-9:
            at += 1
        value = points[at][1]
        if math.isfinite(value):
            height = math.log10(value) if log else value
            letters.append(_ALPHABET[round(63 * (height - bottom) / (top - bottom)) if top > bottom else 31])
        else:
            letters.append(".")
    return TrialCurve(first, last, shortened(low), shortened(high), "".join(letters), log)


def shortened(value: float) -> float:
    """As many digits as a drawing needs."""
    return float(f"{value:.{_DIGITS}g}")
