"""Lanes of devices: each bar has its words, runs at the same time lie side by side, and the text says the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from nbaccel.notebook import timeline
from nbaccel.notebook.timeline import MOST_TRACKS, RUN, Bar, Picture, lane
from nbaccel.views import palette
from tests.notebook.levels import LEVELS, Reading

TRAIN = Bar("train", "train", "FINISHED", 100, 2, "[7] line 3", "[7]")
FAILED = Bar("evaluate", "evaluate", "FAILED", 101, 1, "[8] line 1", "[8]")
PICTURE = Picture([lane("GPU 0", [TRAIN]), lane("GPU 1", [FAILED]), lane("GPU 2", [])], [(100, 0.0), (101, 3.2)])


def runs(html: str) -> list[ElementTree.Element]:
    return [node for node in _svg(html).iter("rect") if node.get("class") == RUN]


def words(html: str) -> list[str]:
    """The words of a drawing from its beginning on."""
    return [node.text or "" for node in _svg(html).iter() if node.tag in ("div", "text")]


def test_text_and_drawing_say_the_same() -> None:
    shown = timeline.view(PICTURE)
    assert shown.text == "GPU 0: train 0.00 to 2.00 s\nGPU 1: evaluate failed 1.00 to 2.00 s"
    titles = [node.findtext("title") for node in runs(shown.html)]
    assert titles == ["train · cell [7] line 3 · 2.00 s", "evaluate · cell [8] line 1 · 1.00 s failed"]


def test_lanes_names_cells_moments_and_those_that_waited_are_read_in_the_drawing() -> None:
    shown = words(timeline.view(PICTURE).html)
    assert shown[:3] == ["[7]", "[8]", "cells"]
    assert shown[3:8] == ["GPU 0", "train", "GPU 1", "✕ evaluate", "GPU 2"]
    assert shown[8:] == ["waiting", "up to about 3", "0 s", "0.5 s", "1 s", "1.5 s", "2 s"]


def test_each_colour_has_its_name_at_every_level() -> None:
    shown = timeline.view(Picture([lane("GPU 0", [TRAIN, FAILED, TRAIN])])).html
    for level in LEVELS.values():
        assert "train × 2 · evaluate" in Reading(level(shown)).words
    assert shown.count("nbaccel-swatch") - shown.count(".nbaccel-swatch") == 2
    assert (
        len(
            re.findall(
                r'class="nbaccel-key"[^>]*inline-block[^>]*><span class="nbaccel-swatch"[^>]*></span>\u00a0<', shown
            )
        )
        == 2
    )


def test_runs_at_the_same_time_lie_on_tracks_of_their_own() -> None:
    halves = [Bar("half", "half", "FINISHED", start, 2) for start in (0, 0, 2, 3)]
    shown = lane("GPU 0", halves)
    assert [[bar.start_s for bar in track] for track in shown.tracks] == [[0, 2], [0, 3]]
    rows = [(node.get("x"), node.get("y")) for node in runs(timeline.view(Picture([shown])).html)]
    assert len(set(rows)) == 4 and len({y for _, y in rows}) == 2


def test_more_runs_at_once_than_tracks_are_one_bar_that_counts_them() -> None:
    shown = lane("GPU 0", [Bar("f", "f", "FAILED" if at == 9 else "FINISHED", at, 100 + at) for at in range(10)])
    assert len(shown.tracks) == MOST_TRACKS and sum(bar.number for bar in shown.bars) == 10
    last = shown.tracks[-1][-1]
    assert (last.number, last.state, last.end_s) == (5, "", 118)
    assert "5 runs side by side" in timeline.view(Picture([shown])).html


def test_a_failed_run_among_finished_ones_hides_none_of_them() -> None:
    failed = Bar("f", "f", "FAILED", 0, 10)
    shown = timeline.view(Picture([lane("GPU 0", [failed, *(Bar("f", "f", "FINISHED", at, 1) for at in range(9))])]))
    drawn = runs(shown.html)
    outlined = [node for node in drawn if node.get("stroke") == palette.FAILURE]
    assert len(drawn) == 10 and len(outlined) == 1
    assert {node.get("y") for node in outlined}.isdisjoint(node.get("y") for node in drawn if node not in outlined)
    assert not any(node.get("fill") == palette.FAILURE for node in drawn)


def test_a_node_is_named_once_above_its_lanes() -> None:
    lanes = [lane(f"GPU {number % 2}", [TRAIN], f"node-{number // 2}") for number in range(4)]
    shown = timeline.view(Picture(lanes))
    names = [word for word in words(shown.html) if word.startswith(("node", "GPU"))]
    assert names == ["node-0", "GPU 0", "GPU 1", "node-1", "GPU 0", "GPU 1"]
    assert "node-1 GPU 0: train" in shown.text


@pytest.mark.parametrize("label", ["CPU", "GPU 0", "GPU 0 · MIG 3 (1g.5gb)"])
def test_the_gutter_is_as_wide_as_its_names_need(label: str) -> None:
    shown = timeline.view(Picture([lane(label, [TRAIN])])).html
    (gutter,) = re.findall(r"margin-left:(\d+)px", shown)
    assert 6 * len(label) <= int(gutter) - 8 <= 7 * max(len(label), len("cells")) + 4
    waited = timeline.view(Picture([lane(label, [TRAIN])], [(0.0, 1234.0)])).html
    assert int(re.findall(r"margin-left:(\d+)px", waited)[0]) >= 6 * len("up to about 1234")


def test_letters_keep_their_size_at_every_width() -> None:
    svg = _svg(timeline.view(PICTURE).html)
    assert svg.get("viewBox") is None
    assert all(str(node.get("width")).endswith("%") for node in runs(timeline.view(PICTURE).html))


def test_a_hostile_name_stays_text() -> None:
    name = "<img src=x onerror=alert(1)>"
    shown = timeline.view(Picture([lane(name, [Bar(name, name, "FINISHED", 1, 1, f"[{name}]", f"[{name}]")], name)]))
    assert not list(_svg(shown.html).iter("img")) and not re.search("<img", shown.html)


def test_nothing_says_what_makes_it_appear() -> None:
    shown = timeline.view(Picture([lane("GPU 0", [])]))
    assert shown.text == "No task has run yet." and "<code>f.remote()</code>" in shown.html


def _svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
