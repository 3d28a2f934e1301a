"""How many tasks each function has, as a snapshot says it."""

from __future__ import annotations

from nbaccel.views import task_lines
from nbaccel.views.snapshot import FunctionRow, TaskRow


def test_states_of_one_function_are_summed_in_the_words_of_people() -> None:
    numbers = [("train", "RUNNING", 2), ("train", "SUBMITTED_TO_WORKER", 1), ("train", "PENDING_ARGS_AVAIL", 4)]
    numbers += [("train", "FINISHED", 90), ("train", "FAILED", 2), ("train", "CANCELLED", 1)]
    (row,) = task_lines.rows_of_functions(numbers, [])
    assert row == FunctionRow("train", running=3, waiting=4, failed=2, cancelled=1, finished=90)
    assert row.total == 100


def test_functions_of_the_rows_come_first_and_then_those_with_the_most_tasks() -> None:
    many = [(f"f{number}", "FINISHED", number) for number in range(100)]
    shown = [TaskRow("1", "f3", "task", "FINISHED"), TaskRow("2", "a name", "task", "FINISHED", function="f1")]
    names = [row.name for row in task_lines.rows_of_functions(many, shown)]
    assert names[:4] == ["f3", "f1", "f99", "f98"]
    assert len(names) == task_lines.MOST_FUNCTIONS
    assert "f0" not in names  # it has no task


def test_the_calls_of_an_actor_are_those_of_its_class() -> None:
    assert task_lines.subject(TaskRow("1", "mine", "actor call", "RUNNING", function="Keeper.step")) == "Keeper"
    assert task_lines.subject(TaskRow("1", "Keeper.__init__", "actor creation", "RUNNING")) == "Keeper"
