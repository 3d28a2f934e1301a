"""Chooses where the configs of trials come from: grids and random values, or a study of Optuna."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.experiment_journal import encoded
from nbaccel.tune.schedulers import TrialScheduler
from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC
from nbaccel.tune.search import variant_generator
from nbaccel.tune.search.basic_variant import BasicVariantGenerator
from nbaccel.tune.search.optuna import OptunaSearch, StudySource
from nbaccel.tune.search.sample import generator
from nbaccel.tune.search.searcher import ConcurrencyLimiter, Searcher
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.tune_config import TuneConfig

# ---- the trials of a Searcher: asks it for configs, and tells it what trials have reported and how they ended


STATE = Searcher.CKPT_FILE_TMPL.format("nbaccel")


class SearcherSource:
    """The trials of a search of the user's own, for the thread of the experiment.

    space  what configs have beside what is suggested; domains in it are drawn at random
    """

    def __init__(
        self, searcher: Searcher, space: Mapping[str, Any], num_samples: int, seed: int, prefix: str, made: int
    ) -> None:
        self._searcher, self._space, self._num_samples, self._prefix = searcher, space, num_samples, prefix
        self._rng = random.Random(seed + made)
        self._made = made
        self._is_finished = False
        self._live: set[str] = set()
        self.folder = ""  # of the experiment, for the searcher's state

    @property
    def is_exhausted(self) -> bool:
        return self._is_finished or 0 <= self._num_samples <= self._made

    def all_at_once(self) -> list[Trial]:
        return []

    def next(self) -> Trial | None:
        """The next trial; None if there is none now."""
        if self.is_exhausted:
            return None
        name = f"{self._prefix}_{self._made:05d}"
        suggested = self._searcher.suggest(name)
        if suggested is None:
            return None
        if suggested == Searcher.FINISHED:
            self._is_finished = True
            return None
        if not isinstance(suggested, Mapping):
            raise ValueError(
                f"{type(self._searcher).__name__}.suggest() returned {suggested!r}: it returns a dict, None, or "
                "Searcher.FINISHED."
            )
        config = next(variant_generator.variants(_merged(self._space, suggested), self._rng))
        trial = Trial(name, self._made, config, drawn=tuple(comparing.flat(dict(suggested))))
        self._made += 1
        self._live.add(name)
        return trial

    def config(self, trial: Trial) -> dict[str, Any]:
        raise ValueError(
            f"Trial {trial.id} has parameters that the journal could not store ({', '.join(trial.unknown)}), and a "
            "searcher does not suggest them again: such a trial cannot go on."
        )

    def on_result(self, trial: Trial, result: Mapping[str, Any], ends: bool) -> None:
        if not ends and trial.id in self._live:
            self._searcher.on_trial_result(trial.id, _flat(result))

    def on_end(self, trial: Trial) -> None:
        if trial.id not in self._live:
            return
        self._live.discard(trial.id)
        failed = trial.state is TrialState.ERROR
        result = None if failed or not trial.reports else _flat(trial.last_result)
        self._searcher.on_trial_complete(trial.id, result=result, error=failed)
        if self.folder and type(self._searcher).save is not Searcher.save:
            try:
                self._searcher.save(os.path.join(self.folder, STATE))
            except NotImplementedError:
                pass  # of a searcher inside

    def replay(self, trials: Iterable[Trial]) -> None:
        """Go on from the searcher's saved state, if there is one; it learns of trials that run again when they end."""
        trials = list(trials)
        self._live = {trial.id for trial in trials if not trial.has_ended}
        path = os.path.join(self.folder, STATE)
        if trials and os.path.exists(path) and type(self._searcher).restore is not Searcher.restore:
            self._searcher.restore(path)


def _flat(result: Mapping[str, Any]) -> dict[str, Any]:
    return {**result, **comparing.flat(dict(result))}


def _merged(space: Mapping[str, Any], suggested: Mapping[str, Any]) -> dict[str, Any]:
    """The space with what was suggested in it; dicts are merged."""
    found: dict[str, Any] = variant_generator.copied(space)
    for name, value in suggested.items():
        old = found.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and not variant_generator.is_grid(old):
            found[name] = _merged(old, value)
        else:
            found[name] = variant_generator.copied(value)
    return found


# ----
# makes the trials of an experiment from a search: all at once where their number is known, else one after another
#
# Trials that are made at once are in the journal before the first begins, so that an experiment goes on without its
# search space.


MOST_AT_ONCE = 10_000


class TrialSource:
    """The trials of grids and random values.

    prefix  the beginning of the ids of trials
    """

    def __init__(
        self, search: BasicVariantGenerator, space: Mapping[str, Any], num_samples: int, seed: int, prefix: str
    ) -> None:
        self._search, self._space, self._num_samples, self._seed = search, space, num_samples, seed
        self._configs = search.configs(space, num_samples, seed)
        self._prefix = prefix
        self._drawn = variant_generator.drawn_names(space)
        self._next = 0
        self.is_exhausted = False

    def all_at_once(self) -> list[Trial]:
        """All trials, if their number is known and not large; else none, and `next` makes them."""
        count = self._search.count(self._space, self._num_samples)
        if count is None or count > MOST_AT_ONCE:
            return []
        made = []
        while (trial := self.next()) is not None:
            made.append(trial)
        return made

    def next(self) -> Trial | None:
        """The next trial; None after the last."""
        config = next(self._configs, None)
        if config is None:
            self.is_exhausted = True
            return None
        trial = Trial(f"{self._prefix}_{self._next:05d}", self._next, config, drawn=self._drawn)
        self._next += 1
        return trial

    def skip(self, number: int) -> None:
        """Pass over the trials that an earlier run made."""
        for _ in range(number):
            self.next()

    def config(self, trial: Trial) -> dict[str, Any]:
        """The config of a trial, made again."""
        for index, config in enumerate(self._search.configs(self._space, self._num_samples, self._seed)):
            if index == trial.number:
                return config
        raise ValueError(f"param_space gives fewer than {trial.number + 1} configs: it is another space than before.")


def fill_unknown(trial: Trial, again: dict[str, Any]) -> None:
    """Give a trial of a journal the values that the journal could not store. Raises ValueError for another space."""
    by_name = {variant_generator.named(path): path for path, _ in variant_generator.leaves(trial.config)}
    for name, text in trial.unknown.items():
        path = by_name[name]
        try:
            value = variant_generator.at(again, path)
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"param_space has no parameter {name}, which trial {trial.id} had ({text}).") from None
        variant_generator.assign(trial.config, path, value)
    trial.unknown.clear()


# ----


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
    metric = search.metric if isinstance(search.metric, str) and scheduler.metric is None else None
    mode = search.mode if isinstance(search.mode, str) and scheduler.mode is None else None
    if metric or mode:
        scheduler.set_search_properties(metric, mode)


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
    if not takes and (names := variant_generator.drawn_names(space)):
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
