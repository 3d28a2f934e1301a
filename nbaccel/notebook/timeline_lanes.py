"""What a static timeline shows: a lane for each device with the runs on it, those at the same time side by side.

Lanes, tracks and what is merged are those of the live view (`past/timeline.js`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

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
