"""What a ref, a list of refs, an actor or a placement group shows of itself."""

from __future__ import annotations

from dataclasses import dataclass

from nbaccel.notebook import parts, reprs, static_tables
from nbaccel.views import task_lines
from nbaccel.views.explanations import Explanation
from nbaccel.views.snapshot import ActorRow, Snapshot
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
    page = Reading(parts.box([static_tables.tasks(busy_snapshot, task_lines.each([running, waiting]))]))
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
