"""A curve over time or steps as a static part: lines in the palette's colours, and the same as a small table.

Example::

    curves.curve("loss", [Series("trial 1", points, palette.colour(hue, "trial 1"))], x="step")
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from nbaccel.notebook import blocks
from nbaccel.notebook.blocks import Html
from nbaccel.views import wording

TABLE_ROWS = 8  # points of a curve that its table shows
LOG_FROM, LOSS_LOG_FROM = 100, 10  # factors from which an axis is logarithmic
_LEFT, _BOTTOM = 56, 22
_LARGE, _SMALL = (560, 180), (260, 120)
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, its points in the order of x, and its colour. A y that is None or no number is a gap."""

    name: str
    points: Sequence[tuple[float, float | None]]
    colour: str

    def known(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if y is not None and math.isfinite(y) and math.isfinite(x)]


@dataclass(frozen=True, slots=True)
class Marks:
    """Ticks on the axis, such as checkpoints; the best one has a star."""

    ticks: Sequence[float] = ()
    best: float | None = None


def curve(title: str, series: Sequence[Series], *, x: str = "step", empty: str = "Nothing was reported yet.") -> Html:
    """The lines with axes, their names and last values beside swatches, and a table of some of their points.

    Values that are all positive and span more than a factor of LOG_FROM have a logarithmic axis, which is said.
    """
    known = [each for each in series if each.known()]
    if not known:
        return blocks.empty(f"{title}: {empty}")
    names = [_named(each) for each in known]
    return Html(
        blocks.paragraph(blocks.join([blocks.words(title, strong=True), _scale(title, known), *names]))
        + _drawing(title, known, x, Marks(), _LARGE)
        + table(title, known, x)
    )


def small(series: Series, *, x: str, marks: Marks) -> Html:
    """One line with its name and last value, to stand beside others; a table of all of them is a part of its own."""
    last = blocks.words(wording.number(series.known()[-1][1]))
    said = blocks.paragraph(blocks.join([blocks.words(series.name, strong=True), _scale(series.name, [series]), last]))
    return Html(said + _drawing(series.name, [series], x, marks, _SMALL))


def is_logarithmic(low: float, high: float, name: str = "") -> bool:
    """Whether an axis is; a loss falls fast and then slowly, so its axis is logarithmic sooner."""
    return low > 0 and high / low > (LOSS_LOG_FROM if "loss" in name.lower() else LOG_FROM)


def _scale(name: str, series: Sequence[Series]) -> Html:
    values = [y for each in series for _, y in each.known()]
    return blocks.words("log scale", quiet=True) if is_logarithmic(min(values), max(values), name) else blocks.NOTHING


def table(title: str, series: Sequence[Series], x: str) -> Html:
    """Some points of the lines as a table, for readers who do not see the drawing."""
    return blocks.for_ears(blocks.table(title, [x, *(each.name for each in series)], rows(series), seen=False))


def _named(series: Series) -> Html:
    return blocks.key(series.colour, blocks.words(f"{series.name} {wording.number(series.known()[-1][1])}"))


def rows(known: Sequence[Series]) -> list[list[Html]]:
    """Every curve at a few values of x, the last one included; a curve without a point there has an empty cell."""
    values = [dict(each.known()) for each in known]
    common = set.intersection(*(set(each) for each in values))
    moments = sorted(common if len(common) >= TABLE_ROWS else {x for each in values for x in each})
    count = min(TABLE_ROWS, len(moments))
    chosen = sorted({moments[round(place * (len(moments) - 1) / max(1, count - 1))] for place in range(count)})
    return [
        [
            blocks.words(wording.number(x)),
            *(blocks.words(wording.number(each[x]) if x in each else "") for each in values),
        ]
        for x in chosen
    ]


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """About `count` round numbers within these bounds; the bound itself if both are equal."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _drawing(title: str, known: Sequence[Series], x: str, marks: Marks, size: tuple[int, int]) -> Html:
    width, height = size
    all_points = [point for each in known for point in each.known()]
    left, right = min(p[0] for p in all_points), max(p[0] for p in all_points)
    low, high = min(p[1] for p in all_points), max(p[1] for p in all_points)
    log = is_logarithmic(low, high, title)
    bottom, top = (math.log10(low), math.log10(high)) if log else (low, high)

    def at_x(value: float) -> float:
        return _LEFT + (value - left) / ((right - left) or 1) * (width - _LEFT - 8)

    def at_y(value: float) -> float:
        share = ((math.log10(value) if log else value) - bottom) / (top - bottom) if top > bottom else 0.5
        return 8 + (1 - share) * (height - _BOTTOM - 16)

    grid = "".join(
        f'<path d="M{_LEFT} {at_y(y):.1f}H{width - 8}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{_LEFT - 6}" y="{at_y(y) + 4:.1f}" text-anchor="end">{wording.number(y)}</text>'
        for y in (log_ticks(low, high) if log else ticks(low, high))
    )
    grid += "".join(
        f'<text x="{at_x(value):.1f}" y="{height - 6}" text-anchor="middle">{wording.number(value)}</text>'
        for value in ticks(left, right)
    )
    ticked = "".join(f"M{at_x(mark):.0f} {height - _BOTTOM}v-6" for mark in marks.ticks if left <= mark <= right)
    grid += f'<path d="{ticked}" stroke="currentColor" stroke-width="1.5" opacity=".6"/>' if ticked else ""
    if marks.best is not None and left <= marks.best <= right:
        best = f"{at_x(marks.best):.0f}"
        grid += f'<path d="M{best} {height - _BOTTOM}V12" stroke="currentColor" stroke-dasharray="3 3" opacity=".6"/>'
        grid += f'<text x="{best}" y="10" text-anchor="middle">★</text>'
    lines = "".join(_line(each, at_x, at_y) for each in known)
    label = escape(f"{title} over {x}: {wording.count(len(known), 'curve')}")
    drawn = f'viewBox="0 0 {width} {height}" style="max-width:100%;width:{width}px;font-size:11px;fill:currentColor"'
    return Html(f'<svg role="img" class="nbaccel-plot" aria-label="{label}" {drawn}>{grid}{lines}</svg>')


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within these bounds, at most about five of them; of few also their threefold."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first) / 4))
    powers = [10.0**power for power in range(first, last + 1, step)]
    if len(powers) > 2:
        return powers
    near = [powers[0] / 10, *powers] if powers else [10.0**last]
    return [each for power in near for each in (power, 3 * power) if low * (1 - 1e-9) <= each <= high * (1 + 1e-9)]


def _line(series: Series, at_x: Callable[[float], float], at_y: Callable[[float], float]) -> str:
    """A polyline for each stretch between gaps; a single point becomes a dot."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in series.points:
        if y is None or not math.isfinite(y) or not math.isfinite(x):
            runs.append([])
        else:
            runs[-1].append((x, y))
    drawn = []
    for run in filter(None, runs):
        if len(run) == 1:
            drawn.append(
                f'<circle cx="{at_x(run[0][0]):.1f}" cy="{at_y(run[0][1]):.1f}" r="2.5" fill="{series.colour}"/>'
            )
        else:
            points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in run)
            drawn.append(f'<polyline points="{points}" fill="none" stroke="{series.colour}" stroke-width="2"/>')
    return f"<g><title>{escape(series.name)}</title>{''.join(drawn)}</g>"
