"""What a ref, an actor or a placement group shows of itself."""

from __future__ import annotations

from nbaccel.notebook import reprs
from nbaccel.views.snapshot import ActorRow, Snapshot


def test_a_running_task_says_where_and_a_waiting_one_why(busy_snapshot: Snapshot) -> None:
    running, waiting = busy_snapshot.tasks
    running.cell, running.started_at = "[7] line 3", busy_snapshot.time - 8
    assert reprs.task_line(running, busy_snapshot) == "train · running · GPU 1 · pid 11 · cell [7] line 3 · 8 s"
    assert reprs.task_line(waiting, busy_snapshot) == "infer · waiting · waits for 1 GPU; both held"


def test_an_actor_says_its_name_and_what_waits_for_it(busy_snapshot: Snapshot) -> None:
    row = ActorRow("a1", "Trainer", "ALIVE", name="main", device_ids={"GPU": ["0"]}, pid=7, pending_calls=3, restarts=1)
    assert (
        reprs.actor_line(row, busy_snapshot) == "Trainer 'main' · alive · GPU 0 · pid 7 · 3 calls waiting · 1 restart"
    )


def test_of_many_bundles_the_first_are_shown() -> None:
    row = {"name": "", "state": "CREATED", "strategy": "SPREAD", "bundles": {n: {"GPU": 1.0} for n in range(6)}}
    said = "placement group · created · SPREAD · 6 bundles: 1 GPU; 1 GPU; 1 GPU; 1 GPU; and 2 more"
    assert reprs.group_line(row) == said
