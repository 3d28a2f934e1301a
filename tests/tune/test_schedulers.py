"""Schedulers: results in, decisions out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbaccel.tune.schedulers import (
    ASHAScheduler,
    FIFOScheduler,
    MedianStoppingRule,
    PopulationBasedTraining,
    create_scheduler,
)
from nbaccel.tune.search.sample import choice, sample_from, uniform
from nbaccel.tune.trial import Trial, TrialState
from tests.tune.asha_events import LISTS, event_list
from tests.tune.pbt_events import POPULATIONS, Population

RECORDED = Path(__file__).with_name("recorded_asha.txt")
RECORDED_PBT = Path(__file__).with_name("recorded_pbt.txt")


def decided(number: int) -> str:
    """The letters of tools/record_asha.py, by our class."""
    listed = event_list(number)
    scheduler = ASHAScheduler(**listed.options)
    for trial in listed.trials:
        scheduler.add(trial, {})
    letters, stopped = "", set()
    for kind, trial, result in listed.events:
        if trial in stopped:
            continue
        if kind == "complete":
            scheduler.on_complete(trial, result)
            letters += "-"
        else:
            decision = scheduler.on_result(trial, result).kind
            letters += "S" if decision == "stop" else "C"
            if decision == "stop":
                stopped.add(trial)
    return letters


def test_asha_decides_as_rays_class_did_on_a_thousand_lists_of_events() -> None:
    recorded = RECORDED.read_text().splitlines()
    assert len(recorded) == LISTS and sum(line.count("S") for line in recorded) > LISTS
    assert [decided(number) for number in range(LISTS)] == recorded


def exchanged(number: int) -> str:
    """The marks of tools/record_pbt.py, by our class."""
    population = Population(number)
    scheduler = PopulationBasedTraining(**population.options)
    for trial in population.trials:
        scheduler.add(trial, {"rate": 1})

    def decide(trial: str, result: dict[str, Any]) -> str:
        for each in population.trials:
            scheduler.has_checkpoint(each)
        return scheduler.on_result(trial, result).donor

    return population.play(decide)


def test_population_based_training_decides_as_rays_class_did_on_three_hundred_populations() -> None:
    recorded = RECORDED_PBT.read_text().splitlines()
    assert len(recorded) == POPULATIONS and sum(line.count("t") for line in recorded) > POPULATIONS
    assert [exchanged(number) for number in range(POPULATIONS)] == recorded


def results(scheduler: Any, *reported: tuple[str, float, float]) -> list[str]:
    """The kinds of the decisions about (trial, time, metric)."""
    return [scheduler.on_result(trial, {"t": time, "m": value}).kind for trial, time, value in reported]


def test_of_two_trials_at_a_rung_the_worse_one_ends() -> None:
    scheduler = ASHAScheduler("t", "m", "max", max_t=10, reduction_factor=2)
    scheduler.add("a", {})
    scheduler.add("b", {})
    assert results(scheduler, ("a", 1, 0.9), ("b", 1, 0.1)) == ["continue", "stop"]
    assert results(scheduler, ("a", 10, 0.9)) == ["stop"]  # max_t


def test_trials_are_spread_over_brackets() -> None:
    scheduler = ASHAScheduler("t", "m", "max", max_t=100, brackets=3)
    for number in range(100):
        scheduler.add(str(number), {})
    assert {len(bracket) for bracket in scheduler._bracket_of.values()} == {4, 3, 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grace_period": 20, "max_t": 10}, "grace_period=20"),
        ({"reduction_factor": 1}, "larger than 1"),
        ({"brackets": 0}, "brackets=0"),
        ({"mode": "maximum"}, "'min' or 'max'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ASHAScheduler(**options)


def test_a_scheduler_without_a_metric_says_where_to_give_it() -> None:
    with pytest.raises(ValueError, match=r"its metric is None .* TuneConfig\(metric='loss', mode='min'\)"):
        ASHAScheduler().check()
    FIFOScheduler().check()
    taken = ASHAScheduler()
    assert taken.set_search_properties("loss", "min") and not taken.set_search_properties("loss", None)


def test_a_trial_worse_than_the_median_of_the_others_ends() -> None:
    rule = MedianStoppingRule("t", "m", "max", grace_period=2, min_samples_required=3)
    for trial, value in (("a", 0.9), ("b", 0.8), ("c", 0.7)):
        assert results(rule, (trial, 1, value), (trial, 2, value), (trial, 3, value)) == ["continue"] * 3
    assert results(rule, ("d", 1, 0.1), ("d", 2, 0.1)) == ["continue", "stop"]
    assert results(rule, ("e", 2, 0.85)) == ["continue"]


def test_a_worse_loss_is_a_larger_one() -> None:
    rule = MedianStoppingRule("t", "m", "min", grace_period=1, min_samples_required=1)
    assert results(rule, ("a", 1, 0.1), ("b", 1, 0.5)) == ["continue", "stop"]


def population(**options: Any) -> PopulationBasedTraining:
    made = PopulationBasedTraining(
        "t", "m", "max", perturbation_interval=2, hyperparam_mutations={"lr": [1, 2, 4, 8]}, seed=1, **options
    )
    for trial, lr in zip("abcd", (1, 2, 4, 8), strict=True):
        made.add(trial, {"lr": lr, "fixed": "x"})
    return made


def test_the_worst_trial_continues_as_the_best_one_with_changed_parameters() -> None:
    made = population()
    made.has_checkpoint("a")
    reported = [("a", 2, 0.9), ("b", 2, 0.8), ("c", 2, 0.85)]
    assert results(made, *reported) == ["continue", "exploit", "continue"]  # b was the worst of two
    decision = made.on_result("d", {"t": 2, "m": 0.1})
    assert (decision.kind, decision.donor) == ("exploit", "a")
    assert decision.config is not None and decision.config["fixed"] == "x" and decision.config["lr"] in (1, 2, 4, 8)


def test_without_a_checkpoint_nobody_is_exploited() -> None:
    assert results(population(), ("a", 2, 0.9), ("d", 2, 0.1)) == ["continue", "continue"]


def test_a_trial_is_compared_once_an_interval() -> None:
    made = population(burn_in_period=3)
    made.has_checkpoint("a")
    assert results(made, ("a", 2, 0.9), ("b", 2, 0.1)) == ["continue", "continue"]  # before the burn-in
    assert results(made, ("a", 3, 0.9), ("b", 3, 0.1), ("b", 4, 0.1)) == ["continue", "exploit", "continue"]


def test_a_nan_is_the_worst() -> None:
    made = population()
    made.has_checkpoint("b")
    assert results(made, ("b", 2, 0.1), ("a", 2, float("nan"))) == ["continue", "exploit"]


def test_numbers_are_scaled_and_ints_stay_ints() -> None:
    made = PopulationBasedTraining(
        metric="m",
        mode="max",
        hyperparam_mutations={"lr": uniform(0, 1), "size": lambda: 7, "deep": {"on": choice([True, False])}},
        resample_probability=0,
        seed=3,
    )
    changed = made.explore({"lr": 0.5, "size": 10, "deep": {"on": True}})
    assert changed["lr"] in (0.6, 0.4) and changed["size"] in (12, 8) and type(changed["size"]) is int
    assert type(changed["deep"]["on"]) is bool


def test_missing_parameters_are_drawn_from_their_mutations() -> None:
    config: dict[str, Any] = {}
    made = PopulationBasedTraining(metric="m", mode="max", hyperparam_mutations={"lr": [5]})
    made.add("a", config)
    assert config == {"lr": 5}


def test_bad_mutations_are_refused() -> None:
    for mutation in (sample_from(lambda config: 1), 3, []):
        with pytest.raises(ValueError, match=r"hyperparam_mutations\['lr'\] must be"):
            PopulationBasedTraining(hyperparam_mutations={"lr": mutation})
    with pytest.raises(ValueError, match="needs 't' in each report"):
        population().on_result("a", {"m": 1})


def test_schedulers_have_names() -> None:
    assert isinstance(create_scheduler("asha", max_t=3), ASHAScheduler)
    assert isinstance(create_scheduler("medianstopping"), MedianStoppingRule)
    with pytest.raises(ValueError, match="there are: asha, async_hyperband"):
        create_scheduler("ash")


@pytest.mark.parametrize("name", ["PB2", "HyperBandForBOHB", "ResourceChangingScheduler"])
def test_what_is_not_here_says_what_to_use(name: str) -> None:
    from nbaccel.tune import schedulers

    with pytest.raises(NotImplementedError, match="ASHAScheduler"):
        getattr(schedulers, name)()


def test_a_scheduler_shows_its_metric_and_a_population_its_scores() -> None:
    assert ASHAScheduler(metric="loss", mode="min").metric == "loss" and FIFOScheduler().metric is None
    with pytest.raises(AttributeError):
        ASHAScheduler().metric = "loss"  # type: ignore[misc]  # as in Ray
    pbt = PopulationBasedTraining("training_iteration", "loss", "min", 1, hyperparam_mutations={"x": [1, 2]})
    trials = [Trial(name, number, {"x": 1}) for number, name in enumerate("abc")]
    for trial, loss in zip(trials[:2], (3, 2), strict=True):
        pbt.add(trial.id, trial.config)
        pbt.on_result(trial.id, {"training_iteration": 1, "loss": loss})
    pbt.add("c", {"x": 1})
    assert pbt.last_scores(trials) == [-3, -2]
    trials[0].state = TrialState.DONE
    assert pbt.last_scores(trials) == [-2]
    pbt.num_perturbations = 3
    pbt.reset_stats()
    assert pbt.debug_string() == "PopulationBasedTraining: 0 perturbs"
