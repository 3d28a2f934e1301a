"""What the runner of an experiment needs beside the experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbaccel.train.configs import RunConfig
from nbaccel.tune.trial import Trial


@dataclass(slots=True)
class RunnerPlan:
    """How trials are run, and who is told of what they do.

    on_result     told of each result
    on_trial_end  told of each trial that has ended for good, before the next one starts
    study         Optuna's, for the results
    total         how many trials there will be, if that is known
    num_samples   as it was asked for; -1: without an end
    """

    function: Any
    resources: Any
    run_config: RunConfig
    metric: str = ""  # that each report must have
    time_budget_s: float | None = None
    compared_by: tuple[str | None, str | None] = (None, None)  # metric and mode, for the results
    on_result: Callable[[Trial, Mapping[str, Any]], None] = lambda trial, result: None
    on_trial_end: Callable[[Trial], None] = lambda trial: None
    study: Any = None
    total: int | None = None
    num_samples: int = 1
