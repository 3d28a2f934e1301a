"""What a ref, a list of refs, an actor or a placement group shows of itself."""

from __future__ import annotations

from dataclasses import dataclass

from nbaccel.notebook import blocks, reprs, static_tables
from nbaccel.views import task_lines
from nbaccel.views.explanations import Explanation
from nbaccel.views.snapshot import ActorRow, Runtime, Snapshot
from tests.notebook.levels import Reading


@dataclass
class _Id:
    hex: object


class _Ref:
    """As much of a ref as its HTML needs."""

    def __init__(self, task_id: str) -> None:
        self._id = task_id

    def task_id(self) -> _Id:
        return _Id(lambda: self._id)


def test_a_running_task_says_where_and_a_waiting_one_why(busy_snapshot: Snapshot) -> None:
    running, waiting = busy_snapshot.tasks
    running.cell, running.started_at = "[7] line 3", busy_snapshot.time - 8
    page = Reading(blocks.box([static_tables.tasks(busy_snapshot, task_lines.each([running, waiting]))]))
    assert page.rows[0] == ["Task", "State", "Devices", "Cell", "Started", "Took"]
    assert page.rows[1][:4] == ["train #t1 · pid 11", "● running", "GPU 1", "[7] line 3"]
    assert page.rows[1][5:] == ["8 s"]
    assert page.rows[2][:3] == ["infer #t2", "◌ waiting", "1 GPU"]
    assert page.rows[3:] == [["waits for 1 GPU; both held"]]


def test_an_actor_says_its_name_and_what_waits_for_it(busy_snapshot: Snapshot) -> None:
    row = ActorRow("a1", "Trainer", "ALIVE", name="main", device_ids={"GPU": ["0"]}, pid=7, pending_calls=3, restarts=1)
    page = Reading(static_tables.actors(busy_snapshot, [row]))
    assert page.rows[0] == ["Actor", "State", "Devices", "Cell", "Calls waiting", "Why"]
    assert page.rows[1] == ["Trainer “main” #a1 · pid 7", "● alive", "GPU 0", "", "3", "restarted 1 ×"]


def test_a_list_of_refs_counts_its_tasks_and_shows_the_first(busy_snapshot: Snapshot) -> None:
    page = Reading(reprs.refs_html([_Ref("t1"), _Ref("t2"), _Ref("long ago")], busy_snapshot))
    assert page.words.startswith("3 refs · 1 running · 1 waiting as of 20")
    assert [row[0] for row in page.rows[1:]] == ["train #t1 · pid 11", "infer #t2", "waits for 1 GPU; both held"]


def test_other_lists_are_left_alone() -> None:
    assert reprs.list_html([]) is None
    assert reprs.list_html([1, 2]) is None


def test_explanations_that_are_alike_are_one_row() -> None:
    waits = [
        Explanation(f"t{n}", "infer", "PENDING_NODE_ASSIGNMENT", "infer asks for 1 GPU", "1 GPU") for n in range(3)
    ]
    rows = Reading(reprs.list_html(list(waits)) or "").rows
    assert rows[1:] == [["infer × 3", "◌ waiting", "1 GPU", "asks for 1 GPU"]]


def test_bundles_that_are_alike_are_counted() -> None:
    row = {"name": "", "state": "CREATED", "strategy": "SPREAD", "bundles": {n: {"GPU": 1.0} for n in range(6)}}
    assert Reading(reprs.group_table(row)).rows[1][3] == "6 bundles: 1 GPU × 6"


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
