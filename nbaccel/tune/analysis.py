"""ExperimentAnalysis: the results of `tune.run`, as Ray Tune has them."""

from __future__ import annotations

import os
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.tune import comparing
from nbaccel.tune.experiment_journal import read_past
from nbaccel.tune.result_grid import ResultGrid
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_result import frame_of, result_of
from nbaccel.tune.tune_config import folder_of
from nbaccel.views.experiment_snapshot import ExperimentSummary
from nbaccel.views.sinks import notify
from nbaccel.views.tables import Table


class ExperimentAnalysis:
    """The trials of an experiment, and the best of them.

    >>> def train_model(config): return {"loss": config["x"] ** 2}
    >>> analysis = tune.run(train_model, config={"x": tune.grid_search([1, 2])}, metric="loss", mode="min")
    >>> analysis.best_config
    {'x': 1}

    It can also be read from a folder: ExperimentAnalysis(path, default_metric="loss", default_mode="min").
    """

    def __init__(
        self,
        experiment_checkpoint_path: str | os.PathLike[str],
        *,
        default_metric: str | None = None,
        default_mode: str | None = None,
        trials: list[Trial] | None = None,
        storage_filesystem: Any = None,
    ) -> None:
        self.experiment_path = folder_of(experiment_checkpoint_path, storage_filesystem, "ExperimentAnalysis")
        self.trials = trials if trials is not None else list(read_past(self.experiment_path).trials.values())
        for trial in self.trials:
            trial.experiment_folder = self.experiment_path
        self.default_metric, self.default_mode = default_metric, default_mode

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The last result of each trial, by its id."""
        return {trial.id: trial.last_result for trial in self.trials}

    @property
    def best_trial(self) -> Trial | None:
        return self.get_best_trial()

    @property
    def best_config(self) -> dict[str, Any] | None:
        return self.get_best_config()

    @property
    def best_result(self) -> dict[str, Any] | None:
        """The last result of the best trial."""
        trial = self.get_best_trial()
        return trial.last_result if trial is not None else None

    @property
    def best_result_df(self) -> Any:
        """The last result of the best trial, as a pandas.DataFrame with one row; parameters are "config/lr"."""
        import pandas

        return pandas.DataFrame([comparing.flat(self.best_result or {"trial_id": None})]).set_index("trial_id")

    def get_all_configs(self, prefix: bool = False) -> dict[str, dict[str, Any]]:
        """The config of each trial, by its id; with `prefix` flat, with names such as "config/lr"."""
        return {trial.id: comparing.flat({"config": trial.config}) if prefix else trial.config for trial in self.trials}

    @property
    def best_checkpoint(self) -> Checkpoint | None:
        trial = self.best_trial
        return self.get_best_checkpoint(trial) if trial is not None else None

    @property
    def best_dataframe(self) -> Any:
        """All reports of the best trial, as a pandas.DataFrame."""
        trial = self.best_trial
        return self.trial_dataframes[trial.id] if trial is not None else None

    @property
    def trial_dataframes(self) -> dict[str, Any]:
        """All reports of each trial, as a pandas.DataFrame, by its id."""
        return {trial.id: frame for trial in self.trials if (frame := frame_of(trial)) is not None}

    @property
    def results_df(self) -> Any:
        """The last result of each trial as a row of a pandas.DataFrame."""
        frame = self._grid().get_dataframe()
        return frame.set_index("trial_id") if len(frame) else frame

    def dataframe(self, metric: str | None = None, mode: str | None = None) -> Any:
        """A row for each trial: its last report, or the one with the best value of `metric`."""
        return self._grid().get_dataframe(metric, (mode or self.default_mode) if metric else None)

    def get_best_trial(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> Trial | None:
        """The trial with the best value of the metric. If none has reported a number, it says so and returns None."""
        if len(self.trials) == 1 and metric is None and self.default_metric is None:
            return self.trials[0]
        try:
            result = self._grid().get_best_result(metric, mode, scope, filter_nan_and_inf)
        except RuntimeError as error:
            notify("tune", str(error))
            return None
        return next(trial for trial in self.trials if trial.id == result.trial_id)

    def get_best_config(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> dict[str, Any] | None:
        """The config of the best trial; None if there is none."""
        trial = self.get_best_trial(metric, mode, scope, filter_nan_and_inf)
        return trial.config if trial is not None else None

    def get_best_checkpoint(
        self, trial: Trial, metric: str | None = None, mode: str | None = None
    ) -> Checkpoint | None:
        """A trial's checkpoint with the best value of the metric, or the latest one without a metric; else None."""
        metric, mode = metric or self.default_metric, mode or self.default_mode
        found = result_of(self.experiment_path, trial)
        if metric is None or mode is None or not found.best_checkpoints:
            return found.checkpoint
        return found.get_best_checkpoint(metric, mode)

    def get_last_checkpoint(self, trial: Trial | None = None) -> Checkpoint | None:
        trial = trial or self.best_trial
        return result_of(self.experiment_path, trial).checkpoint if trial is not None else None

    def _grid(self) -> ResultGrid:
        return ResultGrid(self.experiment_path, self.trials, self.default_metric, self.default_mode)

    def tables(self) -> list[Table]:
        """What notebooks show: the trials, the best first, and the failures by error."""
        return self._grid().tables()

    def seen(self) -> ExperimentSummary:
        """What notebooks show and draw: these tables, and the trials with their curves."""
        return self._grid().seen()

    def _repr_html_(self) -> str:
        """Plain tables; nbaccel's own take their place in IPython."""
        return self._grid()._repr_html_()

    def __repr__(self) -> str:
        return f"ExperimentAnalysis({len(self.trials)} trials, path={self.experiment_path!r})"
