"""Chooses where the configs of trials come from: grids and random values, or a study of Optuna."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbaccel.tune.configs import TuneConfig
from nbaccel.tune.experiment_journal import encoded
from nbaccel.tune.schedulers import TrialScheduler
from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC
from nbaccel.tune.search import variants
from nbaccel.tune.search.basic_variant import BasicVariantGenerator
from nbaccel.tune.search.optuna import OptunaSearch
from nbaccel.tune.search.optuna_study import StudySource
from nbaccel.tune.search.sample import generator
from nbaccel.tune.search.searcher import ConcurrencyLimiter, Searcher
from nbaccel.tune.search.searcher_source import SearcherSource
from nbaccel.tune.trial_source import TrialSource

Search = BasicVariantGenerator | Searcher
Source = TrialSource | StudySource | SearcherSource


@dataclass(frozen=True, slots=True)
class Goal:
    """What trials are compared by. A search may have several metrics, each with its mode; then results have no order.

    compared_by  the metric and the mode of the results
    """

    metrics: list[str]
    modes: list[str]
    compared_by: tuple[str | None, str | None]


def search_of(tune: TuneConfig) -> Search:
    """The search of an experiment. Raises ValueError for what is none."""
    search = tune.search_alg
    if search is None:
        return BasicVariantGenerator()
    if isinstance(search, ConcurrencyLimiter) and not search.batch:
        inner = search.searcher
        if isinstance(inner, (BasicVariantGenerator, OptunaSearch)):  # they need no limiter
            search = copy.copy(inner)
            search.max_concurrent = search_limit(inner, tune.search_alg.max_concurrent)
    if not isinstance(search, (BasicVariantGenerator, Searcher)):
        raise ValueError(
            f"TuneConfig(search_alg) takes BasicVariantGenerator(), OptunaSearch() or a Searcher of your own, of "
            f"nbaccel.tune.search, not {type(search).__module__}.{type(search).__name__}."
        )
    return search


def search_limit(search: BasicVariantGenerator | OptunaSearch, most: int) -> int:
    return min(search.max_concurrent or most, most)


def max_concurrent(search: Search) -> int:
    """The most trials at one time that a search wants; 0: as many as fit."""
    return getattr(search, "max_concurrent", 0) if isinstance(search, (BasicVariantGenerator, OptunaSearch)) else 0


def seed_of(search: Search) -> int:
    """A number from which follows what is drawn at random."""
    return (
        search.seed() if isinstance(search, (BasicVariantGenerator, OptunaSearch)) else generator(None).getrandbits(48)
    )


def check_pair(search: Search, scheduler: TrialScheduler) -> None:
    """Give the scheduler the search's metric if it has none. Raises ValueError for two that do not go together."""
    if not isinstance(search, Searcher):
        return
    if scheduler.needs_search_space:
        raise ValueError(
            f"{type(scheduler).__name__} changes the configs of trials, so {type(search).__name__} would learn "
            "from configs that it did not choose: use one of the two, or ASHAScheduler with OptunaSearch."
        )
    if isinstance(search.metric, str) and scheduler.metric is None:
        scheduler.metric = search.metric
    if isinstance(search.mode, str) and scheduler.mode is None:
        scheduler.mode = search.mode


def goal_of(search: Search, tune: TuneConfig, scheduler: TrialScheduler) -> Goal:
    """What trials are compared by. Raises ValueError if a search by Optuna has no metric, or two different ones."""
    metric, mode = tune.metric or scheduler.metric, tune.mode or scheduler.mode
    if isinstance(search, Searcher) and not isinstance(search, OptunaSearch):
        metric = metric or (search.metric if isinstance(search.metric, str) else None)
        mode = mode or (search.mode if isinstance(search.mode, str) else None)
    if not isinstance(search, OptunaSearch):
        return Goal([], [], (metric or (DEFAULT_METRIC if mode else None), mode))
    for name, here, there in (("metric", search.metric, metric), ("mode", search.mode, mode)):
        if here and there and here != there:
            raise ValueError(f"OptunaSearch({name}={here!r}), but the experiment has {name}={there!r}: give one.")
    several = search.metric if isinstance(search.metric, (list, tuple)) else None
    if several is not None:
        return Goal(list(several), list(search.mode or ()), (None, None))
    mode = mode or (search.mode if isinstance(search.mode, str) else None)
    metric = metric or (search.metric if isinstance(search.metric, str) else None) or (DEFAULT_METRIC if mode else None)
    if not metric or not mode:
        raise ValueError(
            f"OptunaSearch learns from a metric, but the metric is {metric!r} and the mode {mode!r}: pass "
            "TuneConfig(metric='loss', mode='min')."
        )
    return Goal([metric], [mode], (metric, mode))


def source_of(
    search: Search,
    space: Mapping[str, Any],
    num_samples: int,
    seed: int,
    prefix: str,
    name: str,
    goal: Goal,
    made: int = 0,
) -> Source:
    """Where trials come from, after those that an earlier run `made`. Raises ValueError for a space that is unfit."""
    if isinstance(search, OptunaSearch):
        return StudySource(search, space, num_samples, seed, prefix, name, (goal.metrics, goal.modes), made)
    if isinstance(search, Searcher):
        _take_space(search, space, goal)
        return SearcherSource(search, space, num_samples, seed, prefix, made)
    source = TrialSource(search, space, num_samples, seed, prefix)
    source.skip(made)
    return source


def _take_space(search: Searcher, space: Mapping[str, Any], goal: Goal) -> None:
    """Give the searcher metric, mode and space. Raises ValueError for a space that it does not take."""
    takes = search.set_search_properties(*goal.compared_by, dict(space))
    if not takes and (names := variants.drawn_names(space)):
        raise ValueError(
            f"param_space has values to search for ({', '.join(names)}), but {type(search).__name__} does not take a "
            "search space: its set_search_properties() returned False. Leave them out, or let it take them and return "
            "True."
        )


def given_of(search: Search) -> Any:
    """The arguments of a search by Optuna, as JSON, for the journal; what follows from the seed needs none."""
    return encoded(search.given) if isinstance(search, OptunaSearch) else None


def search_again(stored: Mapping[str, Any] | None, known: Callable[[Any, str, str], Any]) -> Search | None:
    """The search of a restored experiment, from its journal; `known` raises for what the journal could not store."""
    if stored is None or stored["name"] == BasicVariantGenerator.__name__:
        return None
    if stored["name"] != OptunaSearch.__name__:
        raise ValueError(
            f"The experiment had a search of your own, {stored['name']}: pass it again, Tuner.restore(path, trainable, "
            "tune_config=TuneConfig(search_alg=…))."
        )
    instead = "tune_config=TuneConfig(search_alg=…)"
    given: dict[str, Any] = known(stored["given"], "the options of OptunaSearch", instead)
    return OptunaSearch(**given)
