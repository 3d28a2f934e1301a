"""The timeline: what each device has done, as lanes that stay in saved notebooks too.

A bar has its function's colour, and its name where there is room; below the lanes each colour has its name. A failed
one is outlined in red, a cancelled one dashed, and both are marked. The text form has the same facts, and a table
beside the drawing has them for whoever does not see it: screen readers, and pages that remove drawings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape

from nbaccel.notebook import parts
from nbaccel.notebook.parts import Html
from nbaccel.notebook.view import View
from nbaccel.views import device_labels, palette, tables, wording
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.run import lane_of
from nbaccel.views.node_names import node_names
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Snapshot

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
    return [Html(drawing(shown)), _names(shown.bars), parts.for_ears(_table(shown))]


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


# ----
# the drawing of a static timeline: SVG without scripts whose places are percents, so that letters keep their size
#
# ```
#             [3]  ███████████  [4] ███        the cells
#   node-0
#   GPU 0     █ train █ █ evaluate… █          a track for each of the runs that were at the same time
#             ███ train ███
#   waiting   ▂▂▅▅▂▂                           how many tasks waited
#             0 s       10 s       20 s
# ```


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


# ---- what a static timeline shows: a lane for each device with the runs on it, those at the same time side by side
#
# Lanes, tracks and what is merged are those of the live view (`past/timeline.ts`).


MOST_TRACKS = 6
_SAME_TIME_S = 1e-6


@dataclass(frozen=True, slots=True)
class Bar:
    """One run on one device, or several runs that are too short to be drawn apart."""

    name: str
    function: str
    state: str
    start_s: float
    duration_s: float
    cell: str = ""
    own_cell: str = ""  # "[3]", where it is one of this notebook's
    number: int = 1
    shade: int = 0  # of its function's hue
    crowded: bool = False  # it stands for runs of any function that had no track of their own

    @property
    def end_s(self) -> float:
        return self.start_s + self.duration_s


@dataclass(frozen=True, slots=True)
class Lane:
    """One device; `node` is its node's name, where there are several, and `node_title` all of that."""

    label: str
    node: str = ""
    tracks: Sequence[Sequence[Bar]] = ((),)
    node_title: str = ""

    @property
    def bars(self) -> list[Bar]:
        """All bars, by their beginnings."""
        return sorted((bar for track in self.tracks for bar in track), key=lambda bar: bar.start_s)

    @property
    def whole(self) -> str:
        """The label with the node."""
        return f"{self.node} {self.label}".strip()


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is drawn. `waiting` are steps (from when, how many tasks waited), by their time."""

    lanes: Sequence[Lane] = ()
    waiting: Sequence[tuple[float, float]] = field(default=())

    @property
    def bars(self) -> list[Bar]:
        return [bar for lane in self.lanes for bar in lane.bars]


def lane(label: str, bars: Iterable[Bar], node: str = "", node_title: str = "") -> Lane:
    """The lane with its bars on as few tracks as keep them apart; what does not fit is one bar of the last track."""
    tracks: list[list[Bar]] = []
    ends: list[float] = []
    for bar in sorted(bars, key=lambda bar: bar.start_s):
        free = [number for number, end in enumerate(ends) if end <= bar.start_s + _SAME_TIME_S]
        if free:
            tracks[free[0]].append(bar)
            ends[free[0]] = bar.end_s
        elif len(tracks) < MOST_TRACKS:
            tracks.append([bar])
            ends.append(bar.end_s)
        else:
            tracks[-1][-1] = _with(tracks[-1][-1], bar)
            ends[-1] = tracks[-1][-1].end_s
    return Lane(label, node, tracks or [[]], node_title or node)


def _with(before: Bar, bar: Bar) -> Bar:
    """More runs at once than there are tracks."""
    state = before.state if before.state == bar.state else ""
    ends = max(before.end_s, bar.end_s) - before.start_s
    number = before.number + bar.number
    return replace(before, state=state, duration_s=ends, number=number, cell="", crowded=True)


# ---- what the lanes of the history are called: "GPU 0", "GPU 0 · MIG 3 (1g.5gb)", "node-2 GPU 0" of several nodes


class LaneLabels:
    """The labels of one cluster's lanes; without a snapshot, and for a device that has gone, the lane's own words."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._labels: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._nodes: dict[str, tuple[str, str]] = {}  # by the first digits of their ids: in short, and whole
        if snapshot is None:
            return
        for (node_id, resource, id), label in device_labels.labels(snapshot.devices).items():
            self._labels[lane_of(node_id, resource, id)] = label
        if len(snapshot.nodes) > 1:
            names = node_names(snapshot.nodes)
            self._nodes = {
                lane_of(node.node_id, "", "").partition("/")[0]: (names[node.node_id], wording.plain(node.name))
                for node in snapshot.nodes
            }
        self._places = {lane: place for place, lane in enumerate(self._labels)}

    def place(self, lane: str) -> int:
        """The place of a lane's device among all; those that have gone come first."""
        return self._places.get(lane, -1)

    def of(self, lane: str) -> str:
        """The words of a lane."""
        node, _whole = self._node(lane)
        return f"{node} {self._device(lane)}".strip()

    def drawn(self, lane: str) -> Html:
        """The same, with the whole name of the node in its title."""
        node, whole = self._node(lane)
        named = parts.words(node, quiet=True, title=whole) if node else parts.NOTHING
        return parts.join([named, parts.words(self._device(lane), strong=True)])

    def _node(self, lane: str) -> tuple[str, str]:
        return self._nodes.get(lane.partition("/")[0], ("", ""))

    def _device(self, lane: str) -> str:
        if lane == WITHOUT_DEVICE:
            return "CPU"
        return self._labels.get(lane) or wording.plain(" ".join(lane.split("/", 2)[1:]))
