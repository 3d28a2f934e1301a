"""The timeline: what each device has done, drawn as lanes from Chrome's trace events, for saved notebooks too.

The drawing is plain SVG without scripts. A bar has its function's colour and its words as a tooltip. A failed one is
outlined in red, a cancelled one dashed, and both are marked. The text form has the same facts, and a table beside the
drawing has them for whoever does not see it: screen readers, and pages that remove drawings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from nbaccel.notebook import parts
from nbaccel.notebook import view as of_view
from nbaccel.notebook.parts import Html
from nbaccel.notebook.view import View
from nbaccel.views import palette, tables, wording
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Snapshot

MOST_TABLE_ROWS = 40  # rows of the table beside the drawing
MOST_BARS = 200  # a page with thousands of elements is slow; the newest are drawn and the rest is counted
_WIDTH, _LANE, _LABEL = 720, 22, 90
_NOTHING = "No task has ended yet."
_LANES = "A lane for each device is drawn here, with a bar for each run of a task:"
_SIGNS = {"FAILED": "✕", "CANCELLED": "⊘"}  # signs of tasks that did not return
_OUTLINES = {
    "FAILED": f' stroke="{palette.FAILURE}" stroke-width="2.5"',
    "CANCELLED": ' stroke="currentColor" stroke-width="2" stroke-dasharray="3 2"',
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One run on one device, or several runs that are too short to be drawn apart."""

    lane: str
    name: str
    function: str
    cell: str
    state: str
    start_s: float
    duration_s: float
    number: int = 1
    shade: int = 0  # of its function's hue


def bars(
    events: Iterable[dict[str, Any]], *, cell: str = "", job: int | None = None, since_s: float = 0.0
) -> list[Bar]:
    """The bars of devices, or of workers where no task held a device; oldest first. A cell is one of this job's."""
    spans = [event for event in events if event.get("dur") is not None and str(event.get("cat")).startswith("task::")]
    if cell and job is not None:
        spans = [event for event in spans if event.get("args", {}).get("job", job) == job]
    on_devices = [event for event in spans if event["pid"] == "devices"]
    drawn = [_bar(event) for event in on_devices or spans]
    wanted = f"[{cell.strip('[]')}]" if cell else ""
    kept = [bar for bar in drawn if bar.cell.startswith(wanted) and bar.start_s + bar.duration_s >= since_s]
    return sorted(kept, key=lambda bar: bar.start_s)


def _bar(event: dict[str, Any]) -> Bar:
    facts = event.get("args", {})
    return Bar(
        lane=wording.plain(str(event["tid"])),
        name=wording.plain(str(event["name"])),
        function=wording.plain(str(facts.get("function") or event["name"])),
        cell=wording.plain(str(facts.get("cell", ""))),
        state=str(facts.get("state", "")),
        start_s=event["ts"] / 1e6,
        duration_s=event["dur"] / 1e6,
        shade=palette.shade_of(str(facts.get("task_id") or event["name"])),
    )


def view(shown: Sequence[Bar], most: int = MOST_BARS, snapshot: Snapshot | None = None) -> View:
    """Both forms of the lanes; the newest bars are drawn, at most so many. A snapshot gives the first line."""
    drawn = sections(shown, most) if shown else [parts.empty(f"{_NOTHING} {_LANES}", "f.remote()")]
    text = _text(shown) if shown else _NOTHING
    if snapshot is None:
        return View(text, parts.box(drawn))
    return of_view.boxed(snapshot, text, Html("".join(drawn)))


def sections(shown: Sequence[Bar], most: int = MOST_BARS) -> list[Html]:
    """The drawing, and its table."""
    return [Html(_drawing(shown[-most:])), _left_out(len(shown) - most), parts.for_ears(_table(shown))]


def _left_out(count: int) -> Html:
    return parts.note(f"{count} older ones are not drawn." if count > 0 else "")


def _table(shown: Sequence[Bar]) -> Html:
    """The drawing as a table, for readers who cannot see it: the runs of each function on each lane."""
    runs: dict[tuple[str, str, str], list[Bar]] = {}
    for bar in shown:
        runs.setdefault((bar.lane, bar.name, tables.state_word(bar.state)), []).append(bar)
    rows = sorted(runs.items())
    cells = [
        [parts.words(lane, strong=True), parts.words(name), parts.pill(state), *map(parts.words, _number(some))]
        for (lane, name, state), some in rows[:MOST_TABLE_ROWS]
    ]
    table = parts.table("Timeline", ["Lane", "Task", "State", "Runs", "Took in all"], cells)
    more = len(rows) - MOST_TABLE_ROWS
    return Html(table + parts.note(f"and {wording.count(more, 'more row')}" if more > 0 else ""))


def _number(some: Sequence[Bar]) -> tuple[str, str]:
    within = "within " if any(bar.number > 1 for bar in some) else ""  # the time between merged runs is included
    return str(sum(bar.number for bar in some)), f"{within}{sum(bar.duration_s for bar in some):.2f} s"


def _name(bar: Bar) -> str:
    return bar.name if bar.number == 1 else f"{bar.number} × {bar.name}"


def _text(shown: Sequence[Bar]) -> str:
    began = shown[0].start_s
    lanes = {
        lane: ", ".join(
            f"{_name(bar)}{_end_word(bar)} {bar.start_s - began:.2f} to {bar.start_s - began + bar.duration_s:.2f} s"
            for bar in shown
            if bar.lane == lane
        )
        for lane in sorted({bar.lane for bar in shown})
    }
    return "\n".join(f"{lane}: {words}" for lane, words in lanes.items())


def _end_word(bar: Bar) -> str:
    return f" {tables.state_word(bar.state)}" if bar.state in _SIGNS else ""


def _drawing(shown: Sequence[Bar]) -> str:
    lanes = sorted({bar.lane for bar in shown})
    began = shown[0].start_s
    length_s = max(max(bar.start_s + bar.duration_s for bar in shown) - began, 1e-6)
    height = (len(lanes) + 1) * _LANE
    parts = [_label(lane, number) for number, lane in enumerate(lanes)]
    parts += [_rectangle(bar, lanes.index(bar.lane), began, length_s) for bar in shown]
    axis = f'<text x="{_LABEL}" y="{height - 6}">0 s</text>'
    axis += f'<text x="{_LABEL + _WIDTH}" y="{height - 6}" text-anchor="end">{length_s:.2f} s</text>'
    tasks = wording.count(sum(bar.number for bar in shown), "task")
    title = f"{tasks} on {wording.count(len(lanes), 'lane')} in {length_s:.2f} s"
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_LABEL + _WIDTH + 4} {height}" '
        f'style="max-width:100%;width:{_LABEL + _WIDTH}px;font-size:12px;fill:currentColor">'
        f"{''.join(parts)}{axis}</svg>"
    )


def _label(lane: str, number: int) -> str:
    return f'<text x="0" y="{number * _LANE + 15}">{escape(lane)}</text>'


def _rectangle(bar: Bar, lane: int, began: float, length_s: float) -> str:
    left = _LABEL + (bar.start_s - began) / length_s * _WIDTH
    width = max(bar.duration_s / length_s * _WIDTH, 1.5)
    words = wording.sentence([_name(bar), wording.cell(bar.cell), f"{bar.duration_s:.2f} s"])
    outline = _OUTLINES.get(bar.state, "")
    fill = palette.COLOURS[HUES.of(palette.owner(bar.function))][bar.shade]
    sign = _SIGNS.get(bar.state, "")
    mark = f'<text x="{left + 3:.1f}" y="{lane * _LANE + 15}">{sign}</text>' if sign else ""
    return (
        f'<rect x="{left:.1f}" y="{lane * _LANE + 3}" width="{width:.1f}" height="{_LANE - 6}" rx="2" '
        f'fill="{fill}"{outline}><title>{escape(words)}{_end_word(bar)}</title></rect>{mark}'
    )
