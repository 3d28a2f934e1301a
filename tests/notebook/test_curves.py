"""A curve's lines, gaps and round numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from nbaccel.notebook import curves
from nbaccel.notebook.curves import Series


def _svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_a_gap_parts_a_line_and_a_lone_point_is_a_dot() -> None:
    points = [(0, 1.0), (1, 2.0), (2, None), (3, math.nan), (4, 3.0)]
    drawn = _svg(curves.curve("loss", [Series("a", points, "#2f96e3")]))
    assert len(list(drawn.iter("polyline"))) == 1
    assert len(list(drawn.iter("circle"))) == 1


def test_no_reading_says_so() -> None:
    assert "loss: Nothing was reported yet." in curves.curve("loss", [Series("a", [(0, None)], "#2f96e3")])


def test_the_last_value_stands_beside_each_name() -> None:
    assert "trial 1 0.25" in curves.curve("loss", [Series("trial 1", [(0, 1.0), (1, 0.25)], "#2f96e3")])


def test_ticks_are_round_numbers_within_the_bounds() -> None:
    assert curves.ticks(0, 1) == [0, 0.5, 1]
    assert curves.ticks(13, 87) == [20, 40, 60, 80]
    assert curves.ticks(5, 5) == [5]
    assert curves.ticks(-1e-6, 1e-6) == [-1e-6, -5e-7, 0, 5e-7, 1e-6]


def test_a_flat_curve_and_a_single_moment_are_drawn() -> None:
    for points in ([(0, 2.0), (9, 2.0)], [(3, 2.0)]):
        assert _svg(curves.curve("loss", [Series("a", points, "#2f96e3")])).tag == "svg"


def test_a_loss_has_a_logarithmic_axis_sooner_and_enough_labels() -> None:
    assert curves.is_logarithmic(0.05, 1.0, "val_loss") and not curves.is_logarithmic(0.05, 1.0, "accuracy")
    assert not curves.is_logarithmic(0.0, 1.0, "loss")
    assert curves.log_ticks(0.05, 1.0) == pytest.approx([0.1, 0.3, 1.0])
    assert curves.log_ticks(1e-7, 1.0) == pytest.approx([1e-7, 1e-5, 1e-3, 0.1])
    points = [(1.0, 2.0), (2.0, 0.1)]
    assert "log scale" in curves.curve("loss", [Series("one", points, "#123456")])
    assert "log scale" not in curves.curve("speed", [Series("one", points, "#123456")])
