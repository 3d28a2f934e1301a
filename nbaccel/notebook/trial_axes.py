"""Axes of drawings of trials: numbers, linear or logarithmic, or a few words beside each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nbaccel.notebook import curves
from nbaccel.views import wording

MOST_WORDS = 10  # values of a parameter that is no number
MOST_LABELLED = 5  # numbers of a parameter that have a label each, instead of round numbers between them
_LONGEST = 10  # characters of such a value

Value = float | str | None


@dataclass(frozen=True, slots=True)
class Axis:
    """Where a value stands, from 0 to 1 (None: it has no place), and the labels of some places."""

    share: Callable[[Value], float | None]
    labels: Sequence[tuple[float, str]]
    is_log: bool = False


def are_numbers(values: Sequence[Value]) -> bool:
    """Whether all values are finite numbers; a bool is a word."""
    return all(type(value) in (int, float) and math.isfinite(value) for value in values)  # type: ignore[arg-type]


def axis_of(values: Sequence[Value], name: str = "") -> Axis | None:
    """The axis for these values; None for more than MOST_WORDS different words."""
    if are_numbers(values):
        return _few_or_many([float(value) for value in values], name)  # type: ignore[arg-type]  # no None is among them
    distinct = sorted({str(value) for value in values})
    if len(distinct) > MOST_WORDS:
        return None
    places = {word: index / max(1, len(distinct) - 1) for index, word in enumerate(distinct)}
    labels = [(place, word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…") for word, place in places.items()]
    return Axis(lambda value: places.get(str(value)), labels)


def _few_or_many(values: Sequence[float], name: str) -> Axis:
    """The axis of a parameter's numbers: of a few, as of a choice, each has its label."""
    axis, distinct = numbers(values, name), sorted(set(values))
    if len(distinct) > MOST_LABELLED:
        return axis
    return replace(axis, labels=[(axis.share(each) or 0.0, wording.number(each)) for each in distinct])


def apart(labels: Sequence[tuple[float, str]], room: Callable[[str], float]) -> list[tuple[float, str]]:
    """The labels, in their order along the axis, without those that would touch the one before.

    `labels` are places and texts, and `room` is how much a text takes along the axis, in the unit of the places.
    """
    kept: list[tuple[float, str]] = []
    for place, text in labels:
        if not kept or place - kept[-1][0] >= (room(text) + room(kept[-1][1])) / 2:
            kept.append((place, text))
    return kept


def numbers(values: Sequence[float], name: str = "") -> Axis:
    """The axis of finite numbers, logarithmic if `curves.is_logarithmic`; whole ones have whole labels."""
    low, high = min(values), max(values)
    log = curves.is_logarithmic(low, high, name)
    first, last = (math.log10(low), math.log10(high)) if log else (low, high)

    def share(value: Value) -> float | None:
        if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
            return None
        height = math.log10(value) if log else value  # type: ignore[arg-type]
        return (height - first) / (last - first) if last > first else 0.5  # type: ignore[operator]

    whole = all(float(value).is_integer() for value in values)
    marks = curves.log_ticks(low, high) if log else curves.ticks(low, high)
    marks = [mark for mark in marks if log or not whole or float(mark).is_integer()]
    return Axis(share, [(share(mark) or 0.0, wording.number(mark)) for mark in marks], log)
