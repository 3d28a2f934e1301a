"""The timeline of more runs than a snapshot holds: bars of the history, merged until they can be drawn."""

from __future__ import annotations

from nbaccel.notebook.timeline import Bar
from nbaccel.views import wording
from nbaccel.views.history.answers import LaneRuns, RunsAnswer
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.runs import RunBar, fitting

MOST_MERGED = 600  # most bars of a drawing that stays in the notebook


def bars_of(answer: RunsAnswer) -> list[Bar]:
    """The bars of all runs of an answer, oldest first; only runs on devices, if there are any."""
    every = [*answer.ended, *answer.running]
    on_devices = [lane for lane in every if answer.lanes[lane.lane] != WITHOUT_DEVICE]
    merged, _grain_s = fitting(
        [bar for lane in on_devices or every for bar in _bars(lane)], MOST_MERGED, answer.grain_s
    )
    kinds = {kind.index: kind for kind in answer.kinds}
    drawn = []
    for bar in merged:
        kind = kinds[bar.kind]
        name = wording.plain(kind.function) + (" and others" if bar.mixed else "")
        cell = wording.plain(kind.cell) if bar.number == 1 else ""
        start_s, lane = answer.origin + bar.start, _label(answer.lanes[bar.lane])
        state = "" if bar.mixed else kind.state
        drawn.append(Bar(lane, name, kind.function, cell, state, start_s, bar.end - bar.start, bar.number))
    return sorted(drawn, key=lambda bar: bar.start_s)


def _bars(lane: LaneRuns) -> list[RunBar]:
    bars = []
    for said in lane.bars:
        kind, start_ms, took_ms, number, *_ = [*said, *([1, 0, 0][len(said) - 3 :])]
        start = start_ms / 1000
        bars.append(RunBar(lane.lane, kind, start, start + took_ms / 1000, abs(number), mixed=number < 0))
    return bars


def _label(lane: str) -> str:
    if lane == WITHOUT_DEVICE:
        return "CPU"
    _node, resource, id = lane.split("/", 2)
    return wording.plain(f"{resource} {id}")
