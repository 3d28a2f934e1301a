"""Records that a program publishes: everyone who looks sees the last one, and can ask its publisher for something."""

from __future__ import annotations

import threading

import pytest

from nbaccel.views.observer_lines import ReadRows
from nbaccel.views.record_book import MOST_BYTES
from tests.rig import wait_until


def _shown(nb, kind="test"):
    return {row.id: row.record for row in nb.snapshot().published if row.kind == kind}


def test_the_last_record_of_an_id_is_in_the_snapshot_until_it_is_withdrawn(nb):
    engine = nb.engine.current()
    engine.publish("test", "a", {"step": 1, "curve": [[0, 0.5]]})
    engine.publish("test", "b", {"step": 7})
    engine.publish("test", "a", {"step": 2, "curve": [[0, 0.5], [1, None]]})
    assert _shown(nb) == {"a": {"step": 2, "curve": [[0, 0.5], [1, None]]}, "b": {"step": 7}}
    for id in ("a", "b", "b"):
        engine.publish("test", id, None)
    assert _shown(nb) == {}


def test_what_is_asked_of_a_record_comes_to_its_publisher_while_its_main_thread_is_busy(nb):
    engine = nb.engine.current()
    came, heard = threading.Event(), []

    def asked(what):
        heard.append(what)
        came.set()

    engine.publish("test", "run", {}, asked)
    engine.publish("test", "run", {"step": 1})  # who is asked stays
    threading.Thread(target=engine.ask, args=("run", "stop")).start()
    assert came.wait(90)  # the main thread does nothing for the engine meanwhile
    engine.publish("test", "run", None)
    assert heard == ["stop"]
    with pytest.raises(ValueError, match="No record run is published here"):
        engine.ask("run", "stop")


def test_a_record_that_is_too_large_or_no_json_is_refused(nb):
    engine = nb.engine.current()
    with pytest.raises(ValueError, match=f"at most {MOST_BYTES} can be published"):
        engine.publish("test", "large", {"text": "x" * MOST_BYTES})
    with pytest.raises(ValueError, match="Use numbers, texts, lists and dicts"):
        engine.publish("test", "object", {"what": object()})
    with pytest.raises(ValueError, match="a kind and an id"):
        engine.publish("test", "", {})
    assert _shown(nb) == {}


def test_the_rows_of_a_record_are_asked_for_and_only_those_that_have_changed(nb):
    engine = nb.engine.current()
    engine.publish("test", "a", {"step": 1}, rows={"x": {"n": 1}, "y": {"n": 2}})
    first = engine.history(ReadRows("a"))
    assert (first.rows, first.total) == ({"x": {"n": 1}, "y": {"n": 2}}, 2)
    engine.publish("test", "a", {"step": 2}, rows={"x": {"n": 3}})
    later = engine.history(ReadRows("a", first.seq))
    assert (later.rows, later.total) == ({"x": {"n": 3}}, 2)
    assert engine.history(ReadRows("a", later.seq)).rows == {}
    assert _shown(nb) == {"a": {"step": 2}}
    with pytest.raises(ValueError, match="The row x has"):
        engine.publish("test", "a", {}, rows={"x": {"text": "x" * 5000}})
    engine.publish("test", "a", None)
    with pytest.raises(ValueError, match="No record a is published here"):
        engine.history(ReadRows("a"))


def test_whoever_watches_is_told_of_a_record(nb):
    engine = nb.engine.current()
    seen = []
    engine.publish("test", "watched", {"step": 1})
    engine.watch(lambda snapshot: seen.append(snapshot))
    try:
        wait_until(lambda: any(row.record == {"step": 1} for snapshot in list(seen) for row in snapshot.published))
        if engine.name != "debug":  # there nothing runs while somebody looks
            engine.publish("test", "watched", {"step": 2})
            wait_until(lambda: any(row.record == {"step": 2} for snapshot in list(seen) for row in snapshot.published))
    finally:
        engine.watch(None)
        engine.publish("test", "watched", None)


def test_readers_watch_beside_each_other_and_one_that_stops_takes_nothing_from_another(nb):
    engine = nb.engine.current()
    first, second = [], []

    def steps(seen):
        return [row.record.get("step") for snapshot in list(seen) for row in snapshot.published]

    def publish(step):
        engine.publish("test", "read twice", {"step": step})
        if engine.name == "debug":  # there a reader is told when it begins
            engine.watch(second.append, reader="second")

    engine.publish("test", "read twice", {"step": 1})
    engine.watch(first.append, metrics=False, reader="first")
    engine.watch(second.append, metrics=False, reader="second")
    try:
        wait_until(lambda: 1 in steps(first) and 1 in steps(second))
        engine.watch(None, reader="first")
        publish(2)
        wait_until(lambda: 2 in steps(second))
        assert 2 not in steps(first)
    finally:
        engine.watch(None, reader="second")
        engine.publish("test", "read twice", None)
