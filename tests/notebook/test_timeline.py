"""Lanes of devices: each bar has its words, a failed one is marked, and the text says the same."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from nbaccel.notebook import timeline


def _event(name: str, lane: str, start_s: float, duration_s: float, **facts: str) -> dict[str, Any]:
    where = "devices" if lane.startswith("GPU") else "workers"
    return {
        "cat": f"task::{name}", "ph": "X", "name": name, "pid": where, "tid": lane, "ts": start_s * 1e6,
        "dur": duration_s * 1e6, "args": facts,
    }  # fmt: skip


EVENTS = [
    _event("train", "GPU 0", 100, 2, cell="[7] line 3", state="FINISHED"),
    _event("train", "worker 11", 100, 2, cell="[7] line 3", state="FINISHED"),
    _event("evaluate", "GPU 1", 101, 1, cell="[8] line 1", state="FAILED"),
]


def test_devices_are_the_lanes_where_there_are_any() -> None:
    assert [(bar.lane, bar.name) for bar in timeline.bars(EVENTS)] == [("GPU 0", "train"), ("GPU 1", "evaluate")]
    assert [bar.lane for bar in timeline.bars(EVENTS[1:2])] == ["worker 11"]


def test_one_cell_or_the_last_moments_can_be_chosen() -> None:
    assert [bar.name for bar in timeline.bars(EVENTS, cell="8")] == ["evaluate"]
    assert [bar.name for bar in timeline.bars(EVENTS, since_s=102.5)] == []


def test_text_and_drawing_say_the_same() -> None:
    shown = timeline.view(timeline.bars(EVENTS))
    assert shown.text == "GPU 0: train 0.00 to 2.00 s\nGPU 1: evaluate failed 1.00 to 2.00 s"
    titles = [node.text for node in _svg(shown.html).iter("title")]
    assert titles == ["train · cell [7] line 3 · 2.00 s", "evaluate · cell [8] line 1 · 1.00 s failed"]


def test_a_hostile_name_stays_text() -> None:
    shown = timeline.view(timeline.bars([_event("<img src=x onerror=alert(1)>", "GPU 0", 1, 1)]))
    assert not list(_svg(shown.html).iter("img"))


@pytest.mark.parametrize("count", [0, timeline.MOST_BARS + 5])
def test_none_and_very_many_are_said_in_words(count: int) -> None:
    shown = timeline.view(timeline.bars([_event("f", "GPU 0", number, 1) for number in range(count)]))
    assert ("5 older ones are not drawn" if count else "No task has ended yet") in shown.html


def _svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
