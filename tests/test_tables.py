"""Rows and words: what a cell of each table says."""

from __future__ import annotations

import json

import msgspec
import pytest

from nbaccel.notebook import card, publishing
from nbaccel.views import tables, task_lines, wording
from nbaccel.views.snapshot import (
    Alert,
    DeviceMetrics,
    DeviceRow,
    FunctionRow,
    Holder,
    NodeRow,
    NodeTypeRow,
    Snapshot,
    TaskRow,
)


@pytest.mark.parametrize(
    ("quantity", "said"), [(1.0, "1"), (0.25, "0.25"), (0.1 + 0.2, "0.3"), (0.0, "0"), (100, "100")]
)
def test_amounts_are_said_without_noise(quantity: float, said: str) -> None:
    assert wording.amount(quantity) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.9, "59 s"), (120, "2 min"), (192, "3 min 12 s"), (7200, "2 h"), (7500, "2 h 05 min")],
)
def test_ages_are_said_as_people_do(seconds: float, said: str) -> None:
    assert wording.age(seconds) == said


@pytest.mark.parametrize(("size", "said"), [(None, "unknown"), (0, "0 B"), (1536, "1.5 KiB"), (80 << 30, "80 GiB")])
def test_an_unknown_size_is_not_zero(size: int | None, said: str) -> None:
    assert wording.size(size) == said


def _device(**facts: object) -> DeviceRow:
    return DeviceRow("n1", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "real", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (_device(), "○ free"),
        (_device(free=0.0, holders=[Holder("f", 1.0)]), "● held"),
        (_device(free=0.5, holders=[Holder("f", 0.5)]), "◐ shared"),
        (_device(free=0.0, free_reason="held by b.ipynb, pid 9"), "◼ taken"),
        (_device(offered=False), "– not offered"),
    ],
)
def test_a_device_state_is_a_sign_and_a_word(device: DeviceRow, said: str) -> None:
    assert tables.device_state(device) == said


def test_a_device_held_by_another_head_names_it(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = [_device(free=0.0, free_reason="held by notebook b.ipynb, pid 9")]
    assert "held by notebook b.ipynb, pid 9" in tables.as_text(tables.devices(busy_snapshot))


def test_the_node_is_named_only_where_there_are_several(busy_snapshot: Snapshot) -> None:
    assert "Node" not in tables.devices(busy_snapshot).columns
    busy_snapshot.nodes.append(NodeRow("n2", "node-2"))
    busy_snapshot.devices[1].node_id = "n2"
    assert [row[0] for row in tables.devices(busy_snapshot).rows] == ["localhost", "node-2"]


def test_cancelled_tasks_are_counted_apart_from_failed_ones(busy_snapshot: Snapshot) -> None:
    busy_snapshot.counts = {"FAILED": 2, "CANCELLED": 3, "RUNNING": 1}
    assert tables.task_counts(busy_snapshot) == "1 running · 2 failed · 3 cancelled"
    busy_snapshot.tasks = [TaskRow("t3", "train", "task", "CANCELLED", why="train was cancelled.")]
    assert "cancelled" in tables.as_text(task_lines.table(busy_snapshot, task_lines.each(busy_snapshot.tasks)))
    assert tables.waiting(busy_snapshot) == []


def test_devices_that_are_not_offered_are_shown_when_asked_for(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[1].offered = False
    assert len(tables.devices(busy_snapshot).rows) == 1
    assert len(tables.devices(busy_snapshot, everything=True).rows) == 2


def test_columns_stay_aligned_under_wide_characters() -> None:
    text = tables.as_text(tables.Table("", ("Name", "State"), [("训练", "running"), ("f", "waiting")]))
    assert text.splitlines() == ["Name  State", "训练  running", "f     waiting"]


def test_dead_nodes_are_not_counted_as_free(busy_snapshot: Snapshot) -> None:
    busy_snapshot.nodes.append(NodeRow("n2", "node-2", alive=False, totals={"CPU": 8}, available={"CPU": 8}))
    assert tables.resources(busy_snapshot) == "CPU 1 of 2 free · GPU 0.5 of 2 free"
    assert tables.beside_busy(busy_snapshot) == "1 of 2 CPUs busy · 1 shared GPU has 0.5 free"
    busy_snapshot.devices.clear()
    assert tables.beside_busy(busy_snapshot) == "1.5 of 2 GPUs busy", "the first line says the CPUs"


def test_nobody_holds_or_measures_a_device_whose_node_has_gone(busy_snapshot: Snapshot) -> None:
    busy_snapshot.nodes[0].alive = False
    busy_snapshot.devices[0].metrics = DeviceMetrics(83.0)
    shown = tables.devices(busy_snapshot)
    assert [(row[2], row[-1]) for row in shown.rows] == [("✕ gone", "its node has gone")] * 2
    assert all(row.metrics is None for row in tables.device_rows(busy_snapshot)), "its last load is not that of now"
    assert tables.beside_busy(busy_snapshot) == "" and tables.busy(busy_snapshot) == []


@pytest.mark.parametrize(
    ("id", "short"),
    [
        ("1177f5541e615d2539bdef08000000000000001400000001", "1177-20"),
        ("8849b62d89cb30a3ffffffffffffffffffffffff01000000", "8849b62d89cb"),  # a task on Ray
        ("ffffffffffffffffdf2a57569aeec8517e2d0c3101000000", "df2a57569aee"),  # what makes an actor there
    ],
)
def test_short_ids_of_different_tasks_differ(id: str, short: str) -> None:
    assert wording.short_id(id) == short


def test_a_task_says_how_far_it_is_and_how_long_the_rest_takes(busy_snapshot: Snapshot) -> None:
    row, now = busy_snapshot.tasks[0], busy_snapshot.time
    row.started_at, row.progress = now - 60, (25, 100)
    assert tables.took(row, now) == "1 min · 25 % · 3 min left"
    row.finished_at = now - 59.6
    assert tables.took(row, now) == "0.4 s"
    waiting = busy_snapshot.tasks[1]
    waiting.submitted_at = now - 5
    assert (tables.started(waiting, now), tables.took(waiting, now)) == ("", "waits 5 s")


def test_the_first_line_counts_devices_or_cpus_where_there_are_none(busy_snapshot: Snapshot) -> None:
    assert tables.first_line(busy_snapshot) == "2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished"
    busy_snapshot.devices, busy_snapshot.counts = [], {}
    assert tables.first_line(busy_snapshot) == "1 of 2 CPUs busy · no task yet"


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("infer (cell [4] line 2 of b.ipynb) waits for 0.5 GPU. Both GPUs are busy: a.", "Both GPUs are busy: a."),
        (
            "infer asks for 9 GPUs, but no.",
            "asks for 9 GPUs, but no.",
        ),
        ("infer waits for 2 argument(s) that are not ready yet.", "waits for 2 argument(s) that are not ready yet."),
        ("ValueError: no", "ValueError: no"),
    ],
)
def test_a_rows_reason_leaves_out_what_the_row_says_already(why: str, said: str) -> None:
    row = TaskRow("a", "infer", "task", "PENDING_NODE_ASSIGNMENT", cell="[4] line 2", why=why)
    assert tables.why_words(row) == said


def test_what_an_alert_says_can_never_start_is_not_said_once_more(busy_snapshot: Snapshot) -> None:
    row = TaskRow("n", "big", "task", "PENDING_NODE_ASSIGNMENT", why="big asks for 9 GPUs, but this machine has 2")
    busy_snapshot.tasks += [row, msgspec.structs.replace(row, task_id="m")]
    alert = Alert("infeasible", "big asks for 9 GPUs, but this machine has 2.", 1.0, task_id="n")
    assert "big" in [each.name for each in task_lines.untold(busy_snapshot, [])]
    assert "big" not in [each.name for each in task_lines.untold(busy_snapshot, [alert])]


def test_the_number_of_waiting_tasks_is_never_that_of_their_rows(busy_snapshot: Snapshot) -> None:
    row = TaskRow("w0", "w", "task", "PENDING_NODE_ASSIGNMENT", demand={"GPU": 1.0}, why="w waits", submitted_at=1.0)
    busy_snapshot.tasks = [msgspec.structs.replace(row, task_id=f"w{number}") for number in range(20)]
    busy_snapshot.functions = [FunctionRow("w", waiting=38), FunctionRow("z", waiting=40)]
    busy_snapshot.counts = {"PENDING_NODE_ASSIGNMENT": 78}
    both = task_lines.of_snapshot(busy_snapshot)
    assert [(each.many, each.name) for each in both] == [("× 40 ", "z"), ("× 38 ", "w")]
    assert [task_lines.others(busy_snapshot, both[:shown]) for shown in (0, 1, 2)] == [78, 38, 0]
    busy_snapshot.tasks[0].demand = {"GPU": 2.0}  # nobody has counted how the 38 divide
    some = task_lines.of_snapshot(busy_snapshot)
    assert [each.many for each in some] == ["× 40 ", "some of 38 ", "some of 38 "]
    assert task_lines.others(busy_snapshot, some[1:2]) == 40
    assert some[0].sentence() == "× 40 z: they are behind others in their line"
    busy_snapshot.alerts = []
    assert card.text(busy_snapshot).endswith("◌ × 40 z waits: they are behind others in their line · and 38 more")


def test_only_a_task_that_waits_is_said_to_wait() -> None:
    """What was handed to a worker is running, though its start has not been told yet."""
    row = TaskRow("a", "infer", "task", "SUBMITTED_TO_WORKER", submitted_at=10.0)
    assert tables.state_word(row.state) == "running" and tables.took(row, 15.0) == ""
    again = TaskRow("b", "infer", "task", "PENDING_NODE_ASSIGNMENT", submitted_at=10.0, started_at=12.0)
    assert tables.took(again, 15.0) == "waits 5 s"


def test_a_cluster_that_can_get_devices_is_not_advised_to_count_logical_ones(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = []
    assert tables.devices(busy_snapshot).empty.endswith(tables.NO_DEVICE)
    busy_snapshot.node_types = [NodeTypeRow("cpu", resources={"CPU": 8.0}), NodeTypeRow("gpu", resources={"GPU": 4.0})]
    said = "No accelerator. A node of the type gpu (4 GPU) comes when work asks for it."
    assert tables.devices(busy_snapshot).empty == said and "num_gpus=2" not in card.html(busy_snapshot)
    assert json.loads(publishing.to_json(publishing.of_snapshot(busy_snapshot)))["node_types"][1]["name"] == "gpu"
