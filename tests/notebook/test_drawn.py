"""What the cockpit gets of a snapshot is small, whole where it counts, and equal where nothing shows a difference."""

from __future__ import annotations

import msgspec
import pytest

from nbaccel.notebook import drawn
from nbaccel.views.palette import HUES, usual_hue
from nbaccel.views.snapshot import (
    DeviceMetrics,
    DeviceRow,
    FunctionRow,
    Holder,
    JobRow,
    NodeRow,
    Runtime,
    Snapshot,
    TaskRow,
)
from nbaccel.views.task_filter import FoundTasks
from tests.notebook.test_packing import unpacked

NOW = 1_795_176_964.8109164


def _id(number: int) -> str:
    return f"9b9fa58bf929ef71cdc852a5{number:016x}00000001"


@pytest.fixture
def eight_devices() -> Snapshot:
    """Eight measured devices, each held by one of twenty tasks; all tasks come from cells."""
    node = "5180ff6a4af162560e00b10be17dded949af4736cb6fddc56df75c76"
    snapshot = Snapshot(Runtime("local", "0.1.0", "3.11.7", pid=28217, session="s", log_dir="/tmp/x"), 812, NOW)
    snapshot.nodes = [NodeRow(node, "vm", True, True, {"CPU": 64, "GPU": 8, "memory": 1e12}, {"CPU": 56, "GPU": 0})]
    for index in range(8):
        device = DeviceRow(
            node, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100 80GB HBM3"
        )
        device.memory_bytes, device.free = 85_899_345_920, 0.0
        device.holders = [Holder("train_one_epoch", 1.0, _id(index), pid=28000 + index, cell="[12] line 14", since=NOW)]
        device.metrics = DeviceMetrics(
            83.4, 44_023_414_784, 85_899_345_920, 61.0, 512.25, [(28000, 9)], {"x": "y"}, NOW
        )
        snapshot.devices.append(device)
    for number in range(20):
        task = TaskRow(_id(number), "train_one_epoch", "task", "RUNNING", 1, {"CPU": 1.0, "GPU": 1.0}, node_id=node)
        task.cell, task.submitted_at = "[12] line 14", NOW
        if number < 8:
            task.device_ids, task.pid, task.started_at, task.worker_id = {"GPU": [str(number)]}, 28000, NOW, node
        else:
            task.state = "PENDING_NODE_ASSIGNMENT"
            task.why = "train_one_epoch asks for 1 GPU: 0 of 8 GPUs are free; held by " + "task train (GPU 1), " * 10
        snapshot.tasks.append(task)
    snapshot.counts = {"RUNNING": 8, "PENDING_NODE_ASSIGNMENT": 12, "FINISHED": 0}
    return snapshot


def test_eight_devices_and_twenty_tasks_stay_under_eight_kilobytes(eight_devices: Snapshot) -> None:
    assert len(drawn.to_json(drawn.of_snapshot(eight_devices))) < 8192


def test_what_is_drawn_is_all_there(eight_devices: Snapshot) -> None:
    message = msgspec.json.decode(drawn.to_json(drawn.of_snapshot(eight_devices)))
    device, task, waiting = unpacked(message["devices"])[3], *(unpacked(message["tasks"])[at] for at in (3, 19))
    assert device["holders"][0]["task_id"] == _id(3) == task["task_id"]
    assert device["metrics"]["utilisation_percent"] == 83.4
    assert task["device_ids"] == {"GPU": ["3"]}
    assert message["reasons"][waiting["reason"]] == eight_devices.tasks[19].why
    assert message["counts"] == {"RUNNING": 8, "PENDING_NODE_ASSIGNMENT": 12}


def test_nothing_secret_is_saved_with_a_notebook(eight_devices: Snapshot) -> None:
    text = drawn.to_json(drawn.of_snapshot(eight_devices))
    assert "/tmp/x" not in text and "log_dir" not in text and "address" not in text


def test_number_time_and_noise_of_sensors_make_no_difference(eight_devices: Snapshot) -> None:
    before = drawn.difference_key(drawn.of_snapshot(eight_devices))
    eight_devices.seq, eight_devices.time = 813, NOW + 60
    metrics = eight_devices.devices[0].metrics
    assert metrics is not None and metrics.memory_used_bytes is not None
    metrics.temperature_celsius, metrics.power_watts, metrics.sampled_at = 62.0, 498.0, NOW + 60
    metrics.memory_used_bytes += 4096
    assert drawn.difference_key(drawn.of_snapshot(eight_devices)) == before
    metrics.utilisation_percent = 70.0
    assert drawn.difference_key(drawn.of_snapshot(eight_devices)) != before


def test_rows_that_are_kept_from_the_snapshot_before_are_those_that_would_be_drawn_anew(
    eight_devices: Snapshot,
) -> None:
    rows, states = drawn.DrawnRows(), ("RUNNING", "PENDING_NODE_ASSIGNMENT", "FINISHED")
    for number in range(30):
        task = eight_devices.tasks[number * 7 % 20]
        task.state, task.pid = states[number % 3], number
        task.why = f"reason {number % 4}" if number % 3 == 1 else ""
        task.job = number % 2
        eight_devices.jobs = [JobRow(1, "b.ipynb")] if number % 10 > 5 else []
        eight_devices.tasks.append(eight_devices.tasks.pop(0))
        if number == 20:
            eight_devices.nodes.append(NodeRow("n2", "other"))
        assert drawn.of_snapshot(eight_devices, rows) == drawn.of_snapshot(eight_devices), number


def test_several_nodes_keep_their_ids_on_devices_and_tasks(eight_devices: Snapshot) -> None:
    eight_devices.nodes.append(NodeRow("n2", "other"))
    snapshot = drawn.of_snapshot(eight_devices)
    assert snapshot.devices[0].node_id == snapshot.tasks[0].node_id == eight_devices.nodes[0].node_id


def test_a_snapshot_with_fewer_rows_keeps_those_that_wait_beside_those_that_run() -> None:
    states = ["RUNNING"] * 190 + ["PENDING_NODE_ASSIGNMENT"] * 5 + ["FINISHED"] * 5
    left = [task["state"] for task in drawn._without([{"state": state} for state in states], 150)]
    assert (left.count("RUNNING"), left.count("PENDING_NODE_ASSIGNMENT"), left.count("FINISHED")) == (45, 5, 0)


def test_functions_with_many_tasks_are_told_with_the_hue_that_they_have(eight_devices: Snapshot) -> None:
    many = FunctionRow("train_one_epoch", running=8, waiting=12, finished=400)
    eight_devices.functions = [many, FunctionRow("lone", finished=8)]
    message = msgspec.json.decode(drawn.to_json(drawn.of_snapshot(eight_devices)))
    assert message["functions"] == [{"name": "train_one_epoch", "running": 8, "waiting": 12, "finished": 400}]
    names = ["kept", *(f"f{number}" for number in range(8))]
    eight_devices.functions = [FunctionRow(name, finished=9) for name in names]
    hues = drawn.of_snapshot(eight_devices).hues
    assert {name: hues.get(name, usual_hue(name)) for name in names} == {name: HUES.of(name) for name in names}


def test_what_was_found_says_how_many_of_each_function_pass() -> None:
    found = FoundTasks([], 30, [FunctionRow("shard", failed=30), FunctionRow("lone", failed=1)])
    assert drawn.of_found(found, "k", 1).functions == [drawn.DrawnFunction("shard", failed=30)]


def test_rows_of_long_runs_are_left_out_after_those_of_short_ones() -> None:
    ended = [{"state": "FINISHED", "started_at": 100.0, "finished_at": 100.0 + took} for took in (1, 90, 2, 70, 3)]
    ended.append({"state": "CANCELLED", "finished_at": 190.0})  # it never ran
    left = drawn._without([{"state": "RUNNING", "started_at": 9.0}, *ended], 4)
    assert [task.get("finished_at") for task in left] == [None, 190.0, 170.0]
