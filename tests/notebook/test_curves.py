"""A curve's lines, gaps and round numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from nbaccel.notebook import curves, trial_drawings
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


def test_whole_numbers_have_whole_labels() -> None:
    assert [label for _, label in trial_drawings.numbers([1.0, 2.0, 3.0]).labels] == ["1", "2", "3"]
    assert "1.5" in [label for _, label in trial_drawings.numbers([1.0, 2.5, 3.0]).labels]


def test_of_a_choice_among_few_numbers_each_has_its_label() -> None:
    few = trial_drawings.axis_of([8, 4, 16, 4])
    assert few is not None and few.labels == [(0.0, "4"), (1 / 3, "8"), (1.0, "16")]
    many = trial_drawings.axis_of(list(range(7)))
    assert many is not None and [label for _, label in many.labels] == ["0", "2", "4", "6"]


def test_labels_that_would_touch_the_one_before_are_left_out() -> None:
    labels = [(0.0, "0.0003"), (30.0, "0.001"), (60.0, "0.003"), (90.0, "0.01")]
    assert trial_drawings.apart(labels, lambda label: len(label) * 6.5) == [labels[0], labels[2], labels[3]]
