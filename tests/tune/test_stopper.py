"""Rules that end trials."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.tune import stopper as stoppers


def test_a_dict_ends_a_trial_that_reaches_one_of_its_values() -> None:
    rule = stoppers.of({"accuracy": 0.9, "eval/steps": 3})
    assert not rule("a", {"accuracy": 0.5, "eval": {"steps": 2}})
    assert rule("a", {"accuracy": 0.5, "eval": {"steps": 3}}) and rule("a", {"accuracy": 0.9, "eval/steps": 0})
    assert not rule.stop_all()
    for value in (None, "high", [1.0]):
        with pytest.raises(ValueError, match=r"a report has .* for 'accuracy'\. Report a number"):
            rule("a", {"accuracy": value})
    assert not rule("a", {"accuracy": float("nan"), "eval/steps": 0})
    with pytest.raises(ValueError, match="the limit must be a number"):
        stoppers.of({"accuracy": "high"})


def test_a_value_that_comes_with_later_reports_ends_a_trial_then_and_its_absence_is_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(stoppers, "notify", lambda kind, sentence: said.append(sentence))
    rule = stoppers.of({"accuracy": 0.9, "steps": 3})
    assert not rule("a", {"steps": 1, "accuracies": 1}) and not rule("b", {"steps": 1})
    assert rule("a", {"steps": 3}) and rule("a", {"steps": 2, "accuracy": 0.9})
    (sentence,) = said
    assert "a report has no 'accuracy'; it has: accuracies, steps. Did you mean accuracies" in sentence


def test_a_function_ends_a_trial() -> None:
    rule = stoppers.of(lambda trial, result: trial == "a" and result["loss"] < 1)
    assert rule("a", {"loss": 0}) and not rule("b", {"loss": 0})


def test_a_trial_ends_after_so_many_reports() -> None:
    rule = stoppers.MaximumIterationStopper(2)
    assert [rule("a", {}), rule("b", {}), rule("a", {})] == [False, False, True]


def test_a_trial_that_stands_still_ends() -> None:
    rule = stoppers.TrialPlateauStopper("loss", std=0.01, num_results=3, grace_period=4)
    assert [rule("a", {"loss": value}) for value in (1.0, 0.5, 0.5, 0.5, 0.5)] == [False] * 3 + [True, True]
    held = stoppers.TrialPlateauStopper("loss", num_results=2, grace_period=2, metric_threshold=0.1, mode="min")
    assert not any(held("a", {"loss": 0.5}) for _ in range(5)) and [held("b", {"loss": 0.05}) for _ in "12"][1]
    with pytest.raises(ValueError, match="'min' or 'max'"):
        stoppers.TrialPlateauStopper("loss", metric_threshold=1)


def test_time_ends_the_experiment() -> None:
    assert stoppers.TimeoutStopper(0).stop_all() and not stoppers.TimeoutStopper(1000).stop_all()


def test_each_of_several_sees_every_result() -> None:
    counted = stoppers.MaximumIterationStopper(2)
    rule = stoppers.of([{"x": 1}, counted])
    assert rule("a", {"x": 1}) and rule("a", {"x": 0})


@pytest.mark.parametrize("given", [3, "loss"])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="stop takes a dict"):
        stoppers.of(given)


def test_limits_may_be_nested_and_may_be_flags() -> None:
    nested = stoppers.of({"eval": {"loss": 2}, "is_bad": True})
    seen = [{"eval": {"loss": 1}, "is_bad": False}, {"eval": {"loss": 3}, "is_bad": False}]
    assert [nested("t", each) for each in seen] == [False, True]
    assert nested("t", {"eval": {"loss": 1}, "is_bad": True})
    assert not stoppers.of({"done": True})("t", {"done": False}) and stoppers.NoopStopper()("t", {}) is False


def test_all_trials_end_when_the_best_values_have_stopped_changing() -> None:
    flat = stoppers.ExperimentPlateauStopper("loss", std=0.1, top=3, patience=2)
    answers = [flat("t", {"loss": value}) for value in (9, 5, 1, 1, 1, 7)]
    assert answers == [False, False, False, False, False, True] and flat.stop_all()
    largest = stoppers.ExperimentPlateauStopper("loss", top=2, mode="max")
    assert [largest("t", {"loss": value}) for value in (1, 5, 5)] == [False, False, True]
    for given in ({"mode": "best"}, {"top": 1}, {"patience": -1}, {"std": 0}):
        with pytest.raises(ValueError, match="ExperimentPlateauStopper"):
            stoppers.ExperimentPlateauStopper("loss", **given)  # type: ignore[arg-type]
