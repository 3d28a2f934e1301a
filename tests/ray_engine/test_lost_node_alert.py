"""The alert of a node that Ray has lost, whose time Ray's table does not tell."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import snapshot_building
from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts
from nbaccel.ray_engine.submission.submissions import Submissions


def test_a_node_was_lost_when_it_was_first_seen_to_be_gone_and_not_at_each_look() -> None:
    gone = {"NodeID": "ab" * 28, "NodeName": "gpu-1", "NodeManagerHostname": "gpu-1", "NodeManagerAddress": "10.0.0.1"}
    gone |= {"Alive": False, "Resources": {"CPU": 4.0}, "Labels": {}, "DeathReasonMessage": "it was drained"}
    tables = {"nodes": [gone], "available": {}, "actors": [], "workers": {}, "groups": [], "jobs": []}
    here = SimpleNamespace(job_id="01000000", session_name="", address="", session_dir="", python="")
    lost_at: dict[str, float] = {}

    def alert() -> object:
        known = SnapshotFacts(tables, {}, {}, Submissions(), here, False, lost_at=lost_at)
        (found,) = snapshot_building.build(known, 1).alerts
        return found

    first, before = alert(), time.time()
    assert (first.kind, first.node_id) == ("node lost", "ab" * 28) and "it was drained" in first.message
    assert first.since <= before
    assert alert() == first
