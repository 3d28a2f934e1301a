"""Watching a Ray cluster: what needs no Ray that runs."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports.watching import Watching


class Engine(Watching):
    """Watches nothing yet, and has no process of Ray's."""

    in_worker = False
    _ours = True


def test_who_watches_a_cluster_that_was_left_is_told_at_once():
    engine = Engine()
    engine.start_watching()
    engine.stop_watching()
    seen = []
    engine.watch(seen.append)
    assert seen == [None]
    engine.watch(None)
    assert seen == [None]
