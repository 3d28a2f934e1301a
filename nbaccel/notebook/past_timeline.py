"""The timeline from what the history tells: a lane for each device of the snapshot, merged until it can be drawn."""

from __future__ import annotations

from nbaccel.notebook import timeline
from nbaccel.notebook.timeline import Bar, Lane, LaneLabels, Picture
from nbaccel.views import tables, wording
from nbaccel.views.history.answers import LaneRuns, RunKind, RunsAnswer
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.runs import RunBar, fitting, lane_of
from nbaccel.views.node_tables import node_names
from nbaccel.views.snapshot import Snapshot

MOST_MERGED = 600  # most bars of a drawing that stays in the notebook


def picture(answer: RunsAnswer, snapshot: Snapshot | None = None, cell: str = "") -> Picture:
    """All runs of an answer, or those of one of this notebook's cells: "3"."""
    own = {0, snapshot.runtime.job} if snapshot is not None else {0}  # a page is told 0
    kinds = {kind.index: kind for kind in answer.kinds if not cell or _is_of(kind, cell, own)}
    every = [bar for lane in (*answer.ended, *answer.running) for bar in _bars(lane) if bar.kind in kinds]
    merged, _grain_s = fitting(every, MOST_MERGED, answer.grain_s)
    bars: dict[str, list[Bar]] = {}
    for bar in merged:
        shown = _bar(bar, kinds[bar.kind], answer.origin, own)
        bars.setdefault(answer.lanes[bar.lane], []).append(shown)
    steps = enumerate(answer.waiting)
    waiting = [(answer.waiting_from + number * answer.waiting_step_s, waited) for number, waited in steps]
    return Picture(_lanes(bars, snapshot), [] if cell else waiting)


def _is_of(kind: RunKind, cell: str, own: set[int]) -> bool:
    return kind.job in own and _number_of(kind.cell) == f"[{cell.strip('[]')}]"


def _number_of(cell: str) -> str:
    """The cell alone: "[3]" of "[3] line 2"."""
    return wording.plain(cell).partition(" ")[0]


def _bar(bar: RunBar, kind: RunKind, origin: float, own: set[int]) -> Bar:
    function, cell = wording.plain(kind.function), wording.plain(kind.cell)
    return Bar(
        name=function + (" and others" if bar.mixed else ""),
        function=kind.function,
        state="" if bar.mixed else kind.state,
        start_s=origin + bar.start,
        duration_s=bar.end - bar.start,
        cell=cell if bar.number == 1 else "",
        own_cell=_number_of(cell) if kind.job in own else "",
        number=bar.number,
        shade=bar.shade,
    )


def _lanes(bars: dict[str, list[Bar]], snapshot: Snapshot | None) -> list[Lane]:
    """Those of the snapshot's devices in their order, those of devices that have gone, and the one without a device."""
    lanes = []
    if snapshot is not None:
        labels = tables.labels_of_devices(snapshot.devices)
        offered = [row for row in snapshot.devices if row.offered]
        several = len({row.node_id for row in offered}) > 1
        nodes = node_names(snapshot.nodes) if several else {}
        wholes = {node.node_id: wording.plain(node.name) for node in snapshot.nodes}
        for row in offered:
            name, label = lane_of(row.node_id, row.resource, row.id), labels[row.node_id, row.resource, row.id]
            node = nodes.get(row.node_id, "")
            lanes.append(timeline.lane(label, bars.pop(name, []), node, wholes.get(row.node_id, node)))
    rest = bars.pop(WITHOUT_DEVICE, [])
    gone = LaneLabels(snapshot)
    lanes += [timeline.lane(gone.of(name), some) for name, some in bars.items()]
    return lanes + ([timeline.lane("CPU", rest)] if rest else [])


def _bars(lane: LaneRuns) -> list[RunBar]:
    bars = []
    for said in lane.bars:
        kind, start_ms, took_ms, number, shade, _waited = [*said, *([1, 0, 0][len(said) - 3 :])]
        start = start_ms / 1000
        bars.append(RunBar(lane.lane, kind, start, start + took_ms / 1000, abs(number), shade, mixed=number < 0))
    return bars
