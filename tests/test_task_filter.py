"""Which tasks pass a filter: by state, cell, job and text, the newest first."""

from __future__ import annotations

import pytest

from nbaccel.views.snapshot import FunctionRow, TaskRow
from nbaccel.views.task_filter import TaskFilter, find

ROWS = [
    TaskRow("a" * 48, "train", "task", "RUNNING", 1, cell="[3] line 1", submitted_at=1.0),
    TaskRow("b" * 48, "train", "task", "FAILED", 2, cell="[3] line 2", submitted_at=2.0, why="ValueError: bad batch"),
    TaskRow("c" * 48, "infer", "task", "PENDING_ARGS_AVAIL", 1, cell="[30] line 1", submitted_at=3.0),
    TaskRow("d" * 48, "infer", "task", "FINISHED", 1, submitted_at=4.0, device_ids={"GPU": ["0"]}),
]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (TaskFilter(), "dcba"),
        (TaskFilter(states=["failed"]), "b"),
        (TaskFilter(states=["waiting", "RUNNING"]), "ca"),
        (TaskFilter(cell="3"), "ba"),
        (TaskFilter(cell="[3]", job=1), "a"),
        (TaskFilter(job=1), "dca"),
        (TaskFilter(text=" Bad "), "b"),
        (TaskFilter(text="gpu 0"), "d"),
        (TaskFilter(text="infer", states=["running"]), ""),
        (TaskFilter(function="train"), "ba"),
        (TaskFilter(function="other"), ""),
        (TaskFilter(by_state=True), "abcd"),
    ],
)
def test_a_task_is_found_by_what_it_is(wanted: TaskFilter, names: str) -> None:
    found = find(ROWS, wanted)
    assert "".join(row.task_id[0] for row in found.rows) == names
    assert found.total == len(names)


def test_a_limit_keeps_the_newest_and_counts_all() -> None:
    found = find(ROWS, TaskFilter(limit=2))
    assert [row.task_id[0] for row in found.rows] == ["d", "c"] and found.total == 4


def test_pages_follow_each_other_in_the_order_that_is_asked_for() -> None:
    pages = [find(ROWS, TaskFilter(limit=3, skip=skip, by_state=True)) for skip in (0, 3, 6)]
    assert [[row.task_id[0] for row in page.rows] for page in pages] == [["a", "b", "c"], ["d"], []]
    assert {page.total for page in pages} == {4}
    assert [row.task_id[0] for row in find(ROWS, TaskFilter(skip=2)).rows] == ["b", "a"]


def test_what_passes_is_counted_by_function() -> None:
    found = find(ROWS, TaskFilter(job=1, limit=1))
    assert found.functions == [FunctionRow("infer", waiting=1, finished=1), FunctionRow("train", running=1)]


def test_an_actor_that_is_made_is_found_by_the_words_of_its_row() -> None:
    made, other = (
        TaskRow("e" * 48, "Model.__init__", "actor", "RUNNING", 1),
        TaskRow("f" * 48, "Model", "task", "RUNNING", 1),
    )
    assert find([made, other], TaskFilter(text="model (starting)")).rows == [made]
