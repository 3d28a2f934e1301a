"""The palette: visible on both pages, told apart by everyone, and a name keeps its hue."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import pytest

from nbaccel.views import palette
from nbaccel.views.palette import Hues

# How the three kinds of colour-blind people see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0).
_SEEN_BY = {
    "everyone else": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
_TO_LMS = (
    (0.41222147, 0.53633254, 0.05144599),
    (0.2119035, 0.68069955, 0.10739696),
    (0.08830246, 0.28171884, 0.6299787),
)
_TO_OKLAB = (
    (0.21045426, 0.79361778, -0.00407205),
    (1.9779985, -2.4285922, 0.45059371),
    (0.02590404, 0.78277177, -0.80867577),
)
_LEAST_APART, _JUST_SEEN = 0.05, 0.02  # in Oklab; the latter is a difference that one just sees side by side
Colour = tuple[float, ...]


def _linear(colour: str) -> Colour:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return tuple(each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)


def _times(matrix: tuple[tuple[float, ...], ...], colour: Colour) -> Colour:
    return tuple(sum(factor * each for factor, each in zip(row, colour, strict=True)) for row in matrix)


def _luminance(colour: str) -> float:
    return sum(factor * each for factor, each in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _oklab(colour: str, seen_by: str) -> Colour:
    seen = [min(1.0, max(0.0, each)) for each in _times(_SEEN_BY[seen_by], _linear(colour))]
    return _times(_TO_OKLAB, tuple(each ** (1 / 3) for each in _times(_TO_LMS, tuple(seen))))


def _apart(one: str, other: str, seen_by: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(_oklab(one, seen_by), _oklab(other, seen_by), strict=True)) ** 0.5


@pytest.mark.parametrize("ground", palette.GROUNDS)
def test_every_colour_is_seen_against_both_pages(ground: str) -> None:
    shades = [shade for shades in palette.COLOURS for shade in shades]
    for colour in [*shades, palette.FAILURE, palette.ATTENTION, palette.WAITING]:
        assert _contrast(colour, ground) >= 3, colour


@pytest.mark.parametrize("seen_by", _SEEN_BY)
def test_eight_hues_are_told_apart(seen_by: str) -> None:
    firsts = [shades[0] for shades in palette.COLOURS]
    assert len(firsts) == 8
    for one, other in combinations(firsts, 2):
        assert _apart(one, other, seen_by) >= _LEAST_APART, (one, other)


@pytest.mark.parametrize("seen_by", _SEEN_BY)
def test_no_shade_is_taken_for_a_shade_of_another_hue(seen_by: str) -> None:
    """By colour-blind people at least where two bars touch; names beside the bars tell them apart too."""
    least = _LEAST_APART if seen_by == "everyone else" else 0.025
    for one, other in combinations(palette.COLOURS, 2):
        for pair in product(one, other):
            assert _apart(*pair, seen_by) >= least, pair


def test_hues_are_spread_over_the_colour_wheel() -> None:
    """Two hues with one name, such as two violets, are mixed up in talk although they differ side by side."""
    labs = [_oklab(shades[0], "everyone else") for shades in palette.COLOURS]
    angles = sorted(math.degrees(math.atan2(b, a)) % 360 for _, a, b in labs)
    gaps = [(other - one) % 360 for one, other in pairwise([*angles, angles[0]])]
    assert min(gaps) >= 30, angles


def test_red_of_failures_is_no_functions_hue() -> None:
    for shade in (shade for shades in palette.COLOURS for shade in shades):
        assert _apart(shade, palette.FAILURE, "everyone else") >= 2 * _LEAST_APART, shade


@pytest.mark.parametrize("state", [palette.ATTENTION, palette.WAITING])
def test_amber_and_grey_are_no_functions_hues(state: str) -> None:
    for shade in (shade for shades in palette.COLOURS for shade in shades):
        assert _apart(shade, state, "everyone else") >= 0.06, shade


def test_shades_of_one_hue_differ_and_stay_nearest_to_their_own() -> None:
    firsts = [shades[0] for shades in palette.COLOURS]
    for shades in palette.COLOURS:
        assert len(set(shades)) == len(shades) == 3
        for shade in shades:
            assert min(firsts, key=lambda first: _apart(shade, first, "everyone else")) == shades[0]


def test_words_on_all_shades_of_a_hue_have_one_ink_that_can_be_read() -> None:
    for shades in palette.COLOURS:
        (ink,) = {palette.ink_on(shade) for shade in shades}
        ink = {"#000": "#000000", "#fff": "#ffffff"}[ink]
        for shade in shades:
            assert _contrast(ink, shade) >= 4.5, shade


def test_two_shades_of_a_hue_are_told_apart_side_by_side() -> None:
    for one, other in (pair for shades in palette.COLOURS for pair in combinations(shades, 2)):
        assert _apart(one, other, "everyone else") >= _JUST_SEEN, (one, other)


def test_a_name_keeps_its_hue_and_eight_names_have_eight() -> None:
    hues = Hues()
    names = [f"function_{number}" for number in range(8)]
    given = [hues.of(name) for name in names]
    assert sorted(given) == list(range(8))
    assert [hues.of(name) for name in reversed(names)] == given[::-1]
    assert hues.of("the ninth") == palette.usual_hue("the ninth")


def test_only_names_that_had_to_take_another_hue_are_told() -> None:
    hues, first = Hues(), "train"
    other = next(f"f{number}" for number in range(100) if palette.usual_hue(f"f{number}") == palette.usual_hue(first))
    assert hues.unusual([first, other]) == {other: (palette.usual_hue(first) + 1) % 8}


def test_a_task_has_its_functions_hue_and_a_call_its_classes() -> None:
    assert palette.subject("alpha", "hold") == "hold"
    assert palette.subject("alpha") == "alpha"
    assert palette.subject("Model.predict", "Model.predict", "actor call") == "Model"
