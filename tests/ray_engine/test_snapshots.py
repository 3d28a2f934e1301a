"""A snapshot is drawn from Ray's tables and from reports, which other threads take in at the same time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import snapshots
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import Runtime, Snapshot

RUNS = {"worker_id": "old", "started_at": 1.0}


def test_a_report_that_comes_while_rays_tables_are_read_names_no_process_that_they_lack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes: dict[str, Any] = {"runs": RUNS, "waits": {"submitted_at": 1.0}, "tried again": RUNS}
    built: list[Any] = []

    def tables(*asked: object) -> dict[str, Any]:
        """A new process begins, and another thread takes in what it reports."""
        new = {"worker_id": "new", "started_at": 2.0}
        notes.update({"runs": RUNS | {"ended_at": 2.0}, "waits": new, "tried again": new, "new": new})
        return {"nodes": []}

    def build(known: Any, number: int) -> Snapshot:
        built.append(known.notes)
        return Snapshot(Runtime("ray", "0", "3"))

    session: Any = SimpleNamespace(asked_inside=tables, head=SimpleNamespace(check=lambda: None), joined=None)
    reports: Any = SimpleNamespace(notes=notes, ended={})
    monkeypatch.setattr(snapshots, "RaysFacts", lambda session: None)
    monkeypatch.setattr(snapshots, "build", build)
    nobody: Any = None
    snapshots.Snapshots(session, nobody, reports, Submissions(), OwnRecords()).take(metrics=False)
    assert built == [{"runs": notes["runs"], "waits": {"submitted_at": 1.0}, "tried again": RUNS}]
