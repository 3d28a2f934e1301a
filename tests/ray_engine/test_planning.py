"""The order in which tasks are listed."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine import planning
from nbaccel.snapshot import Runtime, Snapshot, TaskRow


def test_what_goes_on_comes_first_and_then_the_latest_also_where_nobody_told_when_it_ended() -> None:
    rows = [
        TaskRow("a", "long over, untold", "task", "FINISHED", submitted_at=10.0),
        TaskRow("b", "over", "task", "FAILED", submitted_at=10.0, started_at=11.0, finished_at=20.0),
        TaskRow("c", "just over", "task", "FINISHED", submitted_at=12.0, finished_at=30.0),
        TaskRow("d", "waits", "task", "PENDING_NODE_ASSIGNMENT", submitted_at=5.0),
        TaskRow("e", "runs", "task", "RUNNING", submitted_at=5.0, started_at=6.0),
    ]
    snapshot = Snapshot(Runtime("ray", "0", "3", pid=1), time=40.0, tasks=rows)
    listed = [row["name"] for row in planning.state_rows(snapshot, {}, "tasks")]
    assert listed == ["waits", "runs", "just over", "over", "long over, untold"]
