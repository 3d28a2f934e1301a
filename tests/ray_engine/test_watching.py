"""Watching a Ray cluster: what needs no Ray that runs."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports.watching import SnapshotWatching


def test_who_watches_a_cluster_that_was_left_is_told_at_once():
    engine = SnapshotWatching(None, None, in_worker=False)  # it asks nobody
    engine.stop()
    seen = []
    engine.watch(seen.append)
    assert seen == [None]
    engine.watch(None)
    assert seen == [None]
