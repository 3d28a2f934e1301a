"""Makes an experiment from what the user gave: checks it, opens the folder, and builds the runner."""

from __future__ import annotations

import copy
import json
import math
import os
import random
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import api
from nbaccel.train import storage
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.tune import comparing, experiment_journal, stopper
from nbaccel.tune import schedulers as scheduler_names
from nbaccel.tune.error import could_not_write
from nbaccel.tune.experiment_journal import MOST_BITS, ExperimentPast, OpenExperiment, UnknownValue, decoded, encoded
from nbaccel.tune.resources import SCALING, TrainerTrial, requested_by
from nbaccel.tune.runner import Runner, RunnerPlan
from nbaccel.tune.schedulers import FIFOScheduler, TrialScheduler
from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC, SCHEDULER_STATE
from nbaccel.tune.search import ConcurrencyLimiter, Searcher, variant_generator
from nbaccel.tune.search.optuna import OptunaSearch, StudySource
from nbaccel.tune.search.sample import (
    Categorical,
    Domain,
    Float,
    Integer,
    LogUniform,
    Normal,
    Quantized,
    Sampler,
    Uniform,
    generator,
    qrandn,
    randn,
)
from nbaccel.tune.search.variant_generator import BasicVariantGenerator
from nbaccel.tune.trainable import BoundTrainable, Trainable, is_class, name_of
from nbaccel.tune.trial import Trial, TrialNames, TrialState
from nbaccel.tune.trial_decisions import Rules, TrialDecisions
from nbaccel.tune.trial_session import ClassOptions
from nbaccel.tune.tune_config import ResumeConfig, TuneCheckpointConfig, TuneConfig, log_files_of
from nbaccel.views import wording

# ---- the search of an experiment, and where its trials come from


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


@dataclass(slots=True)
class Wanted:
    """What the user asked for. `space` is None in a restored experiment without it, given again or in its journal."""

    trainable: Any
    space: Mapping[str, Any] | None
    tune: TuneConfig
    run: RunConfig
    exports: tuple[str, ...] = ()  # formats of models
    begins_from: str = ""  # the folder of a checkpoint, for trials that have none


def start_new(wanted: Wanted) -> Runner:
    """Begin a new experiment. Raises ValueError for what looks like a mistake, TuneError for a folder."""
    space: Mapping[str, Any] = wanted.space or {}
    variant_generator.check(space)
    if isinstance(wanted.trainable, TrainerTrial):
        wanted.trainable.check(space)
    search = search_of(wanted.tune)
    scheduler = _scheduler_of(wanted.tune, search)
    goal = goal_of(search, wanted.tune, scheduler)
    _refuse_the_debug_engine()
    seed, prefix = seed_of(search), secrets.token_hex(3)[:5]
    name = wanted.run.name or f"{name_of(wanted.trainable)}_{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    source = source_of(search, space, wanted.tune.num_samples, seed, prefix, name, goal)
    trials = source.all_at_once()
    opened = experiment_journal.open_new(wanted.run, name)
    facts = {
        "experiment": opened.name,
        "trainable": name_of(wanted.trainable),
        "started": time.time(),
        "metric": wanted.tune.metric,
        "mode": wanted.tune.mode,
        "num_samples": wanted.tune.num_samples,
        "seed": seed,
        "prefix": prefix,
        "total": len(trials) if source.is_exhausted else None,
        "space": _texts(space),
        "stored_space": stored(space),
        "max_failures": wanted.run.failure_config.max_failures,
        "keeps": _keeping(wanted.run.checkpoint_config),
        "max_concurrent": wanted.tune.max_concurrent_trials or max_concurrent(search) or None,
        "scheduler": {"name": type(scheduler).__name__, "given": encoded(scheduler.given)},
        "search": {"name": type(search).__name__, "given": given_of(search)},
        "stop": encoded(wanted.run.stop),
    }
    try:
        opened.journal.begin(facts)
        runner = _runner(wanted, opened, scheduler, search, source, trials, goal)
        for trial in trials:
            opened.journal.trial(trial)
        opened.journal.sync()
        return runner
    except BaseException as error:
        opened.close()
        if isinstance(error, OSError):
            raise could_not_write(opened.name, opened.folder, error) from error
        raise


def start_again(path: str | os.PathLike[str], wanted: Wanted, again: ResumeConfig) -> Runner:
    """Go on with an experiment of an earlier process."""
    _refuse_the_debug_engine()
    opened = experiment_journal.reopen(path)
    try:
        return _go_on(opened, wanted, again)
    except BaseException as error:
        opened.close()
        if isinstance(error, OSError):
            raise could_not_write(opened.name, opened.folder, error) from error
        raise


def refuse_another(past: ExperimentPast, wanted: Wanted) -> None:
    """Raises ValueError for a trainable or for parameters that are not those of the experiment, as in Ray."""
    before, now = past.facts.get("trainable"), name_of(wanted.trainable)
    if before not in (None, now):
        raise ValueError(
            f"Tuner.restore: the experiment has run {before}, and not {now}. Give the same trainable, which may have "
            "been mended under its name."
        )
    if wanted.space is None or "space" not in past.facts:
        return
    given, known = (sorted(each) for each in (_texts(wanted.space), past.facts["space"]))
    if given != known:
        raise ValueError(
            f"Tuner.restore(param_space=...): the experiment has the parameters {known}, and not {given}. Its values "
            "may be given again; other parameters are for a new experiment."
        )


def _texts(space: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a space, by name, with their values as text."""
    return {
        variant_generator.named(path): wording.text_of(value, text=repr)
        for path, value in variant_generator.leaves(space)
    }


def _go_on(opened: OpenExperiment, wanted: Wanted, again: ResumeConfig) -> Runner:
    past = opened.past
    tune = _tune_config(past, wanted.tune)
    run = replace(wanted.run)
    if run.stop is None and past.facts.get("stop") is not None:
        run.stop = known(past.facts["stop"], "stop=", "run_config=")
    failures = run.failure_config
    run.failure_config = replace(failures, max_failures=failures.max_failures or past.facts.get("max_failures", 0))
    if _keeping(run.checkpoint_config) == _keeping(TuneCheckpointConfig()):
        run.checkpoint_config = TuneCheckpointConfig(**past.facts.get("keeps", {}))
    number = tune.num_samples
    facts: dict[str, Any] = {"restored": time.time(), "num_samples": number}
    space = wanted.space
    if space is not None:
        facts["stored_space"] = stored(space)
    elif past.facts.get("total") is None or number != past.facts["num_samples"]:  # else all trials are in the journal
        space = read(past.facts.get("stored_space"))
    wanted = replace(wanted, space=space, tune=tune, run=run)
    search = search_of(tune)
    scheduler = _scheduler_of(tune, search)
    goal = goal_of(search, tune, scheduler)
    source = _source_again(past, wanted, search, goal)
    trials = list(past.trials.values())
    _choose(opened, trials, again)
    for trial in trials:
        if trial.unknown and not trial.has_ended:
            _makeknown(trial, wanted, source)
    facts["total"] = past.facts.get("total") if number == past.facts["num_samples"] else None  # more come as they run
    opened.journal.begin(facts)
    return _runner(wanted, opened, scheduler, search, source, trials, goal)


def _keeping(config: CheckpointConfig) -> dict[str, Any]:
    """Which checkpoints are kept, for the journal."""
    names = ("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order", "checkpoint_frequency",
             "checkpoint_at_end")  # fmt: skip
    return {name: getattr(config, name) for name in names}


def _choose(opened: OpenExperiment, trials: list[Trial], again: ResumeConfig) -> None:
    """Set the trials that run again to PENDING, and end those that had not ended and do not."""
    kinds = ResumeConfig.ResumeType
    for trial in trials:
        ended = again.errored if trial.state is TrialState.ERROR else again.finished
        how = ended if trial.has_ended else again.unfinished
        if how is kinds.SKIP:
            if not trial.has_ended:
                trial.state = TrialState.STOPPED
                opened.journal.state(trial)
            continue
        trial.failures = 0 if trial.has_ended else trial.failures
        trial.state, trial.error_words, trial.is_pruned = TrialState.PENDING, "", False
        if how is kinds.RESTART:
            for kept in trial.kept:
                opened.journal.deleted(trial, kept.folder)
                storage.delete(os.path.join(opened.folder, trial.folder_name), kept.folder)
            trial.kept, trial.reports, trial.first_report = [], [], 0  # numbers of checkpoints go on, as in Ray
            for name in ("error.txt", "error.pkl"):
                Path(opened.folder, trial.folder_name, name).unlink(missing_ok=True)


def _makeknown(trial: Trial, wanted: Wanted, source: Any) -> None:
    if wanted.space is None:
        names = ", ".join(f"{name}={text}" for name, text in trial.unknown.items())
        raise ValueError(
            f"Trial {trial.id} has parameters that the journal could not store ({names}): pass "
            "Tuner.restore(path, trainable, param_space=...)."
        )
    fill_unknown(trial, source.config(trial))


def _source_again(past: ExperimentPast, wanted: Wanted, search: Any, goal: Goal) -> Any:
    """Where further trials come from; None if all of them are in the journal, and no study learns from them."""
    facts, number = past.facts, wanted.tune.num_samples
    if wanted.space is None and getattr(search, "space", None) is None:
        has_all = not isinstance(search, BasicVariantGenerator) and 0 <= number <= len(past.trials)
        if not has_all and (facts.get("total") is None or number != facts["num_samples"]):
            raise ValueError(
                "This experiment has not made all its trials, and its journal could not store its search space (it has "
                "functions, objects or very many values): pass Tuner.restore(path, trainable, param_space=...)."
            )
        if isinstance(search, BasicVariantGenerator):
            return None
    space: Mapping[str, Any] = wanted.space or {}
    variant_generator.check(space)
    name, made = facts["experiment"], len(past.trials)
    return source_of(search, space, number, facts["seed"], facts["prefix"], name, goal, made)


def _runner(
    wanted: Wanted,
    opened: OpenExperiment,
    scheduler: TrialScheduler,
    search: Any,
    source: Any,
    trials: list[Trial],
    goal: Goal,
) -> Runner:
    failures = wanted.run.failure_config
    names = TrialNames(name_of(wanted.trainable), wanted.tune.trial_name_creator, wanted.tune.trial_dirname_creator)
    criterion = dict(wanted.run.stop) if isinstance(wanted.run.stop, Mapping) else {}

    def named(trial: Trial) -> None:
        names.name(trial, opened.folder)
        trial.stopping_criterion, trial.keeping = criterion, wanted.run.checkpoint_config

    most = wanted.tune.max_concurrent_trials or max_concurrent(search)
    experiment = TrialDecisions(
        scheduler,
        stopper.of(wanted.run.stop),
        Rules(failures.max_failures, failures.fail_fast or False, most),
        source.next if source is not None else lambda: None,
        (lambda: source.is_exhausted) if source is not None else lambda: True,
        named,
    )
    experiment.controller.search_alg = search
    experiment.controller.makes_checkpoints = is_class(wanted.trainable)
    state = os.path.join(opened.folder, SCHEDULER_STATE)
    if trials and type(scheduler).restore is not TrialScheduler.restore and os.path.exists(state):
        scheduler.restore(state)
    for trial in trials:
        experiment.add(trial)
        if trial.reports:
            scheduler.replay(trial.id, [trial.result(each["metrics"]) for each in trial.reports])
    plan = RunnerPlan(
        wanted.trainable,
        _resources(wanted, trials),
        wanted.run,
        _strict_metric(goal),
        wanted.tune.time_budget_s,  # type: ignore[arg-type]  # a timedelta has become seconds
        goal.compared_by,
        total=_total(search, wanted, source, trials),
        num_samples=wanted.tune.num_samples,
        works_in_folder=wanted.tune.works_in_folder,
        log_files=log_files_of(wanted.run.log_to_file),
        of_class=_class_options(wanted),
        begins_from=wanted.begins_from,
    )
    if isinstance(source, (StudySource, SearcherSource)):
        if isinstance(source, SearcherSource):
            source.folder = opened.folder
        source.replay(trials)
        plan.on_result, plan.on_trial_end = source.on_result, source.on_end
        plan.study = getattr(source, "study", None)
    return Runner(opened, experiment, plan)


def _class_options(wanted: Wanted) -> ClassOptions:
    """How a class of trainables is run. Raises ValueError for what a function cannot do."""
    keeping = wanted.run.checkpoint_config
    if not is_class(wanted.trainable):
        for name in ("checkpoint_frequency", "checkpoint_at_end"):
            if getattr(keeping, name):
                raise ValueError(
                    f"CheckpointConfig({name}={getattr(keeping, name)!r}) is for a class of trainables: a function "
                    "makes its checkpoints itself, tune.report(metrics, checkpoint=...)."
                )
        return ClassOptions()
    at_end = keeping.checkpoint_at_end
    if at_end is None:  # as in Ray, if the class can save
        given = wanted.trainable
        cls = given.function if isinstance(given, BoundTrainable) else given
        at_end = cls.save_checkpoint is not Trainable.save_checkpoint
    return ClassOptions(
        keeping.checkpoint_frequency or 0,
        at_end,
        wanted.exports,
        wanted.tune.reuse_actors,
    )


def _resources(wanted: Wanted, trials: list[Trial]) -> Any:
    """What a trial holds; a function of the config if trials differ in it."""
    trainable = wanted.trainable
    if not isinstance(trainable, TrainerTrial):
        return requested_by(trainable)
    differ = any(SCALING in config for config in (wanted.space or {}, *(trial.config for trial in trials)))
    return trainable.resources if differ else trainable.resources({})


def _total(search: Any, wanted: Wanted, source: Any, trials: list[Trial]) -> int | None:
    """How many trials there will be; None if that is not known."""
    if source is None:
        return len(trials)
    if isinstance(search, BasicVariantGenerator):
        return search.count(wanted.space or {}, wanted.tune.num_samples)
    return wanted.tune.num_samples if wanted.tune.num_samples > 0 else None


def _strict_metric(goal: Goal) -> str:
    """The metric that every report must have, as in Ray; its variable turns the check off."""
    if os.environ.get("TUNE_DISABLE_STRICT_METRIC_CHECKING") == "1":
        return ""
    metric = goal.compared_by[0] or ""
    return "" if metric == DEFAULT_METRIC else metric


def _scheduler_of(tune: TuneConfig, search: Any) -> TrialScheduler:
    scheduler = tune.scheduler
    if scheduler is None:
        return FIFOScheduler()
    assert isinstance(scheduler, TrialScheduler)
    args, kwargs = scheduler.given
    if scheduler.has_served:  # it has decided about other trials
        scheduler = type(scheduler)(*args, **kwargs)
    scheduler.has_served = True
    if not scheduler.set_search_properties(tune.metric, tune.mode):
        raise ValueError(
            f"metric and mode are given twice, to TuneConfig and to {type(scheduler).__name__}: give them once."
        )
    check_pair(search, scheduler)
    scheduler.check()
    return scheduler


def _tune_config(past: ExperimentPast, given: TuneConfig) -> TuneConfig:
    """The TuneConfig of a restored experiment: what is given again, else what its journal says."""
    facts = past.facts
    scheduler = given.scheduler
    if scheduler is None and facts["scheduler"]["name"] != "FIFOScheduler":
        what = facts["scheduler"]["name"]
        args, kwargs = known(
            facts["scheduler"]["given"], f"the options of {what}", "tune_config=TuneConfig(scheduler=…)"
        )
        made = getattr(scheduler_names, what, None) if what in scheduler_names.__all__ else None
        if made is None:
            raise ValueError(
                f"The experiment had a scheduler of your own, {what}: pass it again, Tuner.restore(path, trainable, "
                "tune_config=TuneConfig(scheduler=…))."
            )
        scheduler = made(*args, **kwargs)
    return replace(
        given,
        search_alg=given.search_alg or search_again(facts.get("search"), known),
        metric=given.metric or facts["metric"],
        mode=given.mode or facts["mode"],
        num_samples=given.num_samples if given.num_samples != 1 else facts["num_samples"],
        max_concurrent_trials=given.max_concurrent_trials or facts["max_concurrent"],
        scheduler=scheduler,
    )


def known(stored: Any, what: str, instead: str) -> Any:
    value = decoded(stored)
    if isinstance(value, UnknownValue) or any(
        isinstance(each, UnknownValue) for _, each in variant_generator.leaves(value)
    ):
        raise ValueError(
            f"The journal could not store {what}: pass it again, Tuner.restore(path, trainable, {instead})."
        )
    return value


def _refuse_the_debug_engine() -> None:
    api.ensure_started()
    if nbaccel.snapshot().runtime.engine == "debug":
        raise ValueError(
            "engine='debug' has one process and cannot run trials beside their experiment. Call the trainable "
            "itself, with a config such as {'lr': 0.1}: tune.report only warns there, and breakpoints work."
        )


# ---- a search space as JSON, for the journal, so that an experiment is given more samples without its space
#
# Only what comes back exactly is stored: plain values, dicts, lists and tuples of them, and every domain but
# `sample_from`, which is a function. Of any other space the journal has None, and it is given again.


MOST_BYTES = 256_000  # of a space; one with larger lists of values is given again
_DOMAIN, _TUPLE = "__domain__", "__tuple__"


class _NotStored(Exception):
    """The space holds something that JSON cannot give back."""


def stored(space: Mapping[str, Any]) -> Any:
    """The space as JSON; None if a part of it would not come back as it is."""
    try:
        found = {name: _stored(value) for name, value in space.items() if _is_name(name)}
        return found if len(json.dumps(found)) <= MOST_BYTES else None
    except _NotStored:
        return None


def read(stored_space: Any) -> dict[str, Any] | None:
    """The space that `stored` made into JSON; None if the journal has none."""
    return None if stored_space is None else {name: _read(value) for name, value in stored_space.items()}


def _stored(value: Any) -> Any:
    kind = type(value)
    if kind is int and value.bit_length() > MOST_BITS:
        raise _NotStored
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is dict and not variant_generator.is_grid(value):
        return {name: _stored(each) for name, each in value.items() if _is_name(name)}
    if kind is list:
        return [_stored(each) for each in value]
    if kind is tuple:
        return {_TUPLE: [_stored(each) for each in value]}
    if variant_generator.is_grid(value):
        return {"grid_search": [_stored(each) for each in variant_generator.values_of(value)]}
    if isinstance(value, Domain):
        return {_DOMAIN: _of_domain(value)}
    raise _NotStored


def _is_name(name: Any) -> bool:
    """Whether this is a name of a parameter. Raises _NotStored for what JSON or this module would read otherwise."""
    if type(name) is not str or name in (_DOMAIN, _TUPLE):
        raise _NotStored
    return True


def _of_domain(domain: Domain) -> list[Any]:
    if type(domain) is Categorical and type(domain.get_sampler()) is Uniform:
        return ["Categorical", _stored(domain.categories)]
    inner = domain.inner if type(domain) in (Float, Integer) else None  # type: ignore[attr-defined]
    if type(inner) is Normal:
        return ["Normal", *map(_stored, (inner.mean, inner.sd, domain.q))]  # type: ignore[attr-defined]
    if type(inner) not in (Uniform, LogUniform):
        raise _NotStored
    parts = domain.name, domain.lower, domain.upper, domain.q, domain.log  # type: ignore[attr-defined]
    return [type(domain).__name__, *map(_stored, parts)]


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_TUPLE}:
        return tuple(_read(each) for each in value[_TUPLE])
    if value.keys() == {_DOMAIN}:
        return _domain(*map(_read, value[_DOMAIN]))
    return {name: _read(each) for name, each in value.items()}


def _domain(kind: str, *parts: Any) -> Domain:
    if kind == "Categorical":
        return Categorical(*parts)
    if kind == "Normal":
        return randn(*parts[:2]) if parts[2] is None else qrandn(*parts)
    _, lower, upper, q, log = parts
    sampler: Sampler = LogUniform() if log else Uniform()
    return (Float if kind == "Float" else Integer)(lower, upper, sampler if q is None else Quantized(sampler, q))
