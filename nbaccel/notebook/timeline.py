"""The timeline: what each device has done, as lanes that stay in saved notebooks too.

A bar has its function's colour, and its name where there is room; below the lanes each colour has its name. A failed
one is outlined in red, a cancelled one dashed, and both are marked. The text form has the same facts, and a table
beside the drawing has them for whoever does not see it: screen readers, and pages that remove drawings.
"""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.notebook import parts, timeline_drawing
from nbaccel.notebook.parts import Html
from nbaccel.notebook.timeline_drawing import end_word, words_of
from nbaccel.notebook.timeline_lanes import Bar, Lane, Picture
from nbaccel.notebook.view import View
from nbaccel.views import palette, tables, wording
from nbaccel.views.palette import HUES

MOST_TABLE_ROWS = 40  # rows of the table beside the drawing
MOST_NAMES = 8  # of the colours' names below the lanes
NOTHING = "No task has run yet."


def view(shown: Picture) -> View:
    """Both forms of the lanes."""
    return View(text(shown), parts.box(sections(shown)))


def text(shown: Picture) -> str:
    """A line for each lane that has runs."""
    bars = shown.bars
    if not bars:
        return NOTHING
    began = min(bar.start_s for bar in bars)
    return "\n".join(f"{lane.whole}: {_said(lane, began)}" for lane in shown.lanes if lane.bars)


def _said(lane: Lane, began: float) -> str:
    return ", ".join(
        f"{words_of(bar)}{end_word(bar)} {bar.start_s - began:.2f} to {bar.end_s - began:.2f} s" for bar in lane.bars
    )


def sections(shown: Picture) -> list[Html]:
    """The drawing, the names of its colours, and its table."""
    if not shown.bars:
        return [parts.empty(f"{NOTHING} Each device has a lane here, with a bar for each run:", "f.remote()")]
    return [Html(timeline_drawing.drawing(shown)), _names(shown.bars), parts.for_ears(_table(shown))]


def _names(bars: Sequence[Bar]) -> Html:
    """Whose bars these are, those with the most runs first."""
    runs: dict[str, list[Bar]] = {}
    for bar in bars:
        runs.setdefault(bar.name, []).append(bar)
    numbers = sorted(((name, sum(bar.number for bar in some)) for name, some in runs.items()), key=lambda row: -row[1])
    named = []
    for name, number in numbers[:MOST_NAMES]:
        colour = palette.COLOURS[HUES.of(palette.owner(runs[name][0].function))][0]
        said = parts.words(f"{name} × {number}" if number > 1 else name, title=name)
        named.append(parts.key(colour, said))
    return parts.paragraph(parts.join(named, " · "), kind="small")


def _table(shown: Picture) -> Html:
    """The drawing as a table, for readers who cannot see it: the runs of each function on each lane."""
    runs: dict[tuple[int, str, str], list[Bar]] = {}
    for number, lane in enumerate(shown.lanes):
        for bar in lane.bars:
            runs.setdefault((number, bar.name, tables.state_word(bar.state)), []).append(bar)
    rows = sorted(runs.items())
    cells = []
    for (number, name, state), some in rows[:MOST_TABLE_ROWS]:
        facts = [parts.words(each) for each in (name, *_number(some))]
        cells.append([parts.words(shown.lanes[number].whole, strong=True), facts[0], parts.pill(state), *facts[1:]])
    table = parts.table("Timeline", ["Lane", "Task", "State", "Runs", "Took in all"], cells, seen=False)
    more = len(rows) - MOST_TABLE_ROWS
    return Html(table + parts.note(f"and {wording.count(more, 'more row')}" if more > 0 else ""))


def _number(some: Sequence[Bar]) -> tuple[str, str]:
    within = "within " if any(bar.number > 1 for bar in some) else ""  # the time between merged runs is included
    return str(sum(bar.number for bar in some)), f"{within}{sum(bar.duration_s for bar in some):.2f} s"
