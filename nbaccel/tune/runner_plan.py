"""What the runner of an experiment needs beside the experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbaccel.train.configs import RunConfig
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_session import ClassOptions


@dataclass(slots=True)
class RunnerPlan:
    """How trials are run, and who is told of what they do.

    on_result     told of each result, and whether it ends its trial
    on_trial_end  told of each trial that has ended for good, before the next one starts
    study         Optuna's, for the results
    total         how many trials there will be, if that is known
    num_samples   as it was asked for; -1: without an end
    begins_from   the folder of a checkpoint with which trials begin that have none
    works_in_folder, log_files, of_class  of each trial, as in TrialAssignment
    """

    function: Any
    resources: Any
    run_config: RunConfig
    metric: str = ""  # that each report must have
    time_budget_s: float | None = None
    compared_by: tuple[str | None, str | None] = (None, None)  # metric and mode, for the results
    on_result: Callable[[Trial, Mapping[str, Any], bool], None] = lambda trial, result, ends: None
    on_trial_end: Callable[[Trial], None] = lambda trial: None
    study: Any = None
    total: int | None = None
    num_samples: int = 1
    works_in_folder: bool = True
    log_files: tuple[str, str] = ("", "")
    of_class: ClassOptions = field(default_factory=ClassOptions)
    begins_from: str = ""
