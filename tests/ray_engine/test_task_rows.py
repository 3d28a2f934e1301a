"""The rows of tasks: what their notes say, and what this process knows before their notes come."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import task_rows
from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts
from nbaccel.ray_engine.submission.submissions import CallFacts, Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views.snapshot import TaskRow

TASK = (1).to_bytes(24)


class Ref:
    """Whatever a weak reference can be made of."""


@pytest.mark.parametrize(
    ("raised", "workers", "state"),
    [
        ("KeyError: 'missing'", ["w"], "FAILED"),
        ("KeyError: 'missing'", [], "FAILED"),  # its process has ended too
        ("TaskCancelledError: Task was cancelled.", ["w"], "CANCELLED"),
        ("", ["w"], "RUNNING"),
    ],
)
def test_an_error_that_was_raised_here_is_known_before_its_task_says_that_it_ended(raised, workers, state):
    submissions, ref = Submissions(), Ref()
    submissions.note(TASK, CallFacts("train", TaskKind.TASK), "[1]", None, ref, b"cell")
    submissions.get(TASK).error = raised
    note = {"task_id": TASK.hex(), "name": "train", "kind": "task", "attempt": 0, "started_at": 1.0}
    note |= {"node_id": "n", "worker_id": "w", "pid": 7}
    tables = {"actors": [], "workers": dict.fromkeys(workers, 7)}
    here = SimpleNamespace(job_id="01000000")
    (row,) = task_rows.rows(SnapshotFacts(tables, {TASK.hex(): note}, {}, submissions, here, False), {"n"})
    assert (row.state, row.why) == (state, raised)


def test_tasks_are_counted_by_function_also_where_the_collector_has_forgotten_them():
    rows = [TaskRow("1", "train", "task", "RUNNING"), TaskRow("2", "load", "task", "PENDING_NODE_ASSIGNMENT")]
    rows += [TaskRow("3", "train", "task", "FINISHED", finished_at=2.0), TaskRow("4", "load", "task", "CANCELLED")]
    numbers = list(task_rows.numbers(rows, {"train": {"FINISHED": 98, "FAILED": 0}, "": {"FINISHED": 3}}))
    assert task_rows.counts(numbers) == {"FINISHED": 101, "RUNNING": 1, "PENDING_NODE_ASSIGNMENT": 1, "CANCELLED": 1}
    assert sorted(numbers)[-2:] == [("train", "FINISHED", 98), ("train", "RUNNING", 1)]
