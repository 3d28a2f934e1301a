"""Why something waits, as a table: each fact once."""

from __future__ import annotations

from nbaccel.notebook import reprs
from nbaccel.views.explanations import Explanation
from nbaccel.views.snapshot import Runtime, Snapshot
from tests.notebook.levels import Reading

BUSY = "Both GPUs are busy: train on GPU 0 (cell [3], 12 s)."


def test_a_row_says_name_cell_and_demand_once() -> None:
    sentence = f"infer (cell [4] line 2 of b.ipynb) waits for 1 GPU. {BUSY}"
    waits = Explanation("ab" * 24, "infer", "PENDING_NODE_ASSIGNMENT", sentence, "1 GPU")
    page = Reading(reprs.explanations([waits]))
    assert page.rows[0] == ["Task", "State", "Asks for", "Cell", "Why"]
    assert page.rows[1][1:] == ["◌ waiting", "1 GPU", "[4] line 2 of b.ipynb", BUSY]
    assert page.words.count("infer") == 1


def test_what_has_no_cell_has_no_column_for_it() -> None:
    runs = Explanation("ab" * 24, "infer", "RUNNING", "infer runs.", "1 GPU")
    head, row = Reading(reprs.explanations([runs])).rows
    assert head == ["Task", "State", "Asks for", "Why"] and row[1:] == ["● running", "1 GPU", "infer runs."]


def test_what_is_left_out_of_many_that_wait_is_told() -> None:
    waits = [Explanation(f"{number:048x}", "shard", "PENDING_NODE_ASSIGNMENT", BUSY, "1 CPU") for number in range(50)]
    group = Explanation("cd" * 18, "group", "PENDING", BUSY, "2 GPUs")
    snapshot = Snapshot(Runtime("local", "0", "3"), 1, 0.0)
    snapshot.counts = {"PENDING_NODE_ASSIGNMENT": 1_271, "PENDING_ARGS_AVAIL": 14, "RUNNING": 16}
    assert reprs.left_out(snapshot, [*waits, group]) == "These are 50 of 1,285 tasks that wait."
    snapshot.counts = {"PENDING_NODE_ASSIGNMENT": 50, "RUNNING": 16}
    assert reprs.left_out(snapshot, [*waits, group]) == ""


def test_where_nothing_waits_a_line_says_what_would() -> None:
    page = Reading(reprs.explanations([]))
    assert page.words.startswith("No task waits.") and "code" in page.tags
