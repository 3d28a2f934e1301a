"""The lines of a table of tasks: what a person looks for comes first, and what is alike is one line."""

from __future__ import annotations

from nbaccel.views import task_lines
from nbaccel.views.snapshot import FunctionRow, Snapshot, TaskRow

NOW = 1_700_000_000.0
STATES = {"running": "RUNNING", "waiting": "PENDING_NODE_ASSIGNMENT"}


def row(number: int, state: str, name: str = "score", why: str = "") -> TaskRow:
    kept = STATES.get(state, state.upper())
    return TaskRow(f"{number:048x}", name, "task", kept, why=why, submitted_at=NOW - 1000 + number)


def test_running_failed_waiting_cancelled_finished_each_the_newest_first() -> None:
    states = ["finished", "waiting", "cancelled", "running", "failed", "running"]
    lines = task_lines.ordered([row(number, state, f"f{number}") for number, state in enumerate(states)])
    assert [line.first.name for line in lines] == ["f5", "f3", "f4", "f1", "f2", "f0"]


def test_waits_of_one_name_and_reason_are_one_line_with_the_longest_wait() -> None:
    waits = [row(number, "waiting", "infer", "infer waits for 1 GPU.") for number in range(3)]
    [alike, other] = task_lines.ordered([*waits, row(9, "waiting", "infer", "infer waits for 2 GPUs.")])[::-1]
    assert (alike.number, alike.first.task_id) == (3, waits[0].task_id)
    assert other.number == 1


def test_more_than_eight_of_a_function_are_one_line_that_counts_each_state() -> None:
    rows = [row(number, "finished") for number in range(5)] + [
        row(number, "failed", why="no") for number in range(5, 9)
    ]
    lines = task_lines.ordered([*rows, row(20, "finished", "other")])
    assert [(line.function, line.number) for line in lines] == [("score", 9), ("", 1)]
    assert lines[0].progress() == "5 of 9 · 4 failed"
    assert lines[0].counts() == {"failed": 4, "finished": 5}
    assert [line.number for line in task_lines.ordered(rows[:8])] == [1] * 8
    assert [line.number for line in task_lines.ordered(rows, by_function=False)] == [1] * 9


def test_where_tasks_may_be_left_out_a_line_tells_of_how_many_rows_it_speaks() -> None:
    rows = [row(number, "running") for number in range(2)] + [row(number, "failed") for number in range(2, 14)]
    done = [row(number, "finished") for number in range(14, 16)]
    [line] = task_lines.ordered([*rows, *done], is_partial=True)
    assert line.progress() == "of the newest 16: 2 running · 12 failed · 2 finished"
    [told] = task_lines.ordered(rows, functions=[FunctionRow("score", 2, 0, 12, 0, 86)], is_partial=True)
    assert told.progress() == "86 of 100 · 2 running · 12 failed"


def test_a_line_of_a_function_says_why_most_of_its_tasks_failed() -> None:
    rows = [row(number, "failed", why="ValueError: no" if number % 3 else "KeyError: 'x'") for number in range(12)]
    [line] = task_lines.ordered(rows)
    assert line.why() == "8 × ValueError: no · 4 × KeyError: 'x'"


def test_a_line_of_a_function_counts_no_reasons_where_some_of_its_rows_are_left_out() -> None:
    rows = [row(number, "waiting", why=f"score waits for 1 CPU. {why}.") for number, why in enumerate("BCAA")]
    for waiting, said in [(302, "A. · C. · other reasons"), (4, "2 × A. · 1 × C. · 1 for other reasons")]:
        [line] = task_lines.ordered(rows, functions=[FunctionRow("score", running=9, waiting=waiting)])
        assert line.why() == said


def test_the_text_table_says_how_many_a_line_stands_for(busy_snapshot: Snapshot) -> None:
    rows = [row(number, "waiting", "infer", "infer waits for 1 GPU. Busy.") for number in range(3)]
    table = task_lines.table(busy_snapshot, task_lines.ordered(rows))
    assert len(table.rows) == 1 and "infer × 3" in table.rows[0] and table.rows[0][-1] == "Busy."


def test_a_function_with_more_tasks_than_rows_says_how_far_all_of_them_are() -> None:
    counted = [FunctionRow("score", running=2, failed=1, finished=97), FunctionRow("load", finished=500)]
    lines = task_lines.ordered([row(1, "running"), row(2, "failed", why="no")], functions=counted)
    assert [line.progress() for line in lines] == ["97 of 100 · 2 running · 1 failed", "500 of 500"]
    assert [(line.name, line.number, line.why()) for line in lines] == [("score", 100, "1 × no"), ("load", 500, "")]
    few = task_lines.ordered([row(1, "running")], functions=[FunctionRow("score", running=1, finished=7)])
    assert [line.function for line in few] == [""]
    assert task_lines.ordered([], by_function=False, functions=counted) == []


def test_functions_that_go_on_are_told_before_larger_ones_that_are_over(busy_snapshot: Snapshot) -> None:
    busy_snapshot.functions = [FunctionRow("load", finished=500), FunctionRow("few", running=8)]
    busy_snapshot.functions += [FunctionRow("score", waiting=2, finished=90)]
    lines = task_lines.of_many(busy_snapshot)
    assert [f"{line.name} {line.progress()}" for line in lines] == ["score 90 of 92 · 2 waiting", "load 500 of 500"]


def test_a_line_without_a_row_is_drawn_as_text(busy_snapshot: Snapshot) -> None:
    lines = task_lines.ordered([], functions=[FunctionRow("load", finished=500)])
    [cells] = task_lines.table(busy_snapshot, lines).rows
    assert cells[1:3] == ("load × 500", "500 of 500")


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
