"""The rows of tasks: what their notes say, and what this process knows before their notes come."""

from __future__ import annotations

import time
import weakref
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import snapshot_building
from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts
from nbaccel.ray_engine.submission.submissions import CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views.snapshot import TaskRow

TASK = (1).to_bytes(24)


class Ref:
    """Whatever a weak reference can be made of; Ray has no ref for it."""

    _inner = None


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
    about = CallFacts("train", TaskKind.TASK)
    submissions.note(Submission(TASK, about, "[1]", 0.0, None, weakref.ref(ref), b"cell"))
    submissions.get(TASK).error = raised
    note = {"task_id": TASK.hex(), "name": "train", "kind": "task", "attempt": 0, "started_at": 1.0}
    note |= {"node_id": "n", "worker_id": "w", "pid": 7}
    tables = {"actors": [], "workers": dict.fromkeys(workers, 7)}
    here = SimpleNamespace(job_id="01000000")
    (row,) = snapshot_building.rows(SnapshotFacts(tables, {TASK.hex(): note}, {}, submissions, here, False), {"n"})
    assert (row.state, row.why) == (state, raised)


@pytest.mark.parametrize("begun", [{}, {"attempt": 0, "started_at": 1.0, "node_id": "n", "worker_id": "w", "pid": 7}])
@pytest.mark.parametrize("here", [True, False], ids=["submitted here", "submitted by a task"])
def test_a_row_has_the_facts_of_its_task_whoever_submitted_it(begun, here):
    submissions, ref = Submissions(), Ref()
    about = CallFacts("Trainer.step", TaskKind.ACTOR_CALL)
    note = {"task_id": TASK.hex(), "submitted_at": time.time(), **(begun if here else about.as_row() | begun)}
    if here:
        submissions.note(Submission(TASK, about, "[1]", 0.0, None, weakref.ref(ref), b"cell"))
        note |= {"kind": "actor call"} if begun else {}
    tables = {"actors": [], "workers": {"w": 7}}
    known = SnapshotFacts(tables, {TASK.hex(): note}, {}, submissions, SimpleNamespace(job_id="01000000"), False)
    (row,) = snapshot_building.rows(known, {"n"})
    assert {name: getattr(row, name) for name in about.as_row()} == about.as_row()
    assert row.state == ("RUNNING" if begun else "SUBMITTED_TO_WORKER")


@pytest.mark.parametrize(
    ("here", "state"),
    [
        ({}, "RUNNING"),
        ({TASK: ""}, "FINISHED"),
        ({TASK: "TASK_CANCELLED"}, "CANCELLED"),
        ({TASK: "WORKER_DIED"}, "FAILED"),
    ],
)
def test_a_task_whose_value_is_here_runs_no_more_though_it_has_only_said_that_it_began(monkeypatch, here, state):
    monkeypatch.setattr(snapshot_building, "_ready", lambda asked: {id: here[id] for id in here if asked})
    submissions, ref = Submissions(), Ref()
    about = CallFacts("train", TaskKind.TASK)
    submissions.note(Submission(TASK, about, "[1]", 0.0, None, weakref.ref(ref), b"cell"))
    note = {"task_id": TASK.hex(), "name": "train", "kind": "task", "attempt": 0, "started_at": 1.0}
    note |= {"node_id": "n", "worker_id": "w", "pid": 7}
    tables = {"actors": [], "workers": {"w": 7}}
    known = SnapshotFacts(tables, {TASK.hex(): note}, {}, submissions, SimpleNamespace(job_id="01000000"), False)
    (row,) = snapshot_building.rows(known, {"n"})
    assert (row.state, bool(row.why)) == (state, state in ("FAILED", "CANCELLED"))


def test_tasks_are_counted_by_function_also_where_the_collector_has_forgotten_them():
    rows = [TaskRow("1", "train", "task", "RUNNING"), TaskRow("2", "load", "task", "PENDING_NODE_ASSIGNMENT")]
    rows += [TaskRow("3", "train", "task", "FINISHED", finished_at=2.0), TaskRow("4", "load", "task", "CANCELLED")]
    numbers = list(snapshot_building.numbers_of(rows, {"train": {"FINISHED": 98, "FAILED": 0}, "": {"FINISHED": 3}}))
    assert snapshot_building.counts_of(numbers) == {
        "FINISHED": 101,
        "RUNNING": 1,
        "PENDING_NODE_ASSIGNMENT": 1,
        "CANCELLED": 1,
    }
    assert sorted(numbers)[-2:] == [("train", "FINISHED", 98), ("train", "RUNNING", 1)]


def test_a_long_run_keeps_its_row_however_many_short_ones_end_after_it():
    def ended(number, took_s):
        return TaskRow(str(number), "f", "task", "FINISHED", started_at=number, finished_at=number + took_s)

    rows = [ended(0, 61), *(ended(100 + number, 1) for number in range(snapshot_building.MOST_ENDED + 5))]
    shown = snapshot_building.shown_rows(rows)
    assert shown[0].task_id == "0" and len(shown) == snapshot_building.MOST_ENDED + 1
    notes = [{"task_id": row.task_id, "started_at": row.started_at, "ended_at": row.finished_at} for row in rows]
    known = SimpleNamespace(notes={note["task_id"]: note for note in notes}, more_rows=0)
    assert next(iter(snapshot_building._worth_a_row(known)))["task_id"] == "0"
