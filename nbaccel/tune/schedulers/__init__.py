"""Schedulers decide after each report whether its trial goes on. Each is pure: results in, decisions out."""

from __future__ import annotations

from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.schedulers.async_hyperband import ASHAScheduler, AsyncHyperBandScheduler
from nbaccel.tune.schedulers.median_stopping_rule import MedianStoppingRule
from nbaccel.tune.schedulers.pbt import PopulationBasedTraining
from nbaccel.tune.schedulers.trial_scheduler import FIFOScheduler, TrialScheduler

__all__ = [
    "ASHAScheduler",
    "AsyncHyperBandScheduler",
    "FIFOScheduler",
    "MedianStoppingRule",
    "PopulationBasedTraining",
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
    "pbt": PopulationBasedTraining,
}
_ASHA = "use ASHAScheduler, which decides without waiting for the other trials of a rung."
_ELSEWHERE = {
    "HyperBandScheduler": _ASHA,
    "HyperBandForBOHB": "use ASHAScheduler with OptunaSearch.",
    "PB2": "use ASHAScheduler with OptunaSearch.",
    "ResourceChangingScheduler": "use ASHAScheduler with OptunaSearch; a trial keeps its resources.",
    "PopulationBasedTrainingReplay": "run the config of the best trial again.",
}


def create_scheduler(scheduler: str, **kwargs: Any) -> TrialScheduler:
    """The scheduler of this name ("asha", "pbt", …) with these options. Raises ValueError for another name."""
    found = _BY_NAME.get(scheduler.lower())
    if found is None:
        raise ValueError(f"There is no scheduler {scheduler!r}; there are: {', '.join(sorted(_BY_NAME))}.")
    return found(**kwargs)


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)
