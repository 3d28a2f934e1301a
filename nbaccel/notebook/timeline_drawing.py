"""The drawing of a static timeline: SVG without scripts whose places are percents, so that letters keep their size.

```
            [3]  ███████████  [4] ███        the cells
  node-0
  GPU 0     █ train █ █ evaluate… █          a track for each of the runs that were at the same time
            ███ train ███
  waiting   ▂▂▅▅▂▂                           how many tasks waited
            0 s       10 s       20 s
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from nbaccel.notebook.timeline_lanes import Bar, Lane, Picture
from nbaccel.views import palette, tables, wording
from nbaccel.views.palette import HUES

RUN = "nbaccel-run"  # the class of a bar
SIGNS = {"FAILED": "✕", "CANCELLED": "⊘"}  # signs of tasks that did not return
_TRACK, _GAP, _LINE, _STRIP = 18, 6, 15, 26
_MOST_LABEL, _CHARACTER = 170, 6.8
_NAMED_PERCENT = 6.0  # a bar of this width has room for some four characters
_LEAST_PERCENT = 0.2
_MOST_BANDS, _MOST_STEPS, _MOST_TICKS = 3, 150, 6
_STEPS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
_OUTLINES = {
    "FAILED": f' stroke="{palette.FAILURE}" stroke-width="2"',
    "CANCELLED": ' stroke="currentColor" stroke-width="1.5" stroke-dasharray="3 2"',
}
_CUT = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"


def drawing(shown: Picture) -> str:
    """The SVG of a picture that has bars."""
    bars = shown.bars
    began = min(bar.start_s for bar in bars)
    length_s = max(max(bar.end_s for bar in bars) - began, 1e-6)
    left = _label_width(shown)
    drawn, top = _bands(bars, began, length_s, left)
    for line, bottom in _lanes(shown.lanes, top, left, began, length_s):
        drawn.append(line)
        top = bottom
    strip, top = _strip(shown.waiting, top, left, began, length_s)
    drawn += [strip, *_ticks(length_s, top)]
    tasks = wording.count(sum(bar.number for bar in bars), "task run")
    title = f"{tasks} on {wording.count(len(shown.lanes), 'lane')} in {wording.duration(length_s)}"
    style = (
        f"display:block;overflow:visible;margin-left:{left}px;width:calc(100% - {left + 8}px);"
        f"height:{top + _LINE + 3}px;font-size:12px;line-height:{_LINE}px;fill:currentColor;forced-color-adjust:none"
    )
    return f'<svg role="img" aria-label="{escape(title)}" style="{style}">{"".join(drawn)}</svg>'


def words_of(bar: Bar) -> str:
    """What a bar is called: "train", "12 × train", "7 runs side by side"."""
    if bar.crowded:
        return f"{bar.number} runs side by side"
    return bar.name if bar.number == 1 else f"{bar.number} × {bar.name}"


def end_word(bar: Bar) -> str:
    """How a run ended, where it did not return."""
    return f" {tables.state_word(bar.state)}" if bar.state in SIGNS else ""


def _label_width(shown: Picture) -> int:
    """The room for the longest name."""
    most = max((number for _, number in shown.waiting), default=0.0)
    longest = max(*(len(lane.label) for lane in shown.lanes), len(_about(most)) if most > 0 else 0, len("cells"))
    return round(min(longest * _CHARACTER + 10, _MOST_LABEL))


def _about(most: float) -> str:
    """How many waited; each step is a mean."""
    return f"up to about {max(1, round(most))}"


def _text(x: str, y: float, width: str, words: str, style: str = "", title: str = "") -> str:
    """Words that end in an ellipsis where they have no room."""
    about = f' title="{escape(title)}"' if title else ""
    return (
        f'<foreignObject x="{x}" y="{y:g}" width="{width}" height="{_LINE}">'
        f'<div style="{_CUT};{style}"{about}>{escape(words)}</div></foreignObject>'
    )


def _label(words: str, y: float, left: int) -> str:
    return _text(str(-left), y, str(left - 8), words, title=words)


def _lanes(lanes: Iterable[Lane], top: int, left: int, began: float, length_s: float) -> Iterator[tuple[str, int]]:
    """Each lane, and where it ends."""
    node = ""
    for lane in lanes:
        if lane.node and lane.node != node:
            yield _text(str(-left), top, "100%", lane.node, "opacity:.75", lane.node_title), top + _LINE
            top += _LINE
        node = lane.node
        height = len(lane.tracks) * _TRACK
        drawn = _label(lane.label, top + (height - _LINE) / 2, left)
        for number, track in enumerate(lane.tracks):
            drawn += "".join(_bar(bar, top + number * _TRACK, began, length_s) for bar in track)
        top += height + _GAP
        yield drawn + _rule(top - _GAP / 2), top


def _rule(y: float) -> str:
    return f'<line x1="0" x2="100%" y1="{y:g}" y2="{y:g}" stroke="currentColor" opacity=".15"/>'


def _bar(bar: Bar, y: int, began: float, length_s: float) -> str:
    x, width = _place(bar.start_s - began, bar.duration_s, length_s)
    words = wording.sentence([words_of(bar), wording.cell(bar.cell), f"{bar.duration_s:.2f} s"])
    fill = palette.COLOURS[HUES.of(palette.owner(bar.function))][bar.shade]
    drawn = (
        f'<rect class="{RUN}" x="{x:.2f}%" y="{y + 1}" width="{width:.2f}%" height="{_TRACK - 2}" rx="2" '
        f'fill="{fill}"{_OUTLINES.get(bar.state, "")}><title>{escape(words)}{end_word(bar)}</title></rect>'
    )
    if width < _NAMED_PERCENT:
        return drawn
    named = f"{SIGNS.get(bar.state, '')} {words_of(bar)}".strip()
    look = f"padding:0 4px;color:{palette.ink_on(fill)};pointer-events:none"
    return drawn + _text(f"{x:.2f}%", y + 1.5, f"{width:.2f}%", named, look)


def _place(from_s: float, duration_s: float, length_s: float) -> tuple[float, float]:
    """(left edge, width) in percent."""
    width = max(duration_s / length_s * 100, _LEAST_PERCENT)
    return min(max(from_s, 0.0) / length_s * 100, 100 - _LEAST_PERCENT), width


def _bands(bars: Iterable[Bar], began: float, length_s: float, left: int) -> tuple[list[str], int]:
    """When the tasks of each of the notebook's cells ran, and where the bands end."""
    cells: dict[str, tuple[float, float]] = {}
    for bar in bars:
        if bar.own_cell:
            since, until = cells.get(bar.own_cell, (bar.start_s, bar.end_s))
            cells[bar.own_cell] = min(since, bar.start_s), max(until, bar.end_s)
    ends: list[float] = []
    drawn = []
    for name, (since, until) in sorted(cells.items(), key=lambda cell: cell[1]):
        track = next((at for at, end in enumerate(ends) if end <= since + 1e-6), min(len(ends), _MOST_BANDS - 1))
        ends[track:] = [max(until, *ends[track : track + 1]), *ends[track + 1 :]] if track < len(ends) else [until]
        x, width = _place(since - began, until - since, length_s)
        look = "padding:0 4px;box-sizing:border-box;height:13px;line-height:13px;border-radius:2px;"
        look += "background:color-mix(in srgb,currentColor 14%,transparent)"
        drawn.append(_text(f"{x:.2f}%", track * _LINE, f"{width:.2f}%", name, look, f"cell {name}"))
    if drawn:
        drawn.append(_label("cells", (len(ends) - 1) * _LINE / 2, left))
    return drawn, len(ends) * _LINE + (_GAP if drawn else 0)


def _strip(
    waiting: Sequence[tuple[float, float]], top: int, left: int, began: float, length_s: float
) -> tuple[str, int]:
    """How many tasks waited, as steps, and where the strip ends."""
    steps = _few(waiting, began, began + length_s)
    most = max((number for _, number in steps), default=0.0)
    if most <= 0:
        return "", top
    ends = [at for at, _ in steps[1:]] + [began + length_s]
    drawn = ""
    for (at, number), end in zip(steps, ends, strict=True):
        height = number / most * _STRIP
        x, width = (at - began) / length_s * 100, (end - at) / length_s * 100
        if number > 0 and width > 0:
            drawn += f'<rect x="{x:.2f}%" y="{top + _STRIP - height:.1f}" width="{width:.2f}%" height="{height:.1f}"/>'
    about = _about(most)
    named = _label("waiting", top - 2, left) + _text(str(-left), top + 12, str(left - 8), about, "opacity:.75", about)
    shown = f'<g fill="{palette.WAITING}"><title>{about} waited</title>{drawn}</g>'
    return named + shown + _rule(top + _STRIP), top + _STRIP + _GAP


def _few(waiting: Sequence[tuple[float, float]], start: float, end: float) -> list[tuple[float, float]]:
    """The steps within two moments, neighbours as the highest of them where there are very many."""
    before = [number for at, number in waiting if at <= start][-1:]
    steps = [(start, number) for number in before] + [step for step in waiting if start < step[0] < end]
    several = -(-len(steps) // _MOST_STEPS) or 1
    return [
        (steps[at][0], max(number for _, number in steps[at : at + several])) for at in range(0, len(steps), several)
    ]


def _ticks(length_s: float, top: int) -> Iterator[str]:
    """Round moments since the first run began, with a line each."""
    step = next((each for each in _STEPS_S if length_s / each <= _MOST_TICKS), _STEPS_S[-1])
    for number in range(int(length_s / step + 1e-6) + 1):
        at, x = number * step, f"{number * step / length_s * 100:.2f}%"
        words = f"{at:.3g} s" if at < 60 else wording.age(at + 1e-6)
        anchor = "start" if not number else "end" if at > 0.95 * length_s else "middle"
        yield f'<line x1="{x}" x2="{x}" y1="0" y2="{top}" stroke="currentColor" opacity=".15"/>'
        yield f'<text x="{x}" y="{top + 12}" text-anchor="{anchor}" opacity=".75">{words}</text>'
