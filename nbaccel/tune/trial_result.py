"""The result of one trial, made from its record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.result import Result
from nbaccel.tune.trial import Trial, TrialState


class EarlierTrialError(RuntimeError):
    """The error of a trial of an earlier process, of which the journal has the class and the message."""


@dataclass(repr=False)
class TrialResult(Result):
    """The result of a trial: that of a run (metrics, checkpoint, error, path, history), and the trial's parameters.

    config  its parameters
    state   "done", "stopped" early by a scheduler, a stopper or a person, "error", or "pending" if it was interrupted
    """

    trial_id: str = ""
    state: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        return self.parameters


def result_of(folder: str, trial: Trial) -> TrialResult:
    """The result of a trial whose experiment is in `folder`."""
    own = os.path.join(folder, trial.folder_name)
    start = Checkpoint(os.path.join(own, trial.start_from)) if trial.start_from else None
    kept = [(Checkpoint(os.path.join(own, each.folder)), each.metrics) for each in trial.kept]
    return TrialResult(
        metrics=trial.last_result,
        checkpoint=kept[-1][0] if kept else start,
        error=_error_of(trial),
        path=own,
        best_checkpoints=kept,
        history=[each["metrics"] for each in trial.reports],
        stopped=trial.state is TrialState.STOPPED,
        trial_id=trial.id,
        state=trial.state.value,
        parameters=trial.config,
    )


def _error_of(trial: Trial) -> Exception | None:
    if trial.state is not TrialState.ERROR:
        return None
    if isinstance(trial.error, Exception):
        return trial.error
    return EarlierTrialError(f"Trial {trial.id} failed in an earlier process: {trial.error_words}")
