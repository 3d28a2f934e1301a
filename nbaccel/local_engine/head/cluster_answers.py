"""Answers to questions about the cluster as a whole."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw
from msgspec.msgpack import encode

from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.reasons import Reasons
from nbaccel.local_engine.head.snapshot_builder import SnapshotBuilder
from nbaccel.local_engine.head.state_rows import StateRows
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views import observer_lines
from nbaccel.views.question import Row
from nbaccel.views.snapshot import Snapshot


class ClusterAnswers:
    """Answers to questions about nodes, resources, tasks and objects."""

    def __init__(
        self,
        builder: SnapshotBuilder,
        state_rows: StateRows,
        reasons: Reasons,
        *,
        snapshot: Callable[[], Snapshot],
    ) -> None:
        self._builder = builder
        self._state_rows = state_rows
        self._reasons = reasons
        self._snapshot = snapshot

    def answers(self) -> list[Row[Peer]]:
        """The rows of the table of questions."""
        builder, state_rows, reasons = self._builder, self._state_rows, self._reasons
        return [
            asks.ListNodes.answered_by(lambda peer, asked: builder.listed_nodes()),
            asks.TotalResources.answered_by(lambda peer, asked: self._totals()),
            asks.FreeResources.answered_by(lambda peer, asked: self._free()),
            asks.ProbeChoice.answered_by(lambda peer, asked: reasons.probe(asked.choice)),
            asks.ReadState.answered_by(lambda peer, asked: Raw(encode(state_rows.of(asked.kind, asked.limit)))),
            asks.ReadTimeline.answered_by(lambda peer, asked: state_rows.timeline()),
            asks.LocateObjects.answered_by(lambda peer, asked: [state_rows.location(id) for id in asked.ids]),
            observer_lines.TakeSnapshot.answered_by(lambda peer, asked: self._asked_snapshot(whole=asked.whole)),
            observer_lines.Explain.answered_by(lambda peer, asked: reasons.explain(asked.task_id)),
            observer_lines.FindTasks.answered_by(lambda peer, asked: builder.rows.found(asked.filter)),
        ]

    def _asked_snapshot(self, *, whole: bool) -> Snapshot:
        return self._builder.whole(self._snapshot()) if whole else self._snapshot()

    def _totals(self) -> dict[str, float]:
        return _sum([row.totals for row in self._builder.node_rows() if row.alive])

    def _free(self) -> dict[str, float]:
        free = _sum([row.available for row in self._builder.node_rows() if row.alive])
        return {name: amount for name, amount in free.items() if amount}


def _sum(quantities: list[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in quantities:
        for name, amount in each.items():
            total[name] = total.get(name, 0.0) + amount
    return total
