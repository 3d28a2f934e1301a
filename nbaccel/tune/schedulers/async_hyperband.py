"""ASHA: asynchronous successive halving. Only the best 1 / reduction_factor of the trials pass each rung.

After "A System for Massively Parallel Hyperparameter Tuning" (arXiv 1810.05934). Its decisions equal those of Ray
Tune's class; `tests/tune/recorded` has 1,000 lists of events with Ray's decisions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from nbaccel.tune.schedulers.trial_scheduler import CONTINUE, FINISH, PRUNE, Decision, Result, TrialScheduler, number_of


class AsyncHyperBandScheduler(TrialScheduler):
    """Stop trials that are not among the best when they reach a rung.

    time_attr         the result's time: "training_iteration" counts reports
    max_t             trials have finished at this time, unless stop_last_trials is False
    grace_period      the first rung: no trial stops before it
    reduction_factor  of the trials at a rung, the best 1 / reduction_factor go on; the rungs are grace_period times
                      the powers of it
    brackets          above 1, trials are spread at random over brackets, each of which leaves out one more of the first
                      rungs
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: int = 100,
        grace_period: int = 1,
        reduction_factor: float = 4,
        brackets: int = 1,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        if not 0 < grace_period <= max_t:
            raise ValueError(f"ASHAScheduler: 0 < grace_period={grace_period} <= max_t={max_t} must hold.")
        if not reduction_factor > 1:
            raise ValueError(f"ASHAScheduler(reduction_factor={reduction_factor}) must be larger than 1.")
        if brackets < 1:
            raise ValueError(f"ASHAScheduler(brackets={brackets}) must be 1 or more.")
        self.time_attr = time_attr
        self._max_t = max_t
        self._factor = reduction_factor
        self._stops_last = stop_last_trials
        self._brackets = [_rungs(grace_period, max_t, reduction_factor, number) for number in range(brackets)]
        self._bracket_of: dict[str, list[_Rung]] = {}
        self._rng = random.Random(brackets)

    def add(self, trial: str, config: dict[str, Any]) -> None:
        largest = max(len(bracket) for bracket in self._brackets)
        weights = [math.exp(len(bracket) - largest) for bracket in self._brackets]
        self._bracket_of[trial] = self._rng.choices(self._brackets, weights)[0]

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is None or value is None:
            return CONTINUE
        if time >= self._max_t and self._stops_last:
            return FINISH
        return self._at_rungs(trial, time, value)

    def on_complete(self, trial: str, result: Result) -> None:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is not None and value is not None:
            self._at_rungs(trial, time, value)

    def _at_rungs(self, trial: str, time: float, value: float) -> Decision:
        for rung in self._bracket_of[trial]:
            if time < rung.time:
                continue
            if trial in rung.values:
                if self._stops_last:
                    continue
                return CONTINUE  # this rung has decided
            below = rung.is_below_cutoff(value, self._factor)
            rung.values[trial] = value
            return PRUNE if below else CONTINUE
        return CONTINUE


class _Rung:
    """A time at which trials are compared, with the values that they had there."""

    def __init__(self, time: float) -> None:
        self.time = time
        self.values: dict[str, float] = {}

    def is_below_cutoff(self, value: float, factor: float) -> bool:
        known = sorted(each for each in self.values.values() if not math.isnan(each))
        # Through percent and back, as Ray computes it: the last bit decides where values are equal.
        return bool(known) and value < _quantile(known, (1 - 1 / factor) * 100 / 100)


def _rungs(first: float, max_t: float, factor: float, left_out: int) -> list[_Rung]:
    """The rungs of a bracket, the last one first."""
    count = int(math.log(max_t / first) / math.log(factor) - left_out + 1)
    return [_Rung(first * factor ** (place + left_out)) for place in reversed(range(count))]


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share lies, interpolated linearly as numpy does."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    part = place - low
    if ordered[low] == ordered[high]:
        return ordered[low]
    step = ordered[high] - ordered[low]
    return ordered[high] - step * (1 - part) if part >= 0.5 else ordered[low] + step * part


ASHAScheduler = AsyncHyperBandScheduler
