"""Stoppers end trials, or the whole experiment, by a rule of the user; `stop=` of RunConfig and tune.run takes them.

stop={"accuracy": 0.95, "training_iteration": 20}     a trial ends when one of these values is reached
stop={"eval": {"loss": 0.1}}, stop={"done": True}     … also of nested metrics, and of flags
stop=lambda trial_id, result: result["loss"] < 0.01   … or when the function returns True
stop=TimeoutStopper(600)                              … or by a class
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from nbaccel.handles.option_checks import did_you_mean
from nbaccel.tune import comparing
from nbaccel.tune.comparing import nested, plain_number
from nbaccel.views.sinks import notify

__all__ = [
    "CombinedStopper",
    "DictStopper",
    "ExperimentPlateauStopper",
    "FunctionStopper",
    "MaximumIterationStopper",
    "NoopStopper",
    "Stopper",
    "TimeoutStopper",
    "TrialPlateauStopper",
]


class Stopper:
    """Decides after each result whether its trial ends, and at any time whether all trials end.

    >>> class Below(tune.Stopper):
    ...     def __call__(self, trial_id, result): return result["loss"] < 0.1
    ...     def stop_all(self): return False
    >>> config = tune.RunConfig(stop=Below())
    """

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Whether this trial ends after this result."""
        raise NotImplementedError

    def stop_all(self) -> bool:
        """Whether the experiment ends."""
        raise NotImplementedError


class NoopStopper(Stopper):
    """Ends no trial and no experiment."""

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return False


class FunctionStopper(NoopStopper):
    """Ends a trial when `function(trial_id, result)` returns True."""

    def __init__(self, function: Callable[[str, Mapping[str, Any]], bool]) -> None:
        if not callable(function):
            raise ValueError(f"FunctionStopper takes a function of trial_id and result, not {function!r}.")
        self._function = function

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        return bool(self._function(trial_id, result))


class DictStopper(NoopStopper):
    """Ends a trial when one of its metrics reaches its limit; the same as `stop={...}`. Names may be nested."""

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self._reported_absent: set[str] = set()
        self.limits = {name: plain_number(limit) for name, limit in comparing.flat(dict(limits)).items()}
        for name, limit in self.limits.items():
            if not isinstance(limit, (int, float)):
                raise ValueError(f"stop={{{name!r}: {limit!r}}}: the limit must be a number or True.")

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        for name, limit in self.limits.items():
            value = nested(result, name)
            if value is None and name not in result:
                self._notify_absent(name, limit, sorted(map(str, result)))
                continue
            if not isinstance(value, (int, float)):
                raise ValueError(
                    f"stop={{{name!r}: {limit!r}}}: a report has {value!r} for {name!r}. Report a number; NaN ends "
                    "no trial."
                )
            if value >= limit:
                return True
        return False

    def _notify_absent(self, name: str, limit: Any, known: list[str]) -> None:
        if name not in self._reported_absent:
            self._reported_absent.add(name)
            notify(
                "tune",
                f"stop={{{name!r}: {limit!r}}}: a report has no {name!r}; it has: {', '.join(known)}."
                f"{did_you_mean(name, known)} A trial that never reports it runs on.",
            )


class MaximumIterationStopper(NoopStopper):
    """Ends a trial after `max_iter` reports.

    >>> config = tune.RunConfig(stop=MaximumIterationStopper(10))
    """

    def __init__(self, max_iter: int) -> None:
        self._most = max_iter
        self._seen: dict[str, int] = {}

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        self._seen[trial_id] = self._seen.get(trial_id, 0) + 1
        return self._seen[trial_id] >= self._most


class TimeoutStopper(NoopStopper):
    """Ends the experiment `timeout` (seconds or a timedelta) after its first result.

    >>> config = tune.RunConfig(stop=TimeoutStopper(600))
    """

    def __init__(self, timeout: float | timedelta) -> None:
        self._budget_s = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        self._until: float | None = None

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        self._begin()
        return False

    def _begin(self) -> float:
        if self._until is None:
            self._until = time.monotonic() + self._budget_s
        return self._until

    def stop_all(self) -> bool:
        until = self._begin()
        return time.monotonic() >= until


class TrialPlateauStopper(NoopStopper):
    """Ends a trial whose metric has stopped changing.

    metric            the metric to watch
    std               the trial ends if the standard deviation of its last values is at most this
    num_results       how many last values count
    grace_period      the first report that may end it
    metric_threshold  with `mode`: only if the value is below (min) or above (max) this

    >>> config = tune.RunConfig(stop=TrialPlateauStopper("loss", std=0.001))
    """

    def __init__(
        self,
        metric: str,
        std: float = 0.01,
        num_results: int = 4,
        grace_period: int = 4,
        metric_threshold: float | None = None,
        mode: str | None = None,
    ) -> None:
        if metric_threshold is not None and mode not in ("min", "max"):
            raise ValueError(f"TrialPlateauStopper(mode={mode!r}) must be 'min' or 'max' with a metric_threshold.")
        self._metric, self._std, self._count = metric, std, num_results
        self._grace, self._threshold, self._mode = grace_period, metric_threshold, mode
        self._seen: dict[str, int] = {}
        self._last: dict[str, deque[float]] = {}

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        value = nested(result, self._metric)
        if value is None:
            raise ValueError(f"TrialPlateauStopper({self._metric!r}): the report has no such metric.")
        last = self._last.setdefault(trial_id, deque(maxlen=self._count))
        last.append(float(value))
        self._seen[trial_id] = self._seen.get(trial_id, 0) + 1
        if self._seen[trial_id] < self._grace or len(last) < self._count or not self._is_beyond(value):
            return False
        return statistics.pstdev(last) <= self._std

    def _is_beyond(self, value: float) -> bool:
        if self._threshold is None:
            return True
        return value < self._threshold if self._mode == "min" else value > self._threshold


class ExperimentPlateauStopper(Stopper):
    """Ends all trials when the best values of a metric have stopped changing.

    metric    the metric to watch
    std       all end if the standard deviation of the best values is at most this
    top       how many best values count
    mode      "min" or "max"
    patience  for how many further reports this must hold
    """

    def __init__(self, metric: str, std: float = 0.001, top: int = 10, mode: str = "min", patience: int = 0) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"ExperimentPlateauStopper(mode={mode!r}) must be 'min' or 'max'.")
        if not isinstance(top, int) or top <= 1:
            raise ValueError(f"ExperimentPlateauStopper(top={top!r}) must be an int from 2.")
        if not isinstance(patience, int) or patience < 0:
            raise ValueError(f"ExperimentPlateauStopper(patience={patience!r}) must be an int from 0.")
        if not isinstance(std, (int, float)) or std <= 0:
            raise ValueError(f"ExperimentPlateauStopper(std={std!r}) must be a positive number.")
        self._metric, self._std, self._top, self._mode, self._patience = metric, std, top, mode, patience
        self._best: list[float] = []
        self._reports = 0  # since the values stopped changing

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        value = nested(result, self._metric)
        if value is None:
            raise ValueError(f"ExperimentPlateauStopper({self._metric!r}): the report has no such metric.")
        self._best = sorted([*self._best, float(value)], reverse=self._mode == "max")[: self._top]
        self._reports = self._reports + 1 if self._is_flat() else 0
        return self.stop_all()

    def _is_flat(self) -> bool:
        return len(self._best) == self._top and statistics.pstdev(self._best) <= self._std

    def stop_all(self) -> bool:
        return self._is_flat() and self._reports >= self._patience


class CombinedStopper(Stopper):
    """Ends a trial, or all of them, when one of several stoppers does. Each of them sees every result."""

    def __init__(self, *stoppers: Stopper) -> None:
        self._stoppers = stoppers

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        answers = [stopper(trial_id, result) for stopper in self._stoppers]  # all of them: some count results
        return any(answers)

    def stop_all(self) -> bool:
        return any(stopper.stop_all() for stopper in self._stoppers)


def of(given: Any) -> Stopper:
    """The stopper for a value of `stop=`. Raises ValueError for other values."""
    if given is None:
        return NoopStopper()
    if isinstance(given, Stopper):
        return given
    if isinstance(given, Mapping):
        return DictStopper(given)
    if isinstance(given, (list, tuple)):
        return CombinedStopper(*(of(each) for each in given))
    if callable(given):
        return FunctionStopper(given)
    raise ValueError(f"stop takes a dict of metrics, a function of trial_id and result, or a Stopper, not {given!r}.")
