"""TuneConfig, and RunConfig as Ray Tune has it. FailureConfig and CheckpointConfig are those of nbaccel.train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from nbaccel.train.configs import RunConfig
from nbaccel.tune import stopper
from nbaccel.tune.callback import Callback
from nbaccel.tune.plain_numbers import plain_number
from nbaccel.tune.schedulers import TrialScheduler, create_scheduler
from nbaccel.tune.search import create_searcher

_LONGEST_S = 1e9  # about 32 years: a longer budget, also math.inf, is none


@dataclass
class TuneConfig:
    """How an experiment searches.

    metric, mode           what trials are compared by ("eval/loss" is nested), and "min" or "max"
    search_alg             BasicVariantGenerator (grids and random values, the default) or OptunaSearch, or "optuna"
    scheduler              ASHAScheduler and its siblings, or a name for create_scheduler
    num_samples            how often the space is drawn from; a grid is repeated so often. -1: until something stops it
    max_concurrent_trials  the most trials at one time; None: as many as fit
    time_budget_s          seconds (or a timedelta), after which trials end at their next report
    reuse_actors           accepted: trials without a device run in warm processes anyhow
    """

    mode: str | None = None
    metric: str | None = None
    search_alg: Any = None
    scheduler: TrialScheduler | str | None = None
    num_samples: int = 1
    max_concurrent_trials: int | None = None
    time_budget_s: float | timedelta | None = None
    reuse_actors: bool = False
    trial_name_creator: Callable[..., str] | None = None
    trial_dirname_creator: Callable[..., str] | None = None

    def __post_init__(self) -> None:
        for name in ("num_samples", "max_concurrent_trials", "time_budget_s"):
            setattr(self, name, plain_number(getattr(self, name)))
        if self.metric is not None and not isinstance(self.metric, str):
            raise ValueError(
                f"TuneConfig(metric={self.metric!r}) must be the name of a metric. To search for several goals, give "
                "them to OptunaSearch(metric=[...], mode=[...])."
            )
        if self.mode not in (None, "min", "max"):
            raise ValueError(f"TuneConfig(mode={self.mode!r}) must be 'min' or 'max'.")
        if not isinstance(self.num_samples, int) or self.num_samples < -1 or self.num_samples == 0:
            raise ValueError(f"TuneConfig(num_samples={self.num_samples!r}) must be an int from 1, or -1 for no end.")
        most = self.max_concurrent_trials
        if most is not None and (not isinstance(most, int) or most < 0):
            raise ValueError(f"TuneConfig(max_concurrent_trials={most!r}) must be None or an int from 1.")
        if isinstance(self.time_budget_s, timedelta):
            self.time_budget_s = self.time_budget_s.total_seconds()
        budget = self.time_budget_s
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, (int, float)) or not budget >= 0):
            raise ValueError(
                f"TuneConfig(time_budget_s={budget!r}) must be a number of seconds from 0, a timedelta, or None."
            )
        if budget is not None and budget > _LONGEST_S:
            self.time_budget_s = None
        if isinstance(self.search_alg, str):
            self.search_alg = create_searcher(self.search_alg)
        if isinstance(self.scheduler, str):
            self.scheduler = create_scheduler(self.scheduler)
        if self.scheduler is not None and not isinstance(self.scheduler, TrialScheduler):
            raise ValueError(
                f"TuneConfig(scheduler) takes a scheduler of nbaccel.tune.schedulers, not "
                f"{type(self.scheduler).__module__}.{type(self.scheduler).__name__}."
            )
        for name in ("trial_name_creator", "trial_dirname_creator"):
            if getattr(self, name) is not None:
                raise NotImplementedError(
                    f"TuneConfig({name}=...) is not here: a trial's id is its name and its folder, so that a moved "
                    "experiment can be continued."
                )


_OF_TUNE = ("stop", "verbose", "progress_reporter", "log_to_file", "callbacks")


class TuneRunConfig(RunConfig):
    """The name, folder, stop rule and callbacks of an experiment; the other fields are those of nbaccel.train.

    name       a folder of `storage_path`; a new experiment of a name that is taken is `name-2`
    stop       when a trial ends: a dict of metrics, a function of trial_id and result, or a Stopper
    callbacks  a list of `nbaccel.tune.Callback`s
    verbose, progress_reporter, log_to_file  accepted, and change nothing: an experiment has a card in a notebook and a
               line in a terminal, and what trials print is in the engine's logs
    """

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _OF_TUNE}
        for name in _OF_TUNE:
            setattr(self, name, None)
        if self.storage_filesystem is not None or "://" in str(self.storage_path or ""):
            raise NotImplementedError(
                "An experiment is written to a folder: RunConfig(storage_path=...) takes no URL and no "
                "storage_filesystem in nbaccel.tune. Copy the folder afterwards; a moved experiment can be continued."
            )
        super().__post_init__()
        stopper.of(given["stop"])
        callbacks = given.pop("callbacks") or []
        if not all(isinstance(each, Callback) for each in callbacks):
            raise ValueError(f"RunConfig(callbacks) takes a list of nbaccel.tune.Callback objects, not {callbacks!r}.")
        self.callbacks = list(callbacks)
        for name, value in given.items():
            setattr(self, name, value)


def of_tune(config: RunConfig | None) -> RunConfig:
    """The RunConfig of an experiment; one of nbaccel.train works as well."""
    if config is None:
        return TuneRunConfig()
    if not isinstance(config, RunConfig):
        raise ValueError(
            f"run_config takes nbaccel.tune.RunConfig, not {type(config).__module__}.{type(config).__name__}: import "
            "it from nbaccel.tune."
        )
    if isinstance(config, TuneRunConfig):
        return config
    return TuneRunConfig(
        **{each.name: getattr(config, each.name) for each in fields(config) if each.name != "callbacks"}
    )
