"""The trials of an experiment as static drawings, with the same as tables for readers who do not see them.

```
  curves over each other     the metric over reports                    table: the curves of the best
  parallel coordinates       an axis for each parameter, one for the    the table of trials says the same
                             metric; a line for each trial
  a drawing per parameter    the parameter against the metric           table: the metric by values of the parameter
```
The best trials are in front, as in the cockpit's drawings (`runs/trial_shapes.tsx`); the others are one path.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

from nbaccel.notebook import curves, parts
from nbaccel.notebook.parts import Html
from nbaccel.views import palette, wording
from nbaccel.views.experiment_snapshot import short_trial
from nbaccel.views.seen_trials import SeenTrial, SeenTrials

MOST_LINES = 100  # of a drawing: a hundred curves are some 30 KB in the saved notebook
MOST_PARAMETERS = 6
IN_FRONT = 8  # after the best one
CURVES_IN_TABLE = 4
GROUPS = 4  # of a parameter's numbers, in the table
_WIDE, _SMALL = (560, 200), (220, 150)
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 18, 22
_BESIDE_LAST = 46  # to the right of the last of several axes, for its labels
_LINE, _LETTER = 12, 6.5  # the height of a label and the width of a letter
_BESIDE = "display:inline-block;vertical-align:top;margin:4px 16px 4px 0;max-width:100%"


def drawings(name: str, seen: SeenTrials) -> Html:
    """All drawings of an experiment of this name that its trials have enough values for."""
    colour = palette.colour(palette.HUES.of(name))
    return Html(_overlaid(seen, colour) + _parallel(seen, colour) + _scatters(seen, colour))


# ---- curves over each other


def _overlaid(seen: SeenTrials, colour: str) -> Html:
    several = [(each, each.points) for each in seen.trials if len(each.points) > 1]
    if not several:
        return parts.NOTHING
    drawn = several[:MOST_LINES]
    across = numbers([x for _, points in drawn for x, _ in points])
    up = numbers([y for _, points in drawn for _, y in points], seen.metric)
    lines = [_path([(_x(across, x, _WIDE), _y(up, y, _WIDE)) for x, y in points]) for _, points in drawn]
    of = wording.count(len(several), "trial") + (f", {MOST_LINES} of them drawn" if len(several) > MOST_LINES else "")
    said = f"{wording.plain(seen.metric)} over reports of {of}"
    table = [curves.Series(short_trial(each.id), points, colour) for each, points in drawn[:CURVES_IN_TABLE]]
    return Html(
        _headed(said, seen, "log scale" if up.is_log else "")
        + _svg(said, _WIDE, _grid(up, _WIDE) + _below(across, _WIDE) + _layers(lines, seen, colour))
        + curves.table(f"{wording.plain(seen.metric)} over reports", table, "report")
    )


# ---- parallel coordinates


def _parallel(seen: SeenTrials, colour: str) -> Html:
    drawn = _with_value(seen)[:MOST_LINES]
    found = [(name, _axis(name, drawn)) for name in seen.names[:MOST_PARAMETERS]]
    usable = [(name, axis) for name, axis in found if axis is not None]
    if len(drawn) < 2 or not usable:
        return parts.NOTHING
    goal = numbers([each.value for each in drawn if each.value is not None], seen.metric)
    axes = [*usable, (seen.metric, goal)]
    width = _WIDE[0]
    places = [_LEFT + index * (width - _LEFT - _BESIDE_LAST) / (len(axes) - 1) for index in range(len(axes))]
    lines = []
    for each in drawn:
        values: list[Value] = [*(each.params.get(name) for name, _ in usable), each.value]
        points = zip(places, axes, values, strict=True)
        lines.append(_path([(x, _y(axis, value, _WIDE)) for x, (_, axis), value in points]))
    room = places[1] - places[0]
    head = "".join(_upright(x, name, axis, x == places[-1], room) for x, (name, axis) in zip(places, axes, strict=True))
    names = ", ".join(wording.plain(name) for name, _ in axes)
    said = f"Parallel coordinates of {wording.count(len(drawn), 'trial')}: {names}"
    return Html(f'<div style="margin-top:8px">{_svg(said, _WIDE, _layers(lines, seen, colour) + head)}</div>')


def _upright(x: float, name: str, axis: Axis, is_last: bool, room: float) -> str:
    """One axis with its name above and its labels to the left, those of the last one to the right: no line is there.

    `room` is the way to the next axis; a longer name is cut, or those beside each other would be unreadable.
    """
    bottom = _WIDE[1] - _BOTTOM
    shown = _cut(wording.plain(name), min(room, 2 * _LEFT) if x == _LEFT else room)
    is_long = is_last and len(shown) * _LETTER > 2 * _BESIDE_LAST
    anchor, at = ("end", _WIDE[0] - 2) if is_long else ("middle", x)
    side, beside = ("start", x + 5) if is_last else ("end", x - 5)
    heights = apart([(share * (bottom - _TOP), label) for share, label in axis.labels], lambda _: _LINE)
    labels = "".join(
        f'<text x="{beside:.1f}" y="{bottom - height + 4:.1f}" text-anchor="{side}">{escape(label)}</text>'
        for height, label in heights
    )
    return (
        f'<path d="M{x:.1f} {_TOP}V{bottom}" stroke="currentColor" opacity=".5"/>'
        f'<text x="{at:.1f}" y="11" text-anchor="{anchor}">{escape(shown)}{_whole(name, shown)}</text>{labels}'
    )


# ---- each parameter against the metric


def _scatters(seen: SeenTrials, colour: str) -> Html:
    drawn = _with_value(seen)
    names = [name for name in seen.names[:MOST_PARAMETERS] if any(name in each.params for each in drawn)]
    if len(drawn) < 2 or not names:
        return parts.NOTHING
    shown = "".join(filter(None, (_scatter(name, drawn, seen, colour) for name in names)))
    metric = wording.plain(seen.metric)
    columns = ["Parameter", "Values", "Trials", f"Lowest {metric}", "Median", "Highest"]
    rows = [row for name in names for row in _rows(name, drawn)]
    return Html(shown + parts.for_ears(parts.table(f"{metric} by parameter", columns, rows, seen=False)))


def _scatter(name: str, trials: Sequence[SeenTrial], seen: SeenTrials, colour: str) -> str:
    there = [each for each in trials if name in each.params]
    across = _axis(name, there) if len(there) > 1 else None
    if across is None:
        return ""
    up = numbers([each.value for each in there if each.value is not None], seen.metric)
    dots = [(_x(across, each.params[name], _SMALL), _y(up, each.value, _SMALL)) for each in there]
    others = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in dots if x is not None and y is not None)
    look = f'stroke="{colour}" stroke-width="6" stroke-linecap="round" opacity=".5"'
    star = f'<text x="{dots[0][0]:.1f}" y="{(dots[0][1] or 0) + 4:.1f}" text-anchor="middle">★</text>'
    body = _grid(up, _SMALL) + _below(across, _SMALL) + f'<path d="{others}" {look}/>' + (star if seen.mode else "")
    said = f"{wording.plain(seen.metric)} against {wording.plain(name)} of {wording.count(len(there), 'trial')}"
    shown = _cut(wording.plain(name), _SMALL[0] - _LEFT - _LETTER)
    title = f'<text x="{_LEFT}" y="10" font-weight="bold">{escape(shown)}{_whole(name, shown)}</text>'
    return f'<div style="{_BESIDE}">{_svg(said, _SMALL, title + body)}</div>'


def _rows(name: str, trials: Sequence[SeenTrial]) -> list[list[Html]]:
    """The metric by values of a parameter, or by GROUPS ranges of its numbers with as many trials each."""
    there = [each for each in trials if name in each.params]
    values = [each.params[name] for each in there]
    groups: dict[str, list[float]] = {}
    if are_numbers(values) and len(set(values)) > GROUPS:
        ordered = sorted(there, key=lambda each: float(each.params[name]))
        for part in range(GROUPS):
            chosen = ordered[part * len(ordered) // GROUPS : (part + 1) * len(ordered) // GROUPS]
            low, high = (wording.number(float(each.params[name])) for each in (chosen[0], chosen[-1]))
            groups.setdefault(f"{low} to {high}", []).extend(_values(chosen))
    else:
        for value in sorted(set(values), key=lambda each: (isinstance(each, str), each)):
            said = wording.plain(value) if isinstance(value, str) else wording.number(value)
            chosen = [each for each in there if each.params[name] == value]
            groups.setdefault(said, []).extend(_values(chosen))
    return [
        [
            parts.words(wording.plain(name)),
            parts.words(said),
            parts.words(str(len(found))),
            *(parts.words(wording.number(each)) for each in (min(found), statistics.median(found), max(found))),
        ]
        for said, found in groups.items()
    ]


def _values(trials: Sequence[SeenTrial]) -> list[float]:
    return [each.value for each in trials if each.value is not None]


# ---- what they share


def _cut(name: str, room: float) -> str:
    """A name as long as there is room for; the letters of names are wider than those of numbers."""
    most = int(room / (_LETTER + 1))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _whole(name: str, shown: str) -> str:
    """The whole name for the pointer, where it was cut."""
    return f"<title>{escape(wording.plain(name))}</title>" if shown != wording.plain(name) else ""


def _with_value(seen: SeenTrials) -> list[SeenTrial]:
    return [each for each in seen.trials if each.value is not None]


def _axis(name: str, trials: Sequence[SeenTrial]) -> Axis | None:
    values = [each.params[name] for each in trials if name in each.params]
    return axis_of(values, name) if values else None


def _headed(said: str, seen: SeenTrials, scale: str) -> Html:
    about = ", ".join(filter(None, ("the best in front" if seen.mode else "", scale)))
    return parts.paragraph(parts.join([parts.words(said, strong=True), parts.words(about, quiet=bool(about))]))


def _x(axis: Axis, value: Value, size: tuple[int, int]) -> float | None:
    share = axis.share(value)
    return None if share is None else _LEFT + share * (size[0] - _LEFT - _RIGHT)


def _height(share: float, size: tuple[int, int]) -> float:
    return size[1] - _BOTTOM - share * (size[1] - _BOTTOM - _TOP)


def _y(axis: Axis, value: Value, size: tuple[int, int]) -> float | None:
    share = axis.share(value)
    return None if share is None else _height(share, size)


def _path(points: Sequence[tuple[float | None, float | None]]) -> str:
    there = [(x, y) for x, y in points if x is not None and y is not None]
    return "".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(there))


def _layers(lines: Sequence[str], seen: SeenTrials, colour: str) -> str:
    """The others as one path, then some in front, then the best; all alike if nothing says which is better."""
    front = list(lines[: 1 + IN_FRONT]) if seen.mode else []
    drawn = [(".3", "1", "".join(lines[len(front) :]))]
    drawn += [(".65", "1.5", line) for line in reversed(front[1:])]
    drawn += [("1", "3", line) for line in front[:1]]
    return "".join(
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="{width}" opacity="{opacity}"/>'
        for opacity, width, line in drawn
        if line
    )


def _grid(axis: Axis, size: tuple[int, int]) -> str:
    return "".join(
        f'<path d="M{_LEFT} {_height(share, size):.1f}H{size[0] - _RIGHT}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{_LEFT - 5}" y="{_height(share, size) + 4:.1f}" text-anchor="end">{escape(label)}</text>'
        for share, label in axis.labels
    )


def _below(axis: Axis, size: tuple[int, int]) -> str:
    at = [(_LEFT + share * (size[0] - _LEFT - _RIGHT), label) for share, label in axis.labels]
    return "".join(
        f'<text x="{x:.1f}" y="{size[1] - 5}" text-anchor="middle">{escape(label)}</text>'
        for x, label in apart(at, lambda label: len(label) * _LETTER + _LETTER)
    )


def _svg(label: str, size: tuple[int, int], body: str) -> str:
    width, height = size
    look = f"max-width:100%;width:{width}px;font-size:11px;fill:currentColor"
    about = f'role="img" class="nbaccel-plot" aria-label="{escape(label)}"'
    return f'<svg {about} viewBox="0 0 {width} {height}" style="{look}">{body}</svg>'


# ---- axes of drawings of trials: numbers, linear or logarithmic, or a few words beside each other


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
