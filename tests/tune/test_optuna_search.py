"""A search by Optuna: spaces and distributions, what a study is told, and another process that goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune import setting_up
from nbaccel.tune.schedulers import ASHAScheduler, PopulationBasedTraining
from nbaccel.tune.search import BasicVariantGenerator, ConcurrencyLimiter, create_searcher
from nbaccel.tune.search.optuna import OptunaSearch, StudySource, StudySpace
from nbaccel.tune.trial import Trial, TrialState
from tests.tune import trainables

optuna = pytest.importorskip("optuna", reason="optuna is not installed")


@pytest.mark.parametrize(
    ("domain", "distribution"),
    [
        (tune.uniform(0, 1), optuna.distributions.FloatDistribution(0, 1)),
        (tune.quniform(0, 1, 0.25), optuna.distributions.FloatDistribution(0, 1, step=0.25)),
        (tune.loguniform(1e-4, 1), optuna.distributions.FloatDistribution(1e-4, 1, log=True)),
        (tune.randint(0, 4), optuna.distributions.IntDistribution(0, 3)),
        (tune.qrandint(0, 8, 2), optuna.distributions.IntDistribution(0, 8, step=2)),
        (tune.lograndint(1, 9), optuna.distributions.IntDistribution(1, 8, log=True)),
        (tune.choice(["a", 1, None]), optuna.distributions.CategoricalDistribution(("a", 1, None))),
        (tune.choice([int, (1, 2)]), optuna.distributions.CategoricalDistribution(("0: int", "1: (1, 2)"))),
    ],
)
def test_a_domain_is_a_distribution_of_optuna(domain: Any, distribution: Any) -> None:
    assert StudySpace({"model": {"x": domain}}).distributions == {"model/x": distribution}


def test_what_optuna_cannot_choose_stays_random() -> None:
    space = StudySpace(
        {"a": tune.randn(), "b": tune.qloguniform(1, 8, 1), "c": tune.uniform(0, 1), "d": tune.sample_from(lambda: 7)}
    )
    assert space.stays_random == ["a", "b", "d"] and list(space.distributions) == ["c"]
    config = space.config(3, {"c": 0.5}, seed=1)
    assert config["c"] == 0.5 and config["d"] == 7 and config == space.config(3, {"c": 0.5}, seed=1)
    assert config["a"] != space.config(4, {"c": 0.5}, seed=1)["a"]


def test_a_label_is_translated_back_to_its_value() -> None:
    space = StudySpace({"layers": tune.choice([(8, 8), {"width": tune.choice([16])}]), "fixed": [1]})
    assert space.config(0, {"layers": "0: (8, 8)"}, 1) == {"layers": (8, 8), "fixed": [1]}
    (other,) = [each for each in space.distributions["layers"].choices if each.startswith("1:")]
    assert space.config(0, {"layers": other}, 1)["layers"] == {"width": 16}
    assert space.params({"layers": (8, 8)}) == {"layers": "0: (8, 8)"}


@pytest.mark.parametrize("grid", [tune.grid_search([1, 2]), tune.choice([tune.grid_search([1, 2])])])
def test_a_grid_is_refused(grid: Any) -> None:
    with pytest.raises(ValueError, match=r"OptunaSearch chooses the values"):
        StudySpace({"x": grid})


def source(search: OptunaSearch, space: dict[str, Any], number: int = 10, made: int = 0) -> StudySource:
    return StudySource(search, space, number, 1, "t", "study", (["loss"], ["min"]), made)


def ended(asked: StudySource, trial: Trial, losses: list[float], state: TrialState = TrialState.DONE) -> Trial:
    """A trial that has reported these losses, and ended."""
    for number, loss in enumerate(losses):
        metrics = {"loss": loss, "training_iteration": number + 1}
        trial.reports.append({"report": number, "metrics": metrics})
        asked.on_result(trial, metrics)
    trial.state = state
    asked.on_end(trial)
    return trial


def states(asked: StudySource) -> list[tuple[str, float | None]]:
    return [(each.state.name, each.value) for each in asked.study.trials]


def three_ends(asked: StudySource) -> list[Trial]:
    """A trial that is complete, one that was pruned, and two that failed."""
    made = [asked.next() for _ in range(4)]
    first, second, third, fourth = [each for each in made if each is not None]
    second.is_pruned = True
    ended(asked, second, [5, 4], TrialState.STOPPED)
    ended(asked, first, [3, 2, 1])
    ended(asked, third, [1], TrialState.ERROR)
    ended(asked, fourth, [float("nan")])
    return [first, second, third, fourth]


ENDS = [("COMPLETE", 1.0), ("PRUNED", 4.0), ("FAIL", None), ("FAIL", None)]


def test_a_study_is_told_of_reports_and_ends() -> None:
    asked = source(OptunaSearch(seed=1), {"x": tune.uniform(0, 1)})
    three_ends(asked)
    assert states(asked) == ENDS
    assert asked.study.trials[0].intermediate_values == {1: 3, 2: 2, 3: 1}


def test_a_trial_that_a_stop_rule_ends_is_complete() -> None:
    asked = source(OptunaSearch(), {"x": tune.uniform(0, 1)})
    trial = asked.next()
    assert trial is not None
    ended(asked, trial, [2, 1], TrialState.STOPPED)
    assert states(asked) == [("COMPLETE", 1.0)]


def test_a_new_study_learns_the_trials_of_a_journal() -> None:
    space = {"x": tune.uniform(0, 1), "kind": tune.choice([int, float])}
    first = source(OptunaSearch(), space)
    trials = three_ends(first)
    unfinished = first.next()
    assert unfinished is not None
    again = source(OptunaSearch(), space, made=5)
    again.replay([*trials, unfinished])
    assert states(again) == ENDS
    assert again.study.trials[0].params == first.study.trials[0].params
    ended(again, unfinished, [9])
    assert states(again)[4] == ("COMPLETE", 9.0)
    assert again.config(trials[0]) == trials[0].config
    fresh = again.next()
    assert fresh is not None and fresh.id == "t_00005"


@pytest.mark.slow
def test_a_storage_keeps_what_it_knows(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    space = {"x": tune.uniform(0, 1)}
    first = source(OptunaSearch(storage=storage), space)
    trials = three_ends(first)
    unfinished = first.next()
    assert unfinished is not None
    again = source(OptunaSearch(storage=storage), space, made=5)
    again.replay([*trials, unfinished])
    assert states(again) == [*ENDS, ("FAIL", None)]  # the one under way ended with its process
    ended(again, unfinished, [9])
    assert states(again) == [*ENDS, ("FAIL", None), ("COMPLETE", 9.0)]


def test_points_come_first() -> None:
    points = [{"x": 0.25, "kind": int}, {"kind": float}]
    asked = source(
        OptunaSearch(points_to_evaluate=points), {"x": tune.uniform(0, 1), "kind": tune.choice([int, float])}
    )
    first, second = asked.next(), asked.next()
    assert first is not None and first.config == {"x": 0.25, "kind": int}
    assert second is not None and second.config["kind"] is float
    with pytest.raises(ValueError, match="outside of"):
        source(OptunaSearch(points_to_evaluate=[{"x": 2}]), {"x": tune.uniform(0, 1)})


def test_points_with_rewards_are_not_run() -> None:
    search = OptunaSearch(points_to_evaluate=[{"x": 0.25}], evaluated_rewards=[3])
    asked = source(search, {"x": tune.uniform(0, 1)})
    assert states(asked) == [("COMPLETE", 3.0)]
    trial = asked.next()
    assert trial is not None and trial.config["x"] != 0.25


def test_a_space_may_be_given_as_distributions_or_as_a_function() -> None:
    distributions = {"model/lr": optuna.distributions.FloatDistribution(0, 1)}
    trial = source(OptunaSearch({"x": distributions["model/lr"]}), {"fixed": 3}).next()
    assert trial is not None and trial.config["fixed"] == 3 and 0 <= trial.config["x"] <= 1

    def suggested(asked: Any) -> dict[str, Any]:
        layers = asked.suggest_int("model/layers", 1, 2)
        for layer in range(layers):
            asked.suggest_float(f"model/width{layer}", 1, 2)
        return {"fixed": "yes"}

    trial = source(OptunaSearch(suggested), {}).next()
    assert trial is not None and trial.config["fixed"] == "yes"
    assert len(trial.config["model"]) == 1 + trial.config["model"]["layers"]
    with pytest.raises(ValueError, match="both give domains"):
        source(OptunaSearch(suggested), {"x": tune.uniform(0, 1)})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"space": 3}, "takes a dict or a function"),
        ({"sampler": 3}, "takes a sampler"),
        ({"mode": "down"}, "must be 'min' or 'max'"),
        ({"metric": ["a", "b"], "mode": ["min"]}, "2 metrics and 1 modes"),
        ({"evaluated_rewards": [1]}, "1 evaluated_rewards for 0 points"),
        ({"sampler": optuna.samplers.RandomSampler(), "seed": 1}, "give the seed to your sampler"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OptunaSearch(**options)


def test_without_optuna_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'pip install "nbaccel\[tune\]"'):
        OptunaSearch()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (tune.TuneConfig(search_alg=OptunaSearch()), "learns from a metric"),
        (tune.TuneConfig(search_alg=OptunaSearch(metric="a"), metric="b", mode="min"), "metric='b': give one"),
        (
            tune.TuneConfig(
                search_alg=OptunaSearch(),
                scheduler=PopulationBasedTraining(metric="a", mode="min", hyperparam_mutations={"x": [1]}),
            ),
            "changes the configs of trials",
        ),
    ],
)
def test_a_search_without_one_goal_is_refused(config: tune.TuneConfig, words: str, cluster: Any) -> None:
    with pytest.raises(ValueError, match=words):
        tune.Tuner(trainables.square, param_space={"x": tune.uniform(0, 1)}, tune_config=config).fit()


def test_a_search_may_be_made_by_name_and_limited(cluster: Any, tmp_path: Path) -> None:
    search = ConcurrencyLimiter(create_searcher("optuna", seed=1, of_another_search=3), 2)
    assert isinstance(search.searcher, OptunaSearch) and isinstance(create_searcher("random"), BasicVariantGenerator)
    runner = tune.Tuner(
        trainables.square,
        param_space={"x": tune.uniform(0, 1)},
        tune_config=tune.TuneConfig("min", "loss", search, num_samples=2),
        run_config=tune.RunConfig(name="limited", storage_path=str(tmp_path)),
    )._start()
    runner.wait_with_ladder()
    assert runner.experiment.rules.max_concurrent == 2
    again = tune.Tuner.restore(runner.path, trainables.square, param_space={"x": tune.uniform(0, 1)})._start()
    again.wait_with_ladder()
    assert again.experiment.rules.max_concurrent == 2
    with pytest.raises(ValueError, match="not limited yet"):
        ConcurrencyLimiter(search, 2, batch=True)
    with pytest.raises(ValueError, match="must be an int from 1"):
        ConcurrencyLimiter(search.searcher, 0)
    with pytest.raises(ValueError, match="There is no search 'bayes'"):
        create_searcher("bayes")


def tuner(kept: tune.RunConfig, number: int, **options: Any) -> tune.Tuner:
    config = tune.TuneConfig(search_alg=OptunaSearch(seed=1, metric="loss", mode="min"), num_samples=number, **options)
    return tune.Tuner(trainables.square, param_space={"x": tune.uniform(-1, 1)}, tune_config=config, run_config=kept)


def test_an_experiment_asks_and_tells_optuna(cluster: Any, tmp_path: Path) -> None:
    config = tune.RunConfig(name="optuna", storage_path=str(tmp_path))
    results = tuner(config, 12).fit()
    study = results.study
    assert len(results) == 12 and [each.state.name for each in study.trials] == ["COMPLETE"] * 12
    assert study.best_value == results.get_best_result().metrics["loss"]  # type: ignore[index]
    assert study.best_params == results.get_best_result().config
    restored = tune.Tuner.restore(
        results.experiment_path,
        trainables.square,
        param_space={"x": tune.uniform(-1, 1)},
        tune_config=tune.TuneConfig(num_samples=14),
    ).fit()
    assert len(restored) == 14 and len(restored.study.trials) == 14
    assert [each.config for each in restored][:12] == [each.config for each in results]


def test_a_pruned_trial_is_told_as_pruned(cluster: Any, tmp_path: Path) -> None:
    points = [{"x": 1.0}, {"x": 2.0}]
    search = OptunaSearch(points_to_evaluate=points)
    results = tune.Tuner(
        trainables.steps,
        param_space={"x": tune.uniform(1, 3), "steps": 4, "saves": False},
        tune_config=tune.TuneConfig(
            "min",
            "loss",
            search,
            ASHAScheduler(max_t=4, reduction_factor=2),
            num_samples=2,
            max_concurrent_trials=1,
        ),
        run_config=tune.RunConfig(name="pruned", storage_path=str(tmp_path)),
    ).fit()
    assert [each.state.name for each in results.study.trials] == ["COMPLETE", "PRUNED"]


def test_what_optuna_could_not_tell_apart_is_told() -> None:
    with pytest.raises(ValueError, match=r"two parameters with the name 'a/b'.*rename one"):
        source(OptunaSearch(), {"a/b": tune.uniform(0, 1), "a": {"b": tune.uniform(0, 1)}})
    clash = source(OptunaSearch(space=lambda trial: {"a": trial.suggest_float("a/b", 0, 1), "a/b": 3}), {})
    with pytest.raises(ValueError, match="exclude each other"):
        clash.next()
    with pytest.raises(ValueError, match="may return a dict of further parameters"):
        source(OptunaSearch(space=lambda trial: [trial.suggest_float("a", 0, 1)]), {}).next()
    with pytest.raises(ValueError, match="leave out points whose result is NaN"):
        source(
            OptunaSearch(points_to_evaluate=[{"x": 0.5}], evaluated_rewards=[float("nan")]), {"x": tune.uniform(0, 1)}
        )


def test_a_storage_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database" * 1000)
    for storage, why in (
        (f"sqlite:///{tmp_path}/missing/study.db", "unable to open database file"),
        (f"sqlite:///{tmp_path}/text", "file is not a database"),
        ("study.db", "Could not parse"),
        ("nosuch://study", "nosuch"),
        (3, "AttributeError"),
    ):
        with pytest.raises(
            ValueError, match=rf"^OptunaSearch\(storage={storage!r}\) cannot be opened: .*{why}"
        ) as told:
            source(OptunaSearch(storage=storage), {"x": tune.uniform(0, 1)})
        assert told.value.__cause__ is not None and "sqlite:///study.db" in str(told.value)
        assert "\n" not in str(told.value)


def test_a_journal_keeps_no_password() -> None:
    search = OptunaSearch(seed=3, storage="postgresql://me:secret@db.lan/studies")
    stored = {"name": "OptunaSearch", "given": setting_up.given_of(search)}
    assert "secret" not in json.dumps(stored) and "me:…@db.lan/studies" in json.dumps(stored, ensure_ascii=False)
    assert search.storage == "postgresql://me:secret@db.lan/studies"
    with pytest.raises(ValueError, match="could not store the options of OptunaSearch: pass it again"):
        setting_up.search_again(stored, setting_up.known)
    plain = OptunaSearch(storage="sqlite:///study.db")
    again = setting_up.search_again({"name": "OptunaSearch", "given": setting_up.given_of(plain)}, setting_up.known)
    assert isinstance(again, OptunaSearch) and again.storage == plain.storage


def test_a_study_of_another_goal_is_refused(tmp_path: Path) -> None:
    storage, space = f"sqlite:///{tmp_path / 'study.db'}", {"x": tune.uniform(0, 1)}
    StudySource(OptunaSearch(storage=storage), space, 1, 1, "ab", "one", (["loss"], ["min"]))
    with pytest.raises(ValueError, match=r"The study 'one' .* minimizes, .* mode is 'max': .*study_name"):
        StudySource(OptunaSearch(storage=storage), space, 1, 1, "ab", "one", (["loss"], ["max"]))


def test_a_parameter_whose_values_are_not_those_of_the_study_is_named(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    assert source(OptunaSearch(storage=storage), {"size": 1, "act": tune.choice(["a", "b"])}).next() is not None
    other = source(OptunaSearch(storage=storage), {"act": tune.choice(["a", "b", "c"])})
    with pytest.raises(ValueError, match=r"The parameter 'act' .*'a', 'b', 'c'.*'a', 'b'.*study_name") as told:
        other.next()
    assert isinstance(told.value.__cause__, ValueError)


def test_a_function_whose_choices_change_is_told_which_parameter_changed() -> None:
    def suggests(trial: Any) -> None:
        trial.suggest_float("lr", 0, 1)
        trial.suggest_categorical("act", ["a", "b"] if trial.number == 0 else ["a", "b", "c"])

    asked = source(OptunaSearch(space=suggests), {})
    assert asked.next() is not None
    with pytest.raises(ValueError, match=r"^The parameter 'act' .*\('a', 'b' before\).*another name") as told:
        asked.next()
    assert isinstance(told.value.__cause__, ValueError)


def test_what_a_function_itself_raises_is_told_as_it_is() -> None:
    def suggests(trial: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        source(OptunaSearch(space=suggests), {}).next()
