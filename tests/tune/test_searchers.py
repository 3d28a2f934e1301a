"""Searches of one's own: what they suggest is tried, and they learn how it ended."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune.search import ConcurrencyLimiter, Repeater, Searcher
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]

pytestmark = pytest.mark.usefixtures("cluster")


class Counting(Searcher):
    """Suggests 1, 2, 3, … and notes what it is told."""

    def __init__(self, last: int = 100) -> None:
        super().__init__(metric="loss", mode="min")
        self.number, self.last = 0, last
        self.results: list[float] = []
        self.ends: list[tuple[Any, bool]] = []

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        if self.number == self.last:
            return Searcher.FINISHED
        self.number += 1
        return {"x": self.number}

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self.results.append(result["loss"])

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        self.ends.append((result["loss"] if result is not None else None, error))

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_bytes(pickle.dumps(self.number))

    def restore(self, checkpoint_path: str) -> None:
        self.number = pickle.loads(Path(checkpoint_path).read_bytes())


def fit(search: Any, run_config: tune.RunConfig, number: int, space: Any = None, f: Any = None) -> tune.ResultGrid:
    config = tune.TuneConfig(search_alg=search, num_samples=number, max_concurrent_trials=2)
    return tune.Tuner(f or trainables.square, param_space=space, tune_config=config, run_config=run_config).fit()


def test_a_searcher_suggests_until_it_is_finished_and_learns_how_trials_end(kept: Kept) -> None:
    search = Counting(last=3)
    results = fit(search, kept(), 10, {"fixed": 7}, trainables.raises)
    assert [each.config for each in results] == [{"fixed": 7, "x": number} for number in (1, 2, 3)]
    assert sorted(search.ends, key=str) == [(2, False), (None, True), (None, True)] and search.results == [2]


def test_a_searcher_is_told_of_reports_but_not_of_the_one_that_ends_a_trial(kept: Kept) -> None:
    search = Counting()
    fit(search, kept(stop={"step": 2}), 1, {"steps": 9, "saves": False}, trainables.steps)
    assert search.results == [1.0, 0.5] and search.ends == [(1 / 3, False)]


def test_a_space_for_a_searcher_that_takes_none_is_refused_and_one_may_take_it(kept: Kept) -> None:
    with pytest.raises(ValueError, match=r"\(y\), but Counting does not take a search space"):
        fit(Counting(), kept(), 1, {"y": tune.uniform(0, 1)})

    class Takes(Counting):
        def set_search_properties(self, metric: Any, mode: Any, config: dict[str, Any], **spec: Any) -> bool:
            self.space = config
            return True

        def suggest(self, trial_id: str) -> dict[str, Any]:
            return {name: domain.sample() for name, domain in self.space.items()}

    (result,) = fit(Takes(), kept("taken"), 1, {"x": tune.uniform(5, 6)})
    assert 5 <= result.config["x"] <= 6


def test_a_limiter_bounds_the_trials_and_lets_batches_end(kept: Kept) -> None:
    for batch in (False, True):
        search = Counting()
        limited = ConcurrencyLimiter(search, 1, batch=batch)
        assert len(fit(limited, kept(f"batch-{batch}"), 3)) == 3 and [loss for loss, _ in search.ends] == [1, 4, 9]
        assert (limited.metric, limited.mode) == ("loss", "min")


def test_a_repeater_lets_a_searcher_learn_the_mean(kept: Kept) -> None:
    search = Counting()
    results = fit(Repeater(search, repeat=2), kept(), 4)
    assert [each.config["x"] for each in results] == [1, 1, 2, 2]
    assert [each.config["__trial_index__"] for each in results] == [0, 1, 0, 1]
    assert sorted(search.ends) == [(1.0, False), (4.0, False)]
    with pytest.raises(TypeError, match="Repeater takes a Searcher"):
        Repeater(3)  # type: ignore[arg-type]


def test_a_restored_experiment_goes_on_with_the_searchers_state(kept: Kept) -> None:
    results = fit(Counting(), kept(), 2)
    assert "searcher-state-nbaccel.pkl" in os.listdir(results.experiment_path)
    more = tune.TuneConfig(search_alg=Counting(), num_samples=4)
    again = tune.Tuner.restore(results.experiment_path, trainables.square, tune_config=more).fit()
    assert [each.config["x"] for each in again] == [1, 2, 3, 4]


def test_what_is_no_suggestion_is_told(kept: Kept) -> None:
    class Wrong(Counting):
        def suggest(self, trial_id: str) -> Any:
            return 3

    with pytest.raises(tune.TuneError, match=r"Wrong.suggest\(\) returned 3: it returns a dict, None"):
        fit(Wrong(), kept(), 1)
    with pytest.raises(NotImplementedError, match="has no suggest"):
        Searcher().suggest("a")


def test_optuna_may_be_asked_without_an_experiment_and_learns_from_others(kept: Kept, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    from nbaccel.tune.search.optuna import OptunaSearch

    search = OptunaSearch({"x": tune.uniform(0, 1)}, metric="loss", mode="min", seed=1)
    suggested = search.suggest("a")
    assert isinstance(suggested, dict) and 0 <= suggested["x"] <= 1
    search.on_trial_result("a", {"loss": 1.0, "training_iteration": 1})
    search.on_trial_complete("a", {"loss": 1.0})
    search.suggest("b")
    search.on_trial_complete("b", error=True)
    search.save(str(tmp_path / "study"))
    again = OptunaSearch({"x": tune.uniform(0, 1)}, metric="loss", mode="min")
    again.restore(str(tmp_path / "study"))
    again.add_evaluated_point({"x": 0.5}, 0.25)
    results = fit(again, kept(), 1)
    assert [each.state.name for each in results.study.trials] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert results.study.trials[2].value == 0.25
    with pytest.raises(ValueError, match=r"OptunaSearch.suggest\(\) needs a space, a metric and a mode"):
        OptunaSearch().suggest("a")


def test_a_searcher_is_saved_into_a_folder_and_restored_from_it(tmp_path: Path) -> None:
    search, again = Counting(), Counting()
    with pytest.raises(RuntimeError, match=r"has no searcher-state-\*\.pkl, which save_to_dir\(\) writes"):
        again.restore_from_dir(str(tmp_path))
    for name in ("first", "second"):
        search.suggest(name)
        search.save_to_dir(str(tmp_path), session_str=name)
        os.utime(tmp_path / f"searcher-state-{name}.pkl", (search.number, search.number))
    again.restore_from_dir(str(tmp_path))
    assert again.number == 2 and sorted(os.listdir(tmp_path)) == [
        "searcher-state-first.pkl",
        "searcher-state-second.pkl",
    ]


def test_the_state_of_a_limiter_and_of_a_repeater_is_theirs_alone() -> None:
    limited = ConcurrencyLimiter(Counting(), max_concurrent=2)
    for name in ("a", "b"):
        assert limited.suggest(name) is not None
    again = ConcurrencyLimiter(Counting(), max_concurrent=9)
    again.set_state(limited.get_state())
    assert again.live_trials == {"a", "b"} and again.suggest("c") is None and again.searcher.number == 0
    again.on_trial_complete("a")
    assert limited.live_trials == {"a", "b"} and again.suggest("c") == {"x": 1}
    repeated = Repeater(Counting(), repeat=2)
    assert repeated.suggest("a") == {"x": 1, "__trial_index__": 0}
    further = Repeater(Counting(), repeat=2)
    further.set_state(repeated.get_state())
    assert further.suggest("b") == {"x": 1, "__trial_index__": 1}
    with pytest.raises(NotImplementedError, match=r"Counting has no get_state\(self\): save"):
        Counting().get_state()
