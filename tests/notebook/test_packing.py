"""A large snapshot is sent by columns, small enough for a page that gets it at every change."""

from __future__ import annotations

import json

from nbaccel.notebook import drawn
from nbaccel.notebook.packing import packed
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, Holder, NodeRow, Runtime, Snapshot, TaskRow


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
        row.holders = [Holder("train", 1.0, f"{index * 7919:048x}", pid=28000 + index, cell="[12]", since=1e9 + index)]
        snapshot.devices.append(row)
    for number in range(running + ended):
        state = "RUNNING" if number < running else "FINISHED"
        task = TaskRow(f"{number * 7919:048x}", "train", "task", state, 1, {}, {"GPU": [str(number % devices)]})
        task.cell, task.pid, task.submitted_at, task.started_at = "[12]", 28000 + number, 1e9 + number, 1e9 + number
        task.finished_at = None if number < running else 1e9 + number + 3
        snapshot.tasks.append(task)
    snapshot.counts = {"RUNNING": running, "FINISHED": 10_000 - running}
    return snapshot


def test_eight_devices_and_twenty_tasks_are_at_most_eight_kilobytes() -> None:
    assert len(drawn.to_json(drawn.of_snapshot(example(8, 8, 12)))) <= 8 << 10


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
    states = packed([{"state": "a" if number % 2 else "b"} for number in range(6)])
    assert states == {"rows": 6, "of": {"state": [["b", "a"], [0, 1, 0, 1, 0, 1]]}}
