"""A large snapshot is sent by columns, small enough for a page that gets it at every change."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import drawn
from nbaccel.notebook.drawn import Packer, packed
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, Holder, NodeRow, Runtime, Snapshot, TaskRow
from tests.browser import sights

NOW = 1_795_176_964.811
NAMES = ("train_one_epoch", "evaluate_checkpoint", "tokenize_shard", "download", "Keeper.step", "write_embeddings")
CELLS = ("[12] line 14", "[13] line 2", "[14]", "[9] line 31")


def task_id(number: int) -> str:
    return f"9b9fa58bf929ef71cdc852a5{number:016x}00000001"


def unpacked(table: Any) -> list[dict[str, Any]]:
    """The rows again, as the page reads them."""
    rows: list[dict[str, Any]] = [dict(table.get("same", {})) for _ in range(table["rows"])]

    def fill(name: str, values: Any) -> None:
        rows_and_values = zip(rows, values, strict=True)
        [row.__setitem__(name, value) for row, value in rows_and_values if value not in (None, {}, [])]

    for name, values in table.get("each", {}).items():
        fill(name, values)
    for name, (distinct, places) in table.get("of", {}).items():
        fill(name, [distinct[place] for place in places])
    for name, (start, middles, end) in table.get("cut", {}).items():
        fill(name, [None if middle is None else start + middle + end for middle in middles])
    for name, inner in table.get("within", {}).items():
        fill(name, unpacked(inner))
    for name, column in table.get("lists", {}).items():
        ones = iter(unpacked(column["rows"]))
        fill(name, [[next(ones) for _ in range(size)] for size in column["sizes"]])
    return rows


def example(devices: int, running: int, ended: int) -> Snapshot:
    node = "5180ff6a4af162560e00b10be17dded949af4736cb6fddc56df75c76"
    snapshot = Snapshot(Runtime("local", "0.1.0", "3.11.7", pid=28217), 1, 1.0)
    snapshot.nodes = [NodeRow(node, "box", True, True, {"GPU": float(devices)}, {"GPU": 0.0})]
    for index in range(devices):
        row = DeviceRow(node, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100 80GB HBM3")
        row.memory_bytes, row.free = 80 << 30, 0.0
        row.metrics = DeviceMetrics(
            80.0 + index % 20, (40 << 30) + index, 80 << 30, 61.0, 512.0 + index, sampled_at=1.0
        )
        name, cell = NAMES[index % len(NAMES)], CELLS[index % len(CELLS)]
        row.holders = [Holder(name, 1.0, task_id(index), pid=28000 + index, cell=cell, since=NOW + 7.618 * index)]
        snapshot.devices.append(row)
    for number in range(running + ended):
        state = "RUNNING" if number < running else "FINISHED"
        name, cell = NAMES[number % len(NAMES)], CELLS[number % len(CELLS)]
        task = TaskRow(task_id(number), name, "task", state, 1, {}, {"GPU": [str(number % devices)]})
        task.cell, task.pid, task.submitted_at, task.started_at = cell, 28000 + number, NOW, NOW + 7.618 * number
        task.finished_at = None if number < running else NOW + 9 * number
        task.peak_memory_bytes = (number + 1) * 1_234_567_891
        snapshot.tasks.append(task)
    snapshot.counts = {"RUNNING": running, "FINISHED": 10_000 - running}
    return snapshot


def test_eight_devices_and_twenty_tasks_are_at_most_eight_kilobytes() -> None:
    assert len(drawn.to_json(drawn.of_snapshot(example(8, 8, 12)))) <= 8 << 10


def test_nothing_of_eight_devices_and_twenty_tasks_is_lost_on_the_way() -> None:
    made = drawn.of_snapshot(example(8, 8, 12))
    plain, sent = json.loads(msgspec.json.encode(made)), json.loads(drawn.to_json(made))
    assert unpacked(sent["tasks"]) == plain["tasks"] and unpacked(sent["devices"]) == plain["devices"]
    assert {**sent, "tasks": 0, "devices": 0} == {**plain, "tasks": 0, "devices": 0}


@pytest.mark.parametrize("condition", sights.CONDITIONS)
@pytest.mark.parametrize(("devices", "limit"), [(2, 8 << 10), (8, 8 << 10), (64, 16 << 10)])
def test_the_clusters_to_look_at_are_within_the_limits(devices: int, limit: int, condition: str) -> None:
    made = drawn.of_snapshot(sights.snapshot(devices, condition))
    text = drawn.to_json(made)
    assert len(text.encode()) <= limit
    tasks = json.loads(text).get("tasks", {"rows": 0})
    assert devices == 64 or tasks["rows"] == len(made.tasks), "no row gives way"
    assert devices < 64 or condition == "empty" or tasks["rows"] >= 64, "as many rows as there are devices"


def test_sixty_four_devices_and_ten_thousand_tasks_are_at_most_sixteen_kilobytes() -> None:
    sent = json.loads(drawn.to_json(drawn.of_snapshot(example(64, 50, 90))))
    assert len(json.dumps(sent, separators=(",", ":"))) <= 16 << 10
    assert sent["devices"]["rows"] == 64 and sent["counts"]["FINISHED"] == 9_950
    assert sent["tasks"]["rows"] >= 50, "those that run are the last to give way"


def test_rows_that_were_asked_for_are_all_sent() -> None:
    assert json.loads(drawn.to_json(drawn.of_snapshot(example(64, 50, 900))))["tasks"]["rows"] == 950


def test_rows_become_columns_of_what_is_the_same_of_a_few_and_of_each() -> None:
    rows = [
        {"resource": "GPU", "id": "0", "metrics": {"watts": 1}, "holders": [{"name": "f", "pid": 7}]},
        {"resource": "GPU", "id": "1", "free": 0},
        {"resource": "GPU", "id": "2", "free": 0, "metrics": {"watts": 3}, "holders": [{"name": "f", "pid": 8}]},
    ]
    assert packed(rows) == {
        "rows": 3,
        "same": {"resource": "GPU"},
        "each": {"id": ["0", "1", "2"], "free": [None, 0, 0]},
        "within": {"metrics": {"rows": 3, "each": {"watts": [1, None, 3]}}},
        "lists": {"holders": {"sizes": [1, 0, 1], "rows": {"rows": 2, "same": {"name": "f"}, "each": {"pid": [7, 8]}}}},
    }
    ids = [{"id": f"5180ff6a{number:02x}00000001", "of": None if number else "5180ff6a"} for number in range(3)]
    assert packed(ids)["cut"] == {
        "id": ["5180ff6a0", ["0", "1", "2"], "00000001"],
        "of": ["5180ff6a", ["", None, None], ""],
    }
    states = packed([{"state": "a" if number % 2 else "b"} for number in range(6)])
    assert states == {"rows": 6, "of": {"state": [["b", "a"], [0, 1, 0, 1, 0, 1]]}}


def test_a_table_that_is_packed_again_is_as_if_it_were_packed_anew() -> None:
    packer = Packer()
    rows: list[dict[str, Any]] = [
        {"id": task_id(number), "state": "RUNNING", "on": {"GPU": [str(number)]}, "held": [{"by": "f", "n": number}]}
        for number in range(12)
    ]
    changes: list[dict[str, Any]] = [
        {}, {"state": "FINISHED"}, {"on": {"GPU": ["7"], "CPU": ["1"]}}, {"held": []}, {"held": [{"by": "g"}]},
        {"id": "another"}, {"peak": 7}, {"state": None}, {"on": None},
    ]  # fmt: skip
    for number, change in enumerate(changes):
        rows = [{**row, **change} if at == number else row for at, row in enumerate(rows)]
        assert packer.packed(rows) == packed(rows), change
    for fewer in (rows[:5], rows[:1], [], rows):
        assert packer.packed(fewer) == packed(fewer)


def test_columns_that_stay_the_same_are_not_packed_again() -> None:
    packer = Packer()
    rows = [{"id": task_id(number), "took": number} for number in range(9)]
    first = packer.packed(rows)
    second = packer.packed([{**row, "took": 0.5 * row["took"]} for row in rows])
    assert second["cut"]["id"] is first["cut"]["id"]
    assert second["each"]["took"][8] == 4


def test_one_writer_says_of_each_snapshot_what_it_would_say_of_it_alone() -> None:
    writer, made = drawn.SnapshotWriter(), example(8, 8, 12)
    for number in range(4):
        made.tasks[number].state, made.devices[number].holders = "FINISHED", []
        shown = drawn.of_snapshot(made)
        assert writer.json(shown) == drawn.to_json(shown)
    few = drawn.of_snapshot(example(1, 1, 0))
    assert isinstance(json.loads(writer.json(few))["devices"], list)
