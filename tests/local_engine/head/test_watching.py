"""Snapshots go to who watches: whole, at once, with the rows and the ids that a view needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel as ray
from nbaccel import engine as engines
from nbaccel.exceptions import TaskCancelledError, WorkerCrashedError
from nbaccel.views.snapshot import Snapshot
from tests.census import Place
from tests.rig import wait_until


class Watcher:
    """Collects what comes."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []

    def __call__(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            self.snapshots.append(snapshot)

    @property
    def newest(self) -> Snapshot:
        wait_until(lambda: bool(self.snapshots), "the first snapshot")
        return self.snapshots[-1]

    def until(self, condition: Any, what: str) -> Snapshot:
        wait_until(lambda: bool(self.snapshots) and condition(self.snapshots[-1]), what)
        return self.newest


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    yield Watcher()
    engine = engines.started()
    if engine is not None:
        engine.watch(None)


@ray.remote(num_gpus=1)
def hold(path: str) -> list[str]:
    while not Path(path).exists():
        time.sleep(0.01)
    return list(ray.get_runtime_context().get_accelerator_ids()["GPU"])


def test_the_first_snapshot_comes_at_once_and_changes_follow(cluster: Place, watcher: Watcher, tmp_path: Path) -> None:
    engines.current().watch(watcher)
    assert [device.holders for device in watcher.newest.devices] == [[], []]
    ref = hold.remote(str(tmp_path / "end"))
    held = watcher.until(lambda snapshot: any(device.holders for device in snapshot.devices), "a holder")
    device = next(device for device in held.devices if device.holders)
    assert device.holders[0].name == "hold"
    (tmp_path / "end").touch()
    assert ray.get(ref) == [device.id]
    watcher.until(lambda snapshot: not any(device.holders for device in snapshot.devices), "the device to be free")


def test_a_view_gets_as_many_rows_as_it_asks_for(cluster: Place, watcher: Watcher, tmp_path: Path) -> None:
    refs = [hold.remote(str(tmp_path / "end")) for _ in range(60)]
    engines.current().watch(watcher)
    few = watcher.until(lambda snapshot: snapshot.counts.get("PENDING_NODE_ASSIGNMENT") == 58, "58 that wait")
    waiting = [row for row in few.tasks if row.state == "PENDING_NODE_ASSIGNMENT"]
    assert len(waiting) == 20
    assert all(row.why for row in waiting)
    engines.current().watch(watcher, rows=200)
    watcher.until(lambda snapshot: len(snapshot.tasks) >= 60, "all rows")
    for ref in refs:
        ray.cancel(ref)
    for ref in refs:
        with pytest.raises(TaskCancelledError):
            ray.get(ref)


def test_a_task_is_cancelled_and_an_actor_ended_by_the_id_that_a_snapshot_shows(
    cluster: Place, watcher: Watcher, tmp_path: Path
) -> None:
    @ray.remote(num_gpus=1)
    class Keeper:
        def ping(self) -> int:
            return 1

    engine = engines.current()
    engine.watch(watcher)
    keeper = Keeper.remote()
    assert ray.get(keeper.ping.remote()) == 1
    ref = hold.remote(str(tmp_path / "end"))
    snapshot = watcher.until(lambda seen: sum(len(device.holders) for device in seen.devices) == 2, "both holders")
    holders = [holder for device in snapshot.devices for holder in device.holders]
    task_id = next(holder.task_id for holder in holders if holder.task_id)
    actor_id = next(holder.actor_id for holder in holders if holder.actor_id)
    assert task_id is not None and actor_id is not None
    engine.cancel_by_id(task_id)
    engine.kill_by_id(actor_id)
    with pytest.raises((TaskCancelledError, WorkerCrashedError)):
        ray.get(ref)
    watcher.until(lambda seen: not any(device.holders for device in seen.devices), "both to be gone")
