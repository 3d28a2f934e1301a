"""The result of one trial, made from its record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.journal import rank_of
from nbaccel.train.result import Result
from nbaccel.tune import comparing
from nbaccel.tune.experiment_journal import read_past
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.tune_config import folder_of


class EarlierTrialError(RuntimeError):
    """The error of a trial of an earlier process, of which the journal has the class and the message."""


@dataclass(repr=False)
class TrialResult(Result):
    """The result of a trial: that of a run (metrics, checkpoint, error, path, history), and the trial's parameters.

    config  its parameters
    best_checkpoints  those that CheckpointConfig keeps, the worst first; without a score, the oldest
    state   "done", "stopped" early by a scheduler, a stopper or a person, "error", or "pending" if it was interrupted
    """

    trial_id: str = ""
    state: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    trial: Trial | None = None

    @property
    def config(self) -> dict[str, Any]:
        return self.parameters

    @property
    def metrics_dataframe(self) -> Any:
        """Every report as a row of a pandas.DataFrame, with the parameters as "config/lr"; None without a report."""
        return frame_of(self.trial) if self.trial is not None else super().metrics_dataframe

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], storage_filesystem: Any = None) -> TrialResult:
        """The result of a trial from its folder, which is in that of its experiment.

        Raises FileNotFoundError if there is no such trial.
        """
        folder, name = os.path.split(folder_of(path, storage_filesystem, "tune.Result.from_path"))
        for trial in read_past(folder).trials.values():
            if trial.folder_name == name:
                trial.experiment_folder = folder
                return result_of(folder, trial)
        raise FileNotFoundError(f"The experiment {folder} has no trial with the folder {name}.")


def frame_of(trial: Trial) -> Any:
    """The reports of a trial as a pandas.DataFrame; None without any. Raises ImportError without pandas."""
    if not trial.reports:
        return None
    import pandas

    return pandas.DataFrame([comparing.flat(trial.result(each["metrics"])) for each in trial.reports])


def result_of(folder: str, trial: Trial) -> TrialResult:
    """The result of a trial whose experiment is in `folder`."""
    own = os.path.join(folder, trial.folder_name)
    start = Checkpoint(os.path.join(own, trial.start_from)) if trial.start_from else None
    ranked = sorted(trial.kept, key=lambda each: rank_of(each, trial.keeping))  # the worst first
    best = [(Checkpoint(os.path.join(own, each.folder)), trial.result(each.metrics)) for each in ranked]
    return TrialResult(
        metrics=trial.last_result,
        checkpoint=Checkpoint(os.path.join(own, trial.kept[-1].folder)) if trial.kept else start,
        error=_error_of(trial),
        path=own,
        best_checkpoints=best[-(trial.keeping.num_to_keep or 0) :],
        history=[each["metrics"] for each in trial.reports],
        stopped=trial.state is TrialState.STOPPED,
        trial_id=trial.id,
        state=trial.state.value,
        parameters=trial.config,
        trial=trial,
    )


def _error_of(trial: Trial) -> Exception | None:
    if trial.state is not TrialState.ERROR:
        return None
    if isinstance(trial.error, Exception):
        return trial.error
    return EarlierTrialError(f"Trial {trial.id} failed in an earlier process: {trial.error_words}")
