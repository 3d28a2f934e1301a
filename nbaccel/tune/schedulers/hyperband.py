"""Synchronous HyperBand: trials run in brackets, and at the end of each round the best of a bracket go on.

After "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (arXiv 1603.06560). A trial that has
come to the end of its round pauses until the others of its bracket are there.
"""

from __future__ import annotations

import math
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
