"""Rows of trials: what they say, how large they are, and which are sent again."""

from __future__ import annotations

import math
import os
from typing import Any

import msgspec
import pytest

from nbaccel.tune import result_tables
from nbaccel.tune.result_tables import TrialFacts, config_of, row_of
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.views.experiment_snapshot import LETTERS, curve_of


def trial(number: int = 0, losses: list[float] | None = None, **changed: Any) -> Trial:
    reports = [{"report": at, "metrics": {"loss": loss, "timestamp": 7}} for at, loss in enumerate(losses or [])]
    return Trial(f"a_{number}", number, {"lr": 0.1 * number, "layers": [1, 2]}, reports=reports, **changed)


def test_a_row_says_what_a_table_shows() -> None:
    made = trial(3, [1.0, 0.5], state=TrialState.RUNNING, pid=7, devices={"GPU": ["1"]}, attempts=1)
    row = row_of(made, "loss")
    assert (row.state, row.value, row.reports, row.pid, row.waits) == ("running", 0.5, 2, 7, False)
    assert row.curve is not None and row.curve.points() == [(0, 1.0), (1, 0.5)]
    assert row_of(trial(state=TrialState.RUNNING), "loss").waits, "it has no process yet"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_a_word_and_a_gap(value: float) -> None:
    row = row_of(trial(0, [1.0, 2.0, value]), "loss")
    assert row.value == str(value) and row.curve is not None and row.curve.letters == "A/."
    assert "NaN" not in msgspec.json.encode(row).decode()


def test_a_long_curve_is_a_few_letters_and_keeps_its_shape() -> None:
    curve = curve_of([(at, 100.0 * 0.99**at) for at in range(1000)])
    assert curve is not None and curve.log and len(curve.letters) == LETTERS
    for report, value in curve.points():
        assert value == pytest.approx(100.0 * 0.99**report, rel=0.35)
    values = [value for _, value in curve.points()]
    assert values == sorted(values, reverse=True)
    assert curve_of([(0, 1.0)]) is None and curve_of([(0, 2.0), (5, 2.0)]) is not None


def test_a_config_is_sent_as_it_is_and_odd_values_as_text() -> None:
    given = {"lr": 0.1, "net": {"sizes": (8, 2**70)}, "f": len, "bad": math.nan, 3: None}
    assert config_of(given) == {
        "lr": 0.1, "net": {"sizes": [8, str(2**70)]}, "f": "<built-in function len>", "bad": "nan", "3": None
    }  # fmt: skip
    assert config_of({os.fsdecode(b"\xff"): os.fsdecode(b"a\xff.png")}) == {r"\udcff": r"a\udcff.png"}
    large = config_of({f"weight{number}": "x" * 200 for number in range(100)})
    assert len(large) == result_tables.SENT_PARAMETERS and len(msgspec.json.encode(large)) < 2_000


def test_only_rows_that_have_changed_are_sent_again_and_many_leave_in_parts() -> None:
    facts, trials = TrialFacts(), [trial(number) for number in range(result_tables.MOST_SENT + 2)]
    rows, more = facts.changed(trials, "loss")
    assert len(rows) == result_tables.MOST_SENT and more
    rows, more = facts.changed(trials, "loss")
    assert list(rows) == [f"a_{result_tables.MOST_SENT}", f"a_{result_tables.MOST_SENT + 1}"] and not more
    assert facts.changed(trials, "loss") == ({}, False)
    trials[7].state = TrialState.RUNNING
    assert list(facts.changed(trials, "loss")[0]) == ["a_7"]


def test_a_thousand_rows_of_twenty_reports_are_small() -> None:
    made = [trial(number, [1 / (1 + at + number) for at in range(20)]) for number in range(1000)]
    rows, _ = TrialFacts().changed(made[:500], "loss")
    assert len(msgspec.json.encode(rows)) < 500 * 250


def test_without_a_metric_the_first_reported_number_is_shown() -> None:
    assert result_tables.metric_of([trial(0), trial(1, [2.0])]) == "loss"
    assert result_tables.metric_of([trial(0)]) == ""
