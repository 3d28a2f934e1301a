"""Who watches a cluster is told once that it has ended, however it ends."""

from __future__ import annotations

import os
import signal

import nbaccel as ray
from nbaccel import engine as engines
from nbaccel.views.snapshot import Snapshot
from tests.census import Place
from tests.rig import wait_until


def _watch() -> list[Snapshot | None]:
    """What comes, from the first snapshot on."""
    ray.init(num_cpus=1)
    seen: list[Snapshot | None] = []
    engines.current().watch(seen.append)
    wait_until(lambda: bool(seen), "the first snapshot")
    return seen


def test_a_shutdown_is_told_once(own_head: Place) -> None:
    seen = _watch()
    ray.shutdown()
    wait_until(lambda: seen[-1] is None, "the end")
    assert seen.count(None) == 1


def test_a_head_that_dies_is_told_once(own_head: Place) -> None:
    seen = _watch()
    assert seen[0] is not None and seen[0].runtime.pid is not None
    os.kill(seen[0].runtime.pid, signal.SIGKILL)
    wait_until(lambda: seen[-1] is None, "the end")
    assert seen.count(None) == 1


def test_who_watches_an_ended_cluster_is_told_at_once(own_head: Place) -> None:
    ray.init(num_cpus=1)
    engine = engines.current()
    ray.shutdown()
    seen: list[Snapshot | None] = []
    engine.watch(seen.append)
    assert seen == [None]
    engine.watch(None)
    assert seen == [None]


def test_the_end_is_told_while_the_cluster_can_still_be_asked(own_head: Place) -> None:
    last: list[Snapshot] = []
    take_off = engines.before_end(lambda engine: last.append(engine.snapshot()))
    try:
        ray.init(num_cpus=3)
        ray.shutdown()
    finally:
        take_off()
    assert [snapshot.nodes[0].totals["CPU"] for snapshot in last] == [3]


def test_each_reader_is_told_of_the_end_once(own_head: Place) -> None:
    first = _watch()
    second: list[Snapshot | None] = []
    engines.current().watch(second.append, metrics=False, reader="second")
    wait_until(lambda: bool(second), "the second reader's first snapshot")
    ray.shutdown()
    wait_until(lambda: first[-1] is None and second[-1] is None, "the end")
    assert (first.count(None), second.count(None)) == (1, 1)
