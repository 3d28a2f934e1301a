"""Synchronous HyperBand: trials run in brackets, and at the end of each round the best of a bracket go on.

After "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (arXiv 1603.06560). A trial that has
come to the end of its round pauses until the others of its bracket are there.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import Any

from nbaccel.tune.schedulers.trial_scheduler import (
    CONTINUE,
    FINISH,
    PAUSE,
    PRUNE,
    Decision,
    Result,
    TrialScheduler,
    number_of,
)

# ---- ASHA: brackets in which nobody waits


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


class HyperBandScheduler(TrialScheduler):
    """Stop the worse trials of a bracket when all of them have come to the end of a round.

    time_attr         the result's time: "training_iteration" counts reports
    max_t             the longest that a trial goes on
    reduction_factor  of the trials of a round, the best 1 / reduction_factor go on
    stop_last_trials  trials that have come to max_t end; else they go on

    ASHAScheduler, which does not wait, is the better choice unless the waiting is wanted. A function must report
    checkpoints and begin from get_checkpoint(), else a trial that has paused begins anew.

    >>> config = tune.TuneConfig(metric="loss", mode="min", scheduler=HyperBandScheduler(max_t=27))
    """

    needs_metric = True

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: int = 81,
        reduction_factor: float = 3,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(metric, mode)
        if not max_t > 0:
            raise ValueError(f"HyperBandScheduler(max_t={max_t}) must be positive.")
        if not reduction_factor > 1:
            raise ValueError(f"HyperBandScheduler(reduction_factor={reduction_factor}) must be larger than 1.")
        self.time_attr = time_attr
        self._max_t, self._factor, self._stops_last = max_t, reduction_factor, stop_last_trials
        self._kinds = math.floor(math.log(max_t) / math.log(reduction_factor) + 1e-9) + 1  # of brackets
        self._brackets: list[_Bracket] = []
        self._of: dict[str, _Bracket] = {}
        self._stopped = 0

    def add(self, trial: str, config: dict[str, Any]) -> None:
        if not self._brackets or self._brackets[-1].is_filled:
            halvings = self._kinds - 1 - len(self._brackets) % self._kinds
            size = math.ceil(self._kinds / (halvings + 1) * self._factor**halvings)
            self._brackets.append(_Bracket(size, halvings, self._max_t, self._factor))
        self._of[trial] = self._brackets[-1]
        self._brackets[-1].join(trial)

    def on_result(self, trial: str, result: Result) -> Decision:
        time, value, bracket = number_of(result, self.time_attr), self.value(result), self._of[trial]
        if time is None or value is None or trial not in bracket.live:
            return CONTINUE
        bracket.live[trial] = (time, value)
        if time < bracket.until:
            return CONTINUE
        return self._after_round(bracket, trial) if bracket.is_round_over else PAUSE

    def _after_round(self, bracket: _Bracket, trial: str) -> Decision:
        """All trials of the bracket are there, and this one is the last; the others are told when one is chosen."""
        if bracket.is_last_round:
            if not self._stops_last:
                bracket.until = math.inf
                return CONTINUE
            bracket.live.clear()
            return FINISH
        self._stopped += bracket.halve()
        return CONTINUE if trial in bracket.live else PRUNE

    def choose_trial_to_run(self, controller: Any) -> Any:
        """A trial that has not begun, or one that has paused and whose bracket goes on."""
        paused = [each for each in controller.get_trials() if each.status == "PAUSED"]
        for trial in paused:
            bracket = self._of[trial.id]
            if trial.id not in bracket.live:
                controller.stop_trial(trial)
            elif bracket.live[trial.id][0] < bracket.until:
                return trial
            elif bracket.is_round_over:  # another one, for which it has waited, has failed or ended
                self._after_round(bracket, trial.id)
                return self.choose_trial_to_run(controller)
        for trial in controller.get_trials():
            if trial.status == "PENDING" and controller.has_resources_for_trial(trial):
                return trial
        return None

    def on_complete(self, trial: str, result: Result) -> None:
        self.on_remove(trial)

    def on_remove(self, trial: str) -> None:
        if trial in self._of:
            self._of[trial].live.pop(trial, None)

    def state(self) -> dict[str, int]:
        """How many brackets there are, and how many trials were not among the best of a round."""
        return {"num_brackets": len(self._brackets), "num_stopped": self._stopped}

    def debug_string(self) -> str:
        live = sum(len(bracket.live) for bracket in self._brackets)
        return f"Using HyperBand: {len(self._brackets)} brackets with {live} trials"


class _Bracket:
    """Trials that are compared with each other.

    live   those that are left, with the time and the value of their last result; larger is better
    until  the time at which the round ends
    """

    def __init__(self, size: int, halvings: int, max_t: float, factor: float) -> None:
        self.live: dict[str, tuple[float, float]] = {}
        self._size, self._places, self._halvings, self._max_t, self._factor = size, size, halvings, max_t, factor
        self._round = max(1, int(max_t * factor**-halvings))
        self.until: float = self._round

    @property
    def is_filled(self) -> bool:
        return self._places == 0

    @property
    def is_round_over(self) -> bool:
        return all(time >= self.until for time, _ in self.live.values())

    @property
    def is_last_round(self) -> bool:
        return self._halvings == 0

    def join(self, trial: str) -> None:
        self.live[trial] = (0.0, -math.inf)
        self._places -= 1

    def halve(self) -> int:
        """Begin the next round with the best; returns how many others there were."""
        self._size = math.ceil(self._size / self._factor)
        self._round = int(min(self._round * self._factor, self._max_t - self.until))
        self._halvings -= 1
        self.until += self._round
        ordered = sorted(self.live, key=lambda each: _rank(self.live[each][1]), reverse=True)
        for trial in ordered[self._size :]:
            del self.live[trial]
        return len(ordered[self._size :])


def _rank(value: float) -> float:
    return -math.inf if math.isnan(value) else value


# ---- the median rule


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
