"""A snapshot is drawn from Ray's tables and from reports, which other threads take in at the same time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import snapshots
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, Holder, NodeRow, Runtime, Snapshot

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
        return {"nodes": [], "workers": {"old": 7}}

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


def test_a_task_that_ends_while_rays_tables_are_read_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits, ended = {"submitted_at": 1.0}, RUNS | {"worker_id": "new", "ended_at": 2.0}
    reports: Any = SimpleNamespace(notes={"runs": RUNS, "waits": waits}, ended={"train": {"FINISHED": 0}})
    built: list[Any] = []

    def tables(*asked: object) -> dict[str, Any]:
        """Another thread takes in that three tasks have ended, of which one was not known."""
        reports.notes = {"runs": RUNS | {"ended_at": 2.0}, "waits": ended, "new": ended}
        reports.ended = {"train": {"FINISHED": 3}}
        return {"nodes": [], "workers": {"old": 7}}

    def build(known: Any, number: int) -> Snapshot:
        built.append((known.notes, known.ended))
        return Snapshot(Runtime("ray", "0", "3"))

    session: Any = SimpleNamespace(asked_inside=tables, head=SimpleNamespace(check=lambda: None), joined=None)
    monkeypatch.setattr(snapshots, "RaysFacts", lambda session: None)
    monkeypatch.setattr(snapshots, "build", build)
    nobody: Any = None
    snapshots.Snapshots(session, nobody, reports, Submissions(), OwnRecords()).take(metrics=False)
    assert built == [(reports.notes, {"train": {"FINISHED": 3}})]


def test_a_task_that_ends_with_its_process_while_rays_tables_are_read_has_not_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"runs": RUNS | {"ended_at": 2.0}}  # before its process ended, and after the reports were asked for
    asked: list[float] = []
    reports: Any = SimpleNamespace(notes={"runs": RUNS}, ended={}, is_watched=lambda: True)

    def learn(wait_s: float) -> None:
        asked.append(wait_s)
        reports.notes = dict(said)

    reports.learn = learn
    built: list[Any] = []

    def build(known: Any, number: int) -> Snapshot:
        built.append(known.notes)
        return Snapshot(Runtime("ray", "0", "3"))

    tables = {"nodes": [], "workers": {}}
    session: Any = SimpleNamespace(
        asked_inside=lambda *asked: tables, head=SimpleNamespace(check=lambda: None), joined=None
    )
    monkeypatch.setattr(snapshots, "RaysFacts", lambda session: None)
    monkeypatch.setattr(snapshots, "build", build)
    nobody: Any = None
    taken = snapshots.Snapshots(session, nobody, reports, Submissions(), OwnRecords())
    taken.take(metrics=False)
    assert built == [said]
    said["runs"] = reports.notes["runs"] = RUNS  # what says nothing more is not asked for at each look
    for _ in range(3):
        taken.take(metrics=False)
    assert (asked, built[1:]) == ([0], [said] * 3)


def test_a_device_that_is_held_for_minutes_without_being_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    device = DeviceRow("n", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "real", holders=[Holder("train", 1.0, "a1")])
    device.metrics = DeviceMetrics(utilisation_percent=0.0)
    logical = DeviceRow("m", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "logical", holders=[Holder("infer", 1.0, "b2")])
    nodes = [NodeRow("n", "box"), NodeRow("m", "other")]
    session: Any = SimpleNamespace(
        asked_inside=lambda *asked: {"nodes": []}, head=SimpleNamespace(check=lambda: None), joined=None
    )
    now = [0.0]
    monkeypatch.setattr(snapshots, "RaysFacts", lambda session: None)
    monkeypatch.setattr(
        snapshots,
        "build",
        lambda known, number: Snapshot(Runtime("ray", "0", "3"), nodes=nodes, devices=[device, logical]),
    )
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: 1.7e9))
    nobody: Any = None
    reports: Any = SimpleNamespace(notes={}, ended={})
    taken = snapshots.Snapshots(session, nobody, reports, Submissions(), OwnRecords())
    for now[0] in range(0, 301, 60):
        assert taken.take(metrics=False).alerts == []
        shown = taken.take(metrics=True)
    (alert,) = shown.alerts
    assert alert.message.startswith("GPU 0 of box has been held by train for 5 minutes without being used.")
    assert taken.take(metrics=False).alerts == [alert], "also for those who want no measurements"
    device.metrics = DeviceMetrics(utilisation_percent=40.0)
    assert taken.take(metrics=True).alerts == []
