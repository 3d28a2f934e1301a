"""The order in which tasks are listed, and what a probe is told by the books."""

from __future__ import annotations

import msgspec
import pytest

pytest.importorskip("ray")

from nbaccel.handles.options import task_options
from nbaccel.ray_engine.reports import planning
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.views.snapshot import NodeRow, Runtime, Snapshot, TaskRow


def test_what_goes_on_comes_first_and_then_the_latest_also_where_nobody_told_when_it_ended() -> None:
    rows = [
        TaskRow("a", "long over, untold", "task", "FINISHED", submitted_at=10.0),
        TaskRow("b", "over", "task", "FAILED", submitted_at=10.0, started_at=11.0, finished_at=20.0),
        TaskRow("c", "just over", "task", "FINISHED", submitted_at=12.0, finished_at=30.0),
        TaskRow("d", "waits", "task", "PENDING_NODE_ASSIGNMENT", submitted_at=5.0),
        TaskRow("e", "runs", "task", "RUNNING", submitted_at=5.0, started_at=6.0),
    ]
    snapshot = Snapshot(Runtime("ray", "0", "3", pid=1), time=40.0, tasks=rows)
    listed = [row.name for row in planning.state_rows(snapshot, {}, TaskRow)]
    assert listed == ["waits", "runs", "just over", "over", "long over, untold"]


HERE, AWAY = "ab" * 28, "cd" * 28
POOL = {"name": "pool", "resources": {"CPU": 64.0}, "labels": {"zone": "b"}, "max_count": 3}


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ({"num_cpus": 1}, "now"),
        ({"num_cpus": 4}, "busy"),
        ({"num_cpus": 1, "memory": 4 << 30}, "now"),
        ({"num_cpus": 1, "memory": 64 << 30}, "never"),
        ({"num_cpus": 32}, "addable"),
        ({"label_selector": {"zone": "a"}}, "now"),
        ({"label_selector": {"zone": "b"}}, "addable"),
        ({"label_selector": {"zone": "c"}}, "never"),
        ({"scheduling_strategy": NodeAffinitySchedulingStrategy(HERE, soft=False)}, "now"),
        ({"scheduling_strategy": NodeAffinitySchedulingStrategy(AWAY, soft=False)}, "never"),
    ],
)
def test_a_probe_counts_every_demand_of_a_task(asked: dict[str, object], verdict: str) -> None:
    totals, free = {"CPU": 4.0, "memory": float(8 << 30)}, {"CPU": 2.0, "memory": float(8 << 30)}
    node = NodeRow(HERE, "box", totals=totals, available=free, labels={"zone": "a"})
    snapshot = Snapshot(Runtime("ray", "0", "3"), nodes=[node])
    probed = planning.probe(snapshot, task_options(**asked), lambda: {"scales": True, "groups": [POOL]})
    answer = msgspec.to_builtins(probed)
    assert answer["verdict"] == verdict, answer["sentence"]
