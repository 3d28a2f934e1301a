"""Whether somebody watches is asked once for all processes of a node, and again after half a second."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.rays import import_shipped

link = importlib.import_module(f"{import_shipped().__name__}.collector_link")
FRESH_S = link.FRESH_S

JOB = "01000000"


class Cluster:
    def __init__(self) -> None:
        self.asked, self.is_watched = 0, False

    def ask(self, job_id: str) -> bool:
        assert job_id == JOB
        self.asked += 1
        return self.is_watched


class Clock:
    """Stands still until a test moves it: on a busy machine, half a second may end between any two lines."""

    now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(link, "time", clock)
    return clock


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def process_of(cluster: Cluster, folder: Path) -> Any:
    return link.SharedWatchFile(cluster.ask, lambda: str(folder))


def grow_old(folder: Path, seconds: float) -> None:
    (file,) = folder.iterdir()
    then = os.stat(file).st_mtime - seconds
    os.utime(file, (then, then))


def test_a_thousand_processes_ask_once(cluster: Cluster, tmp_path: Path) -> None:
    assert not any(process_of(cluster, tmp_path).is_watched(JOB) for _ in range(1000))
    assert cluster.asked == 1


def test_who_begins_to_watch_is_seen_once_the_answer_is_old(cluster: Cluster, tmp_path: Path) -> None:
    look = process_of(cluster, tmp_path)
    assert not look.is_watched(JOB)
    cluster.is_watched = True
    grow_old(tmp_path, FRESH_S)
    assert look.is_watched(JOB)
    assert process_of(cluster, tmp_path).is_watched(JOB)


def test_a_look_anew_asks_and_others_profit(cluster: Cluster, tmp_path: Path) -> None:
    look = process_of(cluster, tmp_path)
    assert not look.is_watched(JOB)
    cluster.is_watched = True
    assert look.is_watched(JOB, anew=True)
    assert process_of(cluster, tmp_path).is_watched(JOB)


def test_an_answer_from_the_future_does_not_count(cluster: Cluster, tmp_path: Path) -> None:
    look = process_of(cluster, tmp_path)
    assert not look.is_watched(JOB)
    cluster.is_watched = True
    grow_old(tmp_path, -3600)  # the clock was set back
    assert look.is_watched(JOB)


def test_without_a_folder_each_asks_for_itself(cluster: Cluster, tmp_path: Path) -> None:
    look = process_of(cluster, tmp_path / "nowhere")
    assert [look.is_watched(JOB), look.is_watched(JOB)] == [False, False]
    assert cluster.asked == 2


def test_the_file_is_not_written_through_a_link(cluster: Cluster, tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "session"
    target.write_text("mine")
    folder.mkdir()
    (folder / f"nbaccel-watched-{JOB}").symlink_to(target)
    assert not process_of(cluster, folder).is_watched(JOB)
    assert target.read_text() == "mine"


def test_a_slow_answer_does_not_take_the_place_of_a_later_one(cluster: Cluster, clock: Clock, tmp_path: Path) -> None:
    assert not process_of(cluster, tmp_path).is_watched(JOB)
    grow_old(tmp_path, FRESH_S)

    def slow(job_id: str) -> bool:
        cluster.is_watched = True
        clock.now += 0.25  # exact in binary, as a time of a file
        assert process_of(cluster, tmp_path).is_watched(job_id, anew=True)
        return False

    assert not link.SharedWatchFile(slow, lambda: str(tmp_path)).is_watched(JOB)
    cluster.asked = 0
    assert process_of(cluster, tmp_path).is_watched(JOB) and not cluster.asked


def test_an_answer_is_as_old_as_its_question(cluster: Cluster, clock: Clock, tmp_path: Path) -> None:
    def slow(job_id: str) -> bool:
        clock.now += 0.3
        return cluster.ask(job_id)

    assert not link.SharedWatchFile(slow, lambda: str(tmp_path)).is_watched(JOB)
    cluster.is_watched = True
    clock.now += FRESH_S - 0.2
    assert process_of(cluster, tmp_path).is_watched(JOB)
