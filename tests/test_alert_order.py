"""The order in which every view tells alerts: a snapshot has them in it."""

from __future__ import annotations

from nbaccel.views.snapshot import Alert


def test_failed_tasks_come_first_and_then_the_newest_alert() -> None:
    leak, lost = Alert("leak", "GPU 1 keeps 9 GiB", 30.0), Alert("device", "GPU 0 is lost", 20.0)
    never, failed = Alert("infeasible", "big asks for 9 GPUs", 40.0), Alert("failed", "train has failed", 10.0)
    assert Alert.in_order([lost, leak, failed, never]) == [failed, never, leak, lost]
    assert Alert.in_order([]) == []
