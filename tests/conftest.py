"""What all tests share: a hand-made snapshot of a busy machine with two GPUs."""

from __future__ import annotations

import pytest

from nbaccel.snapshot import Alert, DeviceMetrics, DeviceRow, Holder, NodeRow, Runtime, Snapshot, TaskRow

NOW = 1_700_000_000.0


@pytest.fixture(scope="session", autouse=True)
def folder_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Made before any test changes where temporary files go."""
    tmp_path_factory.getbasetemp()


@pytest.fixture
def busy_snapshot() -> Snapshot:
    """GPU 0 is held by an actor, GPU 1 is shared by two halves, one task waits, one alert is raised."""
    gpu = DeviceRow("n1", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "logical", free=0.0)
    gpu.holders = [Holder("GPUActor", 1.0, pid=52420, cell="[3] line 14", since=NOW - 8, actor_id="a1")]
    half = DeviceRow("n1", "GPU", 1, "1", "nvidia", "NVIDIA GPU", "real", name="NVIDIA A100", free=0.5)
    half.holders = [Holder("train", 0.25, pid=11, since=NOW - 192), Holder("evaluate", 0.25, pid=12)]
    half.metrics = DeviceMetrics(83.0, 12 << 30, 80 << 30)
    tasks = [
        TaskRow("t1", "train", "task", "RUNNING", demand={"CPU": 1, "GPU": 0.25}, device_ids={"GPU": ["1"]}, pid=11),
        TaskRow("t2", "infer", "task", "PENDING_NODE_ASSIGNMENT", demand={"GPU": 1}, why="waits for 1 GPU; both held"),
    ]
    return Snapshot(
        Runtime("local", "0.1.0", "3.11.7", pid=4711),
        time=NOW,
        nodes=[NodeRow("n1", "localhost", totals={"CPU": 2, "GPU": 2}, available={"CPU": 1, "GPU": 0.5})],
        devices=[gpu, half],
        tasks=tasks,
        alerts=[Alert("leak", "GPU 1 keeps 9 GiB that no task holds", NOW)],
        counts={"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 1, "FINISHED": 40},
    )
