"""The benchmark's arithmetic: pairs, medians, goals."""

import pytest

from benchmarks import report, rounds
from benchmarks.measures import MEASURES
from benchmarks.rows import BY_KEY, SESSIONS, Unit


def test_every_row_is_measured_in_the_session_that_it_names() -> None:
    measured = {session: {key for keys, _ in MEASURES[session] for key in keys} for session in SESSIONS}
    measured["main"] |= {"start", "shutdown"}
    assert {row.key: row.session for row in BY_KEY.values()} == {
        key: session for session in SESSIONS for key in measured[session]
    }


def test_the_ratio_is_the_median_of_the_pairs_ratios_not_the_ratio_of_medians() -> None:
    figures = {"nbaccel": {"task": {0: 1.0, 1: 1.0, 2: 4.0}}, "ray": {"task": {0: 2.0, 1: 6.0, 2: 8.0}}}
    assert report.ratio(figures, BY_KEY["task"]) == 2.0
    assert report.ratio({"nbaccel": {"tasks": {0: 10.0}}, "ray": {"tasks": {0: 2.0}}}, BY_KEY["tasks"]) == 5.0
    assert report.ratio({"nbaccel": {"task": {0: 1.0}}}, BY_KEY["task"]) is None


def test_a_round_in_which_one_of_a_pair_failed_makes_no_pair() -> None:
    figures = {"nbaccel": {"task": {0: 1.0, 1: 1.0, 2: 1.0}}, "ray": {"task": {0: 2.0, 2: 4.0}}}
    assert report.ratio(figures, BY_KEY["task"]) == 3.0
    assert report.ratio({"nbaccel": {"task": {0: 1.0}}, "ray": {"task": {1: 2.0}}}, BY_KEY["task"]) is None


@pytest.mark.parametrize(
    ("ours", "rays", "others", "said"),
    [
        (44_000.0, 2_000.0, 12_000.0, "met"),
        (44_000.0, 4_000.0, 12_000.0, "missed: 55% of the ratio"),
        (42_000.0, 2_000.0, 48_000.0, "missed: behind ProcessPoolExecutor"),
        (30_000.0, 1_000.0, 12_000.0, "missed: 0.75 × the limit"),
        (44_000.0, None, None, "no Ray to compare with"),
    ],
)
def test_a_goal_is_met_when_each_part_of_it_is(
    ours: float, rays: float | None, others: float | None, said: str
) -> None:
    given = {"nbaccel": ours, "ray": rays, "processes": others}
    figures = {name: {"tasks": {0: value}} for name, value in given.items() if value is not None}
    assert report.verdict(figures, BY_KEY["tasks"]) == said


def test_a_time_is_compared_with_a_share_of_anothers_and_with_a_row_of_the_same_process() -> None:
    figures = {"nbaccel": {"task": {0: 100e-6}}, "ray": {"task": {0: 1e-3}}, "processes": {"task": {0: 200e-6}}}
    assert report.goal(BY_KEY["task"]) == "≥ 5 × Ray, ≤ 0.9 × ProcessPoolExecutor"
    assert report.verdict(figures, BY_KEY["task"]) == "met"
    figures["processes"]["task"] = {0: 105e-6}
    assert report.verdict(figures, BY_KEY["task"]) == "missed: 0.95 × ProcessPoolExecutor"
    figures = {"nbaccel": {"call": {0: 140e-6}, "pipe": {0: 50e-6}}, "ray": {"call": {0: 1e-3}}}
    assert report.goal(BY_KEY["call"]) == "≤ the pipe's + 100 µs, ≥ 6 × Ray"
    assert report.verdict(figures, BY_KEY["call"]) == "met"
    figures["nbaccel"]["call"] = {0: 160e-6}
    assert report.verdict(figures, BY_KEY["call"]) == "missed: 1.2 × the pipe's + 100 µs"


def test_a_value_is_measured_by_numpys_array_of_the_same_round() -> None:
    figures = {"nbaccel": {"put_numpy": {0: 1.0, 1: 2.0, 2: 1.0}, "put_torch": {0: 1.2, 1: 2.6, 3: 9.0}}}
    assert report.beside(figures, BY_KEY["put_torch"]) == pytest.approx(1.25)
    assert report.verdict(figures, BY_KEY["put_torch"]) == "met"
    figures["nbaccel"]["put_torch"] = {0: 1.5}
    assert report.verdict(figures, BY_KEY["put_torch"]) == "missed: 1.5 × numpy's"
    lines = report.values_table(figures, list(BY_KEY)).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["numpy array: put", "torch tensor: put"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.000_306, Unit.SECONDS, "306 µs"),
        (0.0126, Unit.SECONDS, "12.6 ms"),
        (4.4, Unit.SECONDS, "4.4 s"),
        (0.9999, Unit.SECONDS, "1 s"),
        (17_357.0, Unit.PER_SECOND, "17,357 /s"),
        (45_300_000.0, Unit.BYTES, "45 MB"),
        (None, Unit.SECONDS, "–"),
    ],
)
def test_figures_have_three_digits_and_a_unit_that_fits(value: float | None, unit: Unit, text: str) -> None:
    assert report.shown(value, unit) == text


def test_tables_go_between_the_marks_of_a_page_and_replace_what_was_there() -> None:
    page = f"before\n{report.MARKS[0]}\nold\n{report.MARKS[1]}\nafter"
    once = report.put_into(page, ["| a |"])
    assert once == f"before\n{report.MARKS[0]}\n\n| a |\n\n{report.MARKS[1]}\nafter"
    assert report.put_into(once, ["| a |"]) == once
    with pytest.raises(ValueError, match="no place for figures"):
        report.put_into("a page", [])


def test_the_interval_of_pairs_is_that_of_the_mean_of_their_logarithms() -> None:
    low, middle, high = rounds.interval([1.0, 4.0])
    assert middle == pytest.approx(2.0) and low * high == pytest.approx(4.0)
    assert high / middle == pytest.approx(2**12.706)  # half the distance of the two, and Student's t of two pairs
    ratios = [1.01, 0.99, 1.02, 0.98, 1.0, 1.03, 0.97]
    low, middle, high = rounds.interval(ratios)
    assert low == pytest.approx(0.9801, abs=1e-3) and high == pytest.approx(1.0197, abs=1e-3)
