"""Orders of a page, carried out by an engine that only notes what it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.notebook import widget
from nbaccel.views import served_snapshot
from nbaccel.views.snapshot import PublishedRow, Snapshot
from tests.notebook.test_page_words import publish, run


class Noting:
    """An engine that notes requests to publishers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def ask(self, id: str, what: str) -> None:
        self.asked.append((id, what))


@pytest.mark.parametrize(
    ("order", "stops", "asked"),
    [
        ("run-1/0", 0, [("run-1", "stop 0")]),
        ("run-1/1", 1, [("run-1", "stop 1")]),
        ("run-1", 1, [("run-1", "stop")]),
        ("run-1/0", 1, []),  # the button was drawn before the first press
    ],
)
def test_a_press_is_one_step_of_the_ladder_that_the_button_showed(
    order: str, stops: int, asked: list[Any], busy_snapshot: Snapshot
) -> None:
    engine: Any = Noting()
    said = widget.stop_run(engine, order, publish(busy_snapshot, run(stops=stops)))
    assert engine.asked == asked
    assert said.startswith("Asked mnist to stop." if asked else "mnist has been asked to stop since")


def test_a_trial_is_stopped_by_itself(busy_snapshot: Snapshot) -> None:
    engine: Any = Noting()
    assert widget.stop_run(engine, "experiment-1/0/a1b2_00003", busy_snapshot) == "Asked trial 00003 to stop."
    assert engine.asked == [("experiment-1", "stop-trial 0 a1b2_00003")]


def test_a_run_that_no_snapshot_has_shown_is_asked_all_the_same(busy_snapshot: Snapshot) -> None:
    engine: Any = Noting()
    assert widget.stop_run(engine, "run-9/2", busy_snapshot) == "Asked run-9 to stop."
    assert engine.asked == [("run-9", "stop 2")]


def test_the_line_for_curl_has_its_token_where_this_process_serves(
    busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_snapshot, "own_tokens", {"served-1": "abc"})
    record = {"name": "m", "state": "serving", "url": "http://127.0.0.1:8000/", "asks_token": True}
    busy_snapshot.published = [
        PublishedRow(served_snapshot.KIND, id, {**record, "id": id}, 0.0, 0) for id in ("served-1", "served-2")
    ]
    assert widget.copied_curl("served-1", busy_snapshot)["copy"].endswith("-H 'Authorization: Bearer abc'")
    for id in ("served-2", "served-3"):  # another notebook's, and none
        assert list(widget.copied_curl(id, busy_snapshot)) == ["words"]
