"""The timeline of more runs than a snapshot holds: bars of the history, merged until they can be drawn."""

from __future__ import annotations

from nbaccel.notebook.lane_labels import LaneLabels
from nbaccel.notebook.timeline import Bar
from nbaccel.views import wording
from nbaccel.views.history.answers import LaneRuns, RunsAnswer
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.runs import RunBar, fitting
from nbaccel.views.snapshot import Snapshot

MOST_MERGED = 600  # most bars of a drawing that stays in the notebook


def bars_of(answer: RunsAnswer, snapshot: Snapshot | None = None) -> list[Bar]:
    """The bars of all runs of an answer, oldest first; only runs on devices, if there are any."""
    labels = LaneLabels(snapshot)
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
        start_s, lane = answer.origin + bar.start, labels.of(answer.lanes[bar.lane])
        state = "" if bar.mixed else kind.state
        took_s = bar.end - bar.start
        drawn.append(Bar(lane, name, kind.function, cell, state, start_s, took_s, bar.number, bar.shade))
    return sorted(drawn, key=lambda bar: bar.start_s)


def _bars(lane: LaneRuns) -> list[RunBar]:
    bars = []
    for said in lane.bars:
        kind, start_ms, took_ms, number, shade, _waited = [*said, *([1, 0, 0][len(said) - 3 :])]
        start = start_ms / 1000
        bars.append(RunBar(lane.lane, kind, start, start + took_ms / 1000, abs(number), shade, mixed=number < 0))
    return bars
