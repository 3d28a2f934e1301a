"""Schedulers decide after each report whether its trial goes on. Each is pure: results in, decisions out."""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.schedulers.trial_scheduler import (
    ASHAScheduler,
    AsyncHyperBandScheduler,
    FIFOScheduler,
    HyperBandScheduler,
    MedianStoppingRule,
    PopulationBasedTraining,
    PopulationBasedTrainingReplay,
    TrialScheduler,
)
from nbaccel.tune.search import known_arguments

__all__ = [
    "ASHAScheduler",
    "AsyncHyperBandScheduler",
    "FIFOScheduler",
    "HyperBandScheduler",
    "MedianStoppingRule",
    "PopulationBasedTraining",
    "PopulationBasedTrainingReplay",
    "TrialScheduler",
    "create_scheduler",
]

_BY_NAME: dict[str, type[TrialScheduler]] = {
    "fifo": FIFOScheduler,
    "async_hyperband": AsyncHyperBandScheduler,
    "asynchyperband": AsyncHyperBandScheduler,
    "asha": AsyncHyperBandScheduler,
    "median_stopping_rule": MedianStoppingRule,
    "medianstopping": MedianStoppingRule,
    "hyperband": HyperBandScheduler,
    "hyperbandscheduler": HyperBandScheduler,
    "pbt": PopulationBasedTraining,
    "pbt_replay": PopulationBasedTrainingReplay,
}
_ELSEWHERE = {
    "HyperBandForBOHB": "use ASHAScheduler with OptunaSearch, whose TPE sampler is the method of BOHB.",
    "PB2": "use PopulationBasedTraining with hyperparam_mutations={name: tune.uniform(low, high)} for its "
    "hyperparam_bounds, or ASHAScheduler with OptunaSearch(sampler=optuna.samplers.GPSampler()).",
    "ResourceChangingScheduler": "use ASHAScheduler with OptunaSearch; a trial keeps its resources.",
}


_REFUSED = {"pb2": "PB2", "hb_bohb": "HyperBandForBOHB"}


def create_scheduler(scheduler: str, **kwargs: Any) -> TrialScheduler:
    """The scheduler of this name ("asha", "pbt", …) with those of the options that it has, as in Ray.

    Raises ValueError for another name.

    >>> type(tune.create_scheduler("asha", max_t=20)).__name__
    'AsyncHyperBandScheduler'
    """
    found = _BY_NAME.get(scheduler.lower())
    if scheduler.lower() in _REFUSED:
        raise ValueError(f"The scheduler {scheduler!r} is not here: {_ELSEWHERE[_REFUSED[scheduler.lower()]]}")
    if found is None:
        raise ValueError(f"There is no scheduler {scheduler!r}; there are: {', '.join(sorted(_BY_NAME))}.")
    return found(**known_arguments(found, kwargs))


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)
