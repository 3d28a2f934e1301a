"""Makes an experiment from what the user gave: checks it, opens the folder, and builds the runner."""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import nbaccel
from nbaccel import api
from nbaccel.train import storage
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.tune import experiment_journal, searching, stopper
from nbaccel.tune import schedulers as scheduler_names
from nbaccel.tune.error import could_not_write
from nbaccel.tune.experiment_journal import MOST_BITS, ExperimentPast, OpenExperiment, UnknownValue, decoded, encoded
from nbaccel.tune.resources import asked_by
from nbaccel.tune.runner import Runner, RunnerPlan
from nbaccel.tune.schedulers import FIFOScheduler, TrialScheduler
from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC, SCHEDULER_STATE
from nbaccel.tune.search import variant_generator
from nbaccel.tune.search.basic_variant import BasicVariantGenerator
from nbaccel.tune.search.optuna import StudySource
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
    qrandn,
    randn,
)
from nbaccel.tune.searching import SearcherSource, fill_unknown
from nbaccel.tune.trainable import Trainable
from nbaccel.tune.trainables import BoundTrainable, is_class, name_of
from nbaccel.tune.trainer_trial import SCALING, TrainerTrial
from nbaccel.tune.trial import Trial, TrialNames, TrialState
from nbaccel.tune.trial_decisions import Rules, TrialDecisions
from nbaccel.tune.trial_session import ClassOptions
from nbaccel.tune.tune_config import TuneCheckpointConfig, TuneConfig, log_files_of
from nbaccel.views import wording


@dataclass(slots=True)
class Wanted:
    """What the user asked for. `space` is None in a restored experiment without it, given again or in its journal."""

    trainable: Any
    space: Mapping[str, Any] | None
    tune: TuneConfig
    run: RunConfig
    exports: tuple[str, ...] = ()  # formats of models
    begins_from: str = ""  # the folder of a checkpoint, for trials that have none


@dataclass(frozen=True, slots=True)
class Again:
    """Which trials of an earlier run go on, as the arguments of `Tuner.restore`."""

    resume_unfinished: bool = True
    resume_errored: bool = False
    restart_errored: bool = False


def start_new(wanted: Wanted) -> Runner:
    """Begin a new experiment. Raises ValueError for what looks like a mistake, TuneError for a folder."""
    space: Mapping[str, Any] = wanted.space or {}
    variant_generator.check(space)
    if isinstance(wanted.trainable, TrainerTrial):
        wanted.trainable.check(space)
    search = searching.search_of(wanted.tune)
    scheduler = _scheduler_of(wanted.tune, search)
    goal = searching.goal_of(search, wanted.tune, scheduler)
    _refuse_the_debug_engine()
    seed, prefix = searching.seed_of(search), secrets.token_hex(3)[:5]
    name = wanted.run.name or f"{name_of(wanted.trainable)}_{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    source = searching.source_of(search, space, wanted.tune.num_samples, seed, prefix, name, goal)
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
        "max_concurrent": wanted.tune.max_concurrent_trials or searching.max_concurrent(search) or None,
        "scheduler": {"name": type(scheduler).__name__, "given": encoded(scheduler.given)},
        "search": {"name": type(search).__name__, "given": searching.given_of(search)},
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


def start_again(path: str | os.PathLike[str], wanted: Wanted, again: Again) -> Runner:
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


def _go_on(opened: OpenExperiment, wanted: Wanted, again: Again) -> Runner:
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
    search = searching.search_of(tune)
    scheduler = _scheduler_of(tune, search)
    goal = searching.goal_of(search, tune, scheduler)
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


def _choose(opened: OpenExperiment, trials: list[Trial], again: Again) -> None:
    """Set the trials that run again to PENDING; trials that have ended stay as they are."""
    for trial in trials:
        if trial.state is TrialState.ERROR and (again.resume_errored or again.restart_errored):
            trial.state, trial.failures, trial.error_words = TrialState.PENDING, 0, ""
            if again.restart_errored:
                for kept in trial.kept:
                    opened.journal.deleted(trial, kept.folder)
                    storage.delete(os.path.join(opened.folder, trial.folder_name), kept.folder)
                trial.kept, trial.reports, trial.first_report, trial.saved = [], [], 0, 0
        elif not trial.has_ended and not again.resume_unfinished:
            trial.state = TrialState.STOPPED
            opened.journal.state(trial)


def _makeknown(trial: Trial, wanted: Wanted, source: Any) -> None:
    if wanted.space is None:
        names = ", ".join(f"{name}={text}" for name, text in trial.unknown.items())
        raise ValueError(
            f"Trial {trial.id} has parameters that the journal could not store ({names}): pass "
            "Tuner.restore(path, trainable, param_space=...)."
        )
    fill_unknown(trial, source.config(trial))


def _source_again(past: ExperimentPast, wanted: Wanted, search: Any, goal: searching.Goal) -> Any:
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
    return searching.source_of(search, space, number, facts["seed"], facts["prefix"], name, goal, made)


def _runner(
    wanted: Wanted,
    opened: OpenExperiment,
    scheduler: TrialScheduler,
    search: Any,
    source: Any,
    trials: list[Trial],
    goal: searching.Goal,
) -> Runner:
    failures = wanted.run.failure_config
    names = TrialNames(name_of(wanted.trainable), wanted.tune.trial_name_creator, wanted.tune.trial_dirname_creator)
    criterion = dict(wanted.run.stop) if isinstance(wanted.run.stop, Mapping) else {}

    def named(trial: Trial) -> None:
        names.name(trial, opened.folder)
        trial.stopping_criterion, trial.keeping = criterion, wanted.run.checkpoint_config

    most = wanted.tune.max_concurrent_trials or searching.max_concurrent(search)
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
        return asked_by(trainable)
    differ = any(SCALING in config for config in (wanted.space or {}, *(trial.config for trial in trials)))
    return trainable.resources if differ else trainable.resources({})


def _total(search: Any, wanted: Wanted, source: Any, trials: list[Trial]) -> int | None:
    """How many trials there will be; None if that is not known."""
    if source is None:
        return len(trials)
    if isinstance(search, BasicVariantGenerator):
        return search.count(wanted.space or {}, wanted.tune.num_samples)
    return wanted.tune.num_samples if wanted.tune.num_samples > 0 else None


def _strict_metric(goal: searching.Goal) -> str:
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
    searching.check_pair(search, scheduler)
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
        search_alg=given.search_alg or searching.search_again(facts.get("search"), known),
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
            "engine='debug' has one process and cannot run trials beside their experiment. Call the part of the "
            "trainable that does not report, with a config such as {'lr': 0.1}: breakpoints work in this process."
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
