"""A snapshot goes to the pages when somebody looks and when it looks different; otherwise nothing is sent."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import publishing
from nbaccel.notebook.publishing import PageSnapshot, Publisher
from nbaccel.views import experiment_snapshot, run_snapshot
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.palette import HUES, usual_hue
from nbaccel.views.record_book import RecordBook
from nbaccel.views.run_snapshot import Curve, RunSnapshot
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, FunctionRow, Holder, NodeRow, Runtime, Snapshot, TaskRow


class Engine:
    """Remembers who watches."""

    def __init__(self) -> None:
        self.callback: Callable[[Snapshot | None], None] | None = None
        self.rows: int | None = None

    def watch(self, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, rows: int = 0) -> None:
        self.callback = callback
        self.rows = rows if callback is not None else None

    def push(self, snapshot: Snapshot | None) -> None:
        assert self.callback is not None
        self.callback(copy.deepcopy(snapshot))


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def publisher(sent: list[str]) -> Publisher:
    return Publisher(sent.append)


def test_a_display_is_sent_the_snapshot_of_now_and_is_watched_for(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    assert len(sent) == 1
    assert engine.rows == 0


def test_the_same_snapshot_is_not_sent_twice(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    busy_snapshot.seq, busy_snapshot.time = 9, busy_snapshot.time + 5
    engine.push(busy_snapshot)
    assert len(sent) == 1
    busy_snapshot.tasks[0].state = "FINISHED"
    engine.push(busy_snapshot)
    assert len(sent) == 2


def test_each_snapshot_that_comes_is_kept(sent: list[str], busy_snapshot: Snapshot) -> None:
    kept: list[int] = []
    publisher, engine = Publisher(sent.append, lambda snapshot: kept.append(snapshot.seq)), Engine()
    publisher.follow(engine, busy_snapshot)
    for busy_snapshot.seq in (7, 8):
        engine.push(busy_snapshot)
    engine.push(None)
    assert kept == [7, 8]


def test_without_a_visible_view_nothing_is_watched(publisher: Publisher, busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.seen("one", 0)
    publisher.seen("two", 1000)
    assert engine.rows == 1000
    publisher.hidden("two")
    assert engine.rows == 0
    publisher.hidden("one")
    assert engine.callback is None
    publisher.seen("one", 0)
    assert engine.callback is not None


def test_a_view_that_was_displayed_counts_until_it_speaks(publisher: Publisher, busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.hidden("scrolled away at once")
    assert engine.callback is None


def test_measurements_alone_are_no_news_while_nothing_runs(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    busy_snapshot.counts = {"FINISHED": 40}
    for device in busy_snapshot.devices:
        device.holders = []
    publisher.follow(engine, busy_snapshot)
    metrics = busy_snapshot.devices[1].metrics
    assert metrics is not None
    metrics.utilisation_percent = 5.0
    engine.push(busy_snapshot)
    assert len(sent) == 1
    busy_snapshot.counts = {"RUNNING": 1}
    engine.push(busy_snapshot)
    metrics.utilisation_percent = 80.0
    engine.push(busy_snapshot)
    assert len(sent) == 3


def test_the_end_of_the_cluster_is_the_last_snapshot(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    engine.push(None)
    assert json.loads(sent[-1])["ended"] is True
    publisher.seen("one", 0)
    assert len(sent) == 2


def test_the_end_reaches_pages_that_do_not_look(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.hidden("scrolled away")
    busy_snapshot.counts = {"FINISHED": 41}
    publisher.end(engine, busy_snapshot)
    last = json.loads(sent[-1])
    assert last["ended"] is True and last["counts"] == {"FINISHED": 41}
    publisher.seen("scrolled back", 0)
    assert engine.callback is None


def test_a_snapshot_that_was_on_its_way_does_not_revive_what_has_ended(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    late = copy.deepcopy(busy_snapshot)
    late.counts = {"RUNNING": 7}
    publisher.end(engine, None)
    engine.push(late)
    assert json.loads(sent[-1])["ended"] is True


def test_a_cluster_that_ended_while_nobody_looked_is_said_to_have_ended_once_somebody_does(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    class Ended(Engine):
        def watch(self, callback: Any, *, metrics: bool = True, rows: int = 0) -> None:
            if callback is not None:
                callback(None)  # as the promise has it

    publisher.follow(Ended(), busy_snapshot)
    assert json.loads(sent[-1])["ended"] is True


def test_a_new_cluster_takes_over(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    old, new = Engine(), Engine()
    publisher.follow(old, busy_snapshot)
    old.push(None)
    publisher.follow(new, busy_snapshot)
    assert "ended" not in json.loads(sent[-1])
    assert new.callback is not None


# ---- what is sent

NOW = 1_795_176_964.8109164
NODE = "5180ff6a4af162560e00b10be17dded949af4736cb6fddc56df75c76"


def task_id(number: int) -> str:
    return f"9b9fa58bf929ef71cdc852a5{number:016x}00000001"


@pytest.fixture
def eight_devices() -> Snapshot:
    """Eight measured devices, each held by one of twenty tasks; all tasks come from cells."""
    snapshot = Snapshot(Runtime("local", "0.1.0", "3.11.7", pid=28217, session="s", log_dir="/tmp/x"), 812, NOW)
    snapshot.nodes = [NodeRow(NODE, "vm", True, True, {"CPU": 64, "GPU": 8, "memory": 1e12}, {"CPU": 56, "GPU": 0})]
    for index in range(8):
        row = DeviceRow(NODE, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100 80GB HBM3")
        row.memory_bytes, row.free = 80 << 30, 0.0
        row.holders = [Holder("train", 1.0, task_id(index), pid=28000 + index, cell="[12] line 14", since=NOW)]
        row.metrics = DeviceMetrics(83.4, 41 << 30, 80 << 30, 61.0, 512.25, [(28000, 9)], {"x": "y"}, NOW)
        snapshot.devices.append(row)
    for number in range(20):
        task = TaskRow(task_id(number), "train_one_epoch", "task", "RUNNING", 1, {"CPU": 1.0, "GPU": 1.0}, node_id=NODE)
        task.cell, task.submitted_at = "[12] line 14", NOW
        if number < 8:
            task.device_ids, task.pid, task.started_at, task.worker_id = {"GPU": [str(number)]}, 28000, NOW, NODE
        else:
            task.state = "PENDING_NODE_ASSIGNMENT"
            task.why = "train_one_epoch asks for 1 GPU: 0 of 8 GPUs are free; held by " + "task train (GPU 1), " * 10
        snapshot.tasks.append(task)
    snapshot.counts = {"RUNNING": 8, "PENDING_NODE_ASSIGNMENT": 12, "FINISHED": 0}
    return snapshot


def test_eight_devices_and_twenty_tasks_are_at_most_sixteen_kilobytes(eight_devices: Snapshot) -> None:
    assert len(publishing.to_json(publishing.of_snapshot(eight_devices))) <= 16 << 10


def test_a_page_gets_the_snapshot_of_observers(eight_devices: Snapshot) -> None:
    page = publishing.of_snapshot(eight_devices)
    assert (page.devices, page.tasks, page.counts) == (
        eight_devices.devices,
        eight_devices.tasks,
        eight_devices.counts,
    )
    assert msgspec.json.decode(publishing.to_json(page), type=PageSnapshot) == page
    assert Snapshot.from_json(publishing.to_json(page)).tasks == eight_devices.tasks


def test_nothing_secret_is_saved_with_a_notebook(eight_devices: Snapshot) -> None:
    text = publishing.to_json(publishing.of_snapshot(eight_devices))
    assert "/tmp/x" not in text and "log_dir" not in text and "address" not in text


def test_number_time_and_noise_of_sensors_make_no_difference(eight_devices: Snapshot) -> None:
    before = publishing.look_of(publishing.of_snapshot(eight_devices))
    eight_devices.seq, eight_devices.time = 813, NOW + 60
    metrics = eight_devices.devices[0].metrics
    assert metrics is not None and metrics.memory_used_bytes is not None
    metrics.temperature_celsius, metrics.power_watts, metrics.sampled_at = 62.0, 498.0, NOW + 60
    metrics.memory_used_bytes += 4096
    assert publishing.look_of(publishing.of_snapshot(eight_devices)) == before
    metrics.utilisation_percent = 70.0
    assert publishing.look_of(publishing.of_snapshot(eight_devices)) != before


def test_names_are_sent_with_the_hues_that_they_have_here(eight_devices: Snapshot) -> None:
    names = ["kept", *(f"f{number}" for number in range(8))]
    eight_devices.functions = [FunctionRow(name, finished=9) for name in names]
    hues = publishing.of_snapshot(eight_devices).hues
    assert {name: hues.get(name, usual_hue(name)) for name in names} == {name: HUES.of(name) for name in names}


def test_the_oldest_of_many_large_runs_go_without_their_curves() -> None:
    book: RecordBook[int] = RecordBook()
    for number in range(20):
        curves = [Curve(f"metric-{name}", [(101 * at, at / 7) for at in range(100)]) for name in range(6)]
        run = RunSnapshot(f"run-{number}", "mnist", "/runs/mnist", started_at=NOW + number, curves=curves)
        book.publish(1, run_snapshot.KIND, run.id, msgspec.to_builtins(run), 0)
    text = publishing.records_json(book.rows())
    sent = {row["id"]: row["record"] for row in json.loads(text)}
    assert len(sent) == 20 and len(text) < publishing.MOST_RECORD_BYTES + (20 << 10)
    assert len(sent["run-19"]["curves"]) == 6 and sent["run-0"]["curves"] == []


def test_a_page_is_told_when_only_rows_of_an_experiment_have_changed() -> None:
    """It asks for rows when something is told: a trial that reports better than none stood as waiting for ever."""
    book: RecordBook[int] = RecordBook()
    record = msgspec.to_builtins(ExperimentSnapshot("experiment-1", "first", "/runs/first"))
    sent = []
    for rows in ({"a_8": {"state": "waiting"}}, {"a_8": {"state": "running"}}, {}):
        book.publish(1, experiment_snapshot.KIND, "experiment-1", record, 0, rows)
        sent.append(publishing.records_json(book.rows()))
    first, second, third = sent
    assert first != second
    assert second == third, "nothing is sent where nothing has changed"
