"""Watching a Ray cluster: what needs no Ray that runs."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import watching
from nbaccel.ray_engine.reports.watching import SnapshotWatching, Watcher
from nbaccel.views.snapshot import Runtime, Snapshot


def test_who_watches_a_cluster_that_was_left_is_told_at_once():
    engine = SnapshotWatching(None, None, in_worker=False)  # it asks nobody
    engine.stop()
    seen = []
    engine.watch(seen.append)
    assert seen == [None]
    engine.watch(None)
    assert seen == [None]


def test_a_reader_that_is_stopped_while_a_snapshot_is_taken_is_not_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "ASK_TIMEOUT_S", 0.01)  # it takes longer than the stop waits
    taking, go_on = threading.Event(), threading.Event()

    def take(**asked: object) -> Snapshot:
        taking.set()
        go_on.wait(90)
        return Snapshot(Runtime("ray", "0", "3"))

    reports: Any = SimpleNamespace(learn=lambda wait_s: None, next_news=lambda: None)
    snapshots: Any = SimpleNamespace(take=take)
    seen: list[Any] = []
    watcher = Watcher(reports, snapshots, seen.append, metrics=False, rows=0)
    assert taking.wait(90)
    watcher.stop()
    go_on.set()
    watcher._thread.join(90)
    assert seen == []
