"""The views' room put together: snapshots, reasons, rows of state, and what drivers and workers publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.cluster_answers import ClusterAnswers
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.published import Published
from nbaccel.local_engine.head.reasons import Foreign, Reasons
from nbaccel.local_engine.head.rows import PidOf, Rows
from nbaccel.local_engine.head.snapshot_builder import NO_GROWTH, Growing, SnapshotBuilder
from nbaccel.local_engine.head.state_rows import StateRows
from nbaccel.views.question import Row
from nbaccel.views.snapshot import Alert, Snapshot


class StateViews:
    """Everything that one head has for those who look at it. `changed` is called when published records change."""

    def __init__(
        self,
        config: Config,
        records: HeadRecords,
        send: Send,
        *,
        pid_of: PidOf,
        foreign: Foreign,
        metrics: Mapping[str, DeviceReading],
        alerts: Callable[[], list[Alert]],
        arena_used: Callable[[], int],
        started_at: float,
        changed: Callable[[], None],
        snapshot: Callable[[], Snapshot],
        growing: Growing = NO_GROWTH,
    ) -> None:
        self.published = Published(records.peers, send, changed)
        self.snapshot_builder = SnapshotBuilder(
            config,
            records,
            Rows(records.scheduler, pid_of, records.clock),
            published=self.published.rows,
            metrics=metrics,
            alerts=alerts,
            arena_used=arena_used,
            started_at=started_at,
            growing=growing,
        )
        reasons = Reasons(records, pid_of, foreign)
        rows = StateRows(self.snapshot_builder, records, alerts)
        self._cluster_answers = ClusterAnswers(self.snapshot_builder, rows, reasons, snapshot=snapshot)

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of the views."""
        return [*self._cluster_answers.answers(), *self.published.answers()]
