"""The median stopping rule: a trial ends if its best value is worse than the median of what others had by then.

After "Google Vizier: A Service for Black-Box Optimization" (KDD 2017), with Ray Tune's details.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

from nbaccel.tune.schedulers.trial_scheduler import CONTINUE, PAUSE, PRUNE, Decision, Result, TrialScheduler, number_of


class MedianStoppingRule(TrialScheduler):
    """Stop a trial whose best value is worse than the median of the other trials' running means at the same time.

    time_attr             the result's time; by default seconds of the trial, "time_total_s"
    grace_period          no trial stops before this time
    min_samples_required  so many other trials must have come as far
    hard_stop             False: such a trial pauses, if it has a checkpoint, and goes on when no other one waits
    min_time_slice        a trial that has gone on after a pause goes on for this long at least

    >>> config = tune.TuneConfig(metric="loss", mode="min", scheduler=MedianStoppingRule(grace_period=5))
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        grace_period: float = 60.0,
        min_samples_required: int = 3,
        min_time_slice: int = 0,
        hard_stop: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        self.time_attr = time_attr
        self._grace = grace_period
        self._least = min_samples_required
        self._stops, self._slice = hard_stop, min_time_slice
        self._paused_at: dict[str, float] = {}
        self._results: dict[str, list[tuple[float, float]]] = {}  # time, value (larger is better)

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is None or value is None:
            return CONTINUE
        own = self._results.setdefault(trial, [])
        own.append((time, value))
        if time < self._grace:
            return CONTINUE
        means = [self._mean(other, time) for other in self._results if other != trial and self._came_to(other, time)]
        finite = [mean for mean in means if math.isfinite(mean)]
        if len(finite) < self._least:
            return CONTINUE
        best = max((each for _, each in own if not math.isnan(each)), default=-math.inf)
        if best >= statistics.median(finite):
            return CONTINUE
        if self._stops:
            return PRUNE
        if time - self._paused_at.get(trial, -math.inf) <= self._slice:
            return CONTINUE
        self._paused_at[trial] = time
        return PAUSE

    def on_trial_result(self, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        decision = self.on_result(trial.id, result)
        if decision.kind != "pause":
            return decision
        waits = any(each.status in ("PENDING", "PAUSED") for each in controller.get_trials())
        return decision if waits and controller.can_pause(trial) else CONTINUE

    def on_complete(self, trial: str, result: Result) -> None:
        time, value = number_of(result, self.time_attr), self.value(result)
        if time is not None and value is not None:
            self._results.setdefault(trial, []).append((time, value))

    def _came_to(self, trial: str, time: float) -> bool:
        return self._results[trial][-1][0] >= time

    def _mean(self, trial: str, time: float) -> float:
        values = [value for at, value in self._results[trial] if self._grace <= at <= time]
        return statistics.fmean(values) if values else math.nan

    def __repr__(self) -> str:
        return f"MedianStoppingRule(grace_period={self._grace:g}, min_samples_required={self._least})"
