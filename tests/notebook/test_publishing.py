"""A snapshot goes to the pages when somebody looks and when it looks different; otherwise nothing is sent."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from nbaccel.notebook.publishing import Publisher
from nbaccel.views.snapshot import Snapshot


class Engine:
    """Remembers who watches."""

    def __init__(self) -> None:
        self.callback: Callable[[Snapshot | None], None] | None = None
        self.rows: int | None = None

    def watch(self, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, rows: int = 0) -> None:
        self.callback = callback
        self.rows = rows if callback is not None else None

    def push(self, snapshot: Snapshot | None) -> None:
        assert self.callback is not None
        self.callback(copy.deepcopy(snapshot))


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def publisher(sent: list[str]) -> Publisher:
    return Publisher(sent.append)


def test_a_display_is_sent_the_snapshot_of_now_and_is_watched_for(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    assert len(sent) == 1
    assert engine.rows == 0


def test_the_same_snapshot_is_not_sent_twice(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    busy_snapshot.seq, busy_snapshot.time = 9, busy_snapshot.time + 5
    engine.push(busy_snapshot)
    assert len(sent) == 1
    busy_snapshot.tasks[0].state = "FINISHED"
    engine.push(busy_snapshot)
    assert len(sent) == 2


def test_each_snapshot_that_comes_is_kept(sent: list[str], busy_snapshot: Snapshot) -> None:
    kept: list[int] = []
    publisher, engine = Publisher(sent.append, lambda snapshot: kept.append(snapshot.seq)), Engine()
    publisher.follow(engine, busy_snapshot)
    for busy_snapshot.seq in (7, 8):
        engine.push(busy_snapshot)
    engine.push(None)
    assert kept == [7, 8]


def test_without_a_visible_view_nothing_is_watched(publisher: Publisher, busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.seen("one", 0)
    publisher.seen("two", 1000)
    assert engine.rows == 1000
    publisher.hidden("two")
    assert engine.rows == 0
    publisher.hidden("one")
    assert engine.callback is None
    publisher.seen("one", 0)
    assert engine.callback is not None


def test_a_view_that_was_displayed_counts_until_it_speaks(publisher: Publisher, busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.hidden("scrolled away at once")
    assert engine.callback is None


def test_measurements_alone_are_no_news_while_nothing_runs(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    busy_snapshot.counts = {"FINISHED": 40}
    for device in busy_snapshot.devices:
        device.holders = []
    publisher.follow(engine, busy_snapshot)
    metrics = busy_snapshot.devices[1].metrics
    assert metrics is not None
    metrics.utilisation_percent = 5.0
    engine.push(busy_snapshot)
    assert len(sent) == 1
    busy_snapshot.counts = {"RUNNING": 1}
    engine.push(busy_snapshot)
    metrics.utilisation_percent = 80.0
    engine.push(busy_snapshot)
    assert len(sent) == 3


def test_the_end_of_the_cluster_is_the_last_snapshot(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    engine.push(None)
    assert json.loads(sent[-1])["ended"] is True
    publisher.seen("one", 0)
    assert len(sent) == 2


def test_the_end_reaches_pages_that_do_not_look(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    publisher.hidden("scrolled away")
    busy_snapshot.counts = {"FINISHED": 41}
    publisher.end(engine, busy_snapshot)
    last = json.loads(sent[-1])
    assert last["ended"] is True and last["counts"] == {"FINISHED": 41}
    publisher.seen("scrolled back", 0)
    assert engine.callback is None


def test_a_snapshot_that_was_on_its_way_does_not_revive_what_has_ended(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    engine = Engine()
    publisher.follow(engine, busy_snapshot)
    late = copy.deepcopy(busy_snapshot)
    late.counts = {"RUNNING": 7}
    publisher.end(engine, None)
    engine.push(late)
    assert json.loads(sent[-1])["ended"] is True


def test_a_cluster_that_ended_while_nobody_looked_is_said_to_have_ended_once_somebody_does(
    publisher: Publisher, sent: list[str], busy_snapshot: Snapshot
) -> None:
    class Ended(Engine):
        def watch(self, callback: Any, *, metrics: bool = True, rows: int = 0) -> None:
            if callback is not None:
                callback(None)  # as the promise has it

    publisher.follow(Ended(), busy_snapshot)
    assert json.loads(sent[-1])["ended"] is True


def test_a_new_cluster_takes_over(publisher: Publisher, sent: list[str], busy_snapshot: Snapshot) -> None:
    old, new = Engine(), Engine()
    publisher.follow(old, busy_snapshot)
    old.push(None)
    publisher.follow(new, busy_snapshot)
    assert "ended" not in json.loads(sent[-1])
    assert new.callback is not None
