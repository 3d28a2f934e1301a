"""ResultGrid: the results of an experiment's trials, as `Tuner.fit()` returns them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from nbaccel.train.checkpoint import Checkpoint, filesystem_of
from nbaccel.train.journal import rank_of
from nbaccel.train.result import Result
from nbaccel.tune import comparing, result_tables
from nbaccel.tune.experiment_journal import read_past
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.tune_config import folder_of
from nbaccel.views.experiment_snapshot import ExperimentSummary
from nbaccel.views.sinks import notify
from nbaccel.views.tables import Table

# ---- the result of one trial


class EarlierTrialError(RuntimeError):
    """The error of a trial of an earlier process, of which the journal has the class and the message."""


@dataclass(repr=False)
class TrialResult(Result):
    """The result of a trial: that of a run (metrics, checkpoint, error, path, history), and the trial's parameters.

    config  its parameters, {name: value}
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


class ResultGrid:
    """The results of all trials, in the order in which the trials were made.

    >>> def train_model(config): return {"loss": config["x"] ** 2}
    >>> grid = {"x": tune.grid_search([1, 2])}
    >>> results = tune.Tuner(train_model, param_space=grid).fit()
    >>> len(results), results.get_best_result("loss", "min").config
    (2, {'x': 1})
    """

    def __init__(
        self,
        folder: str,
        trials: Sequence[Trial],
        metric: str | None = None,
        mode: str | None = None,
        study: Any = None,
    ) -> None:
        self._folder = folder
        self._study = study
        self._trials = list(trials)
        self._metric, self._mode = metric, mode
        self._results = [result_of(folder, trial) for trial in self._trials]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[TrialResult]:
        return iter(self._results)

    @overload
    def __getitem__(self, index: int) -> TrialResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[TrialResult]: ...
    def __getitem__(self, index: int | slice) -> TrialResult | list[TrialResult]:
        return self._results[index]

    @property
    def experiment_path(self) -> str:
        """The folder of the experiment, for `Tuner.restore`."""
        return self._folder

    @property
    def filesystem(self) -> Any:
        """The local filesystem, as a pyarrow object; None without pyarrow."""
        return filesystem_of(self.experiment_path)

    @property
    def errors(self) -> list[Exception]:
        """The errors of the trials that failed."""
        return [result.error for result in self._results if result.error is not None]

    @property
    def num_errors(self) -> int:
        """How many trials failed."""
        return len(self.errors)

    @property
    def num_terminated(self) -> int:
        """How many trials ended without an error; interrupted ones are not counted."""
        return sum(result.state in ("done", "stopped") for result in self._results)

    @property
    def study(self) -> Any:
        """OptunaSearch's study, for `optuna.visualization`; None without OptunaSearch and before `fit`."""
        return self._study

    def get_best_result(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> TrialResult:
        """The result with the best value of a metric. Metric and mode default to those of TuneConfig.

        scope  which value of a trial counts: the "last", the best of "all", or the mean: "avg", "last-5-avg",
               "last-10-avg"

        Raises RuntimeError if no trial has reported the metric, ValueError without metric or mode.
        """
        if len(self._results) == 1 and metric is None and self._metric is None:
            return self._results[0]
        metric, mode = comparing.check(metric or self._metric, mode or self._mode, scope)
        values = [(comparing.value_of(result.history, metric, mode, scope), result) for result in self._results]
        found = comparing.best(values, mode, filter_nan_and_inf=filter_nan_and_inf)
        if found is None:
            known = sorted({name for result in self._results for name in (result.history or [{}])[-1]})
            raise RuntimeError(
                f"No trial has reported a finite value of {metric!r}. Metrics that were reported: "
                f"{', '.join(known) or 'none'}; trials that failed: {self.num_errors} of {len(self)}."
            )
        return found

    def get_dataframe(self, filter_metric: str | None = None, filter_mode: str | None = None) -> Any:
        """A row for each trial with its last report, as a pandas.DataFrame; parameters are columns such as "config/lr",
        and "logdir" is the trial's folder.

        filter_metric, filter_mode  the report with the best value of this metric instead of the last one
        """
        import pandas

        rows = []
        for trial in self._trials:
            metrics = _chosen(trial, filter_metric, filter_mode or self._mode)
            if metrics is not None:
                rows.append(comparing.flat(trial.result(metrics)) | {"logdir": trial.local_path})
        return pandas.DataFrame(rows)

    def failures(self) -> dict[str, list[str]]:
        """The trials that failed, by error (not in Ray): {"ValueError: …": [trial ids]}."""
        return result_tables.by_error(self._trials)

    def tables(self) -> list[Table]:
        """What notebooks show: the trials, the best first, and the failures by error."""
        return result_tables.of_trials(self._trials, self._metric, self._mode)

    def seen(self) -> ExperimentSummary:
        """What notebooks show and draw: these tables, and the trials with their curves."""
        return result_tables.seen_of(self._trials, self._metric, self._mode)

    def _repr_html_(self) -> str:
        """Plain tables; nbaccel's own take their place in IPython."""
        return result_tables.plain_html(self.tables())

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for result in self._results:
            counts[result.state] = counts.get(result.state, 0) + 1
        counted = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no trial"
        return f"ResultGrid({counted}, path={self._folder!r})"


def _chosen(trial: Trial, metric: str | None, mode: str | None) -> dict[str, Any] | None:
    history = [each["metrics"] for each in trial.reports]
    if metric is None:
        return history[-1] if history else {}
    metric, mode = comparing.check(metric, mode)
    return comparing.best([(comparing.value_of([each], metric, mode), each) for each in history], mode)


__all__ = ["Result", "ResultGrid"]


# ---- the results of tune.run


class ExperimentAnalysis:
    """The trials of an experiment, and the best of them.

    >>> def train_model(config): return {"loss": config["x"] ** 2}
    >>> analysis = tune.run(train_model, config={"x": tune.grid_search([1, 2])}, metric="loss", mode="min")
    >>> analysis.best_config
    {'x': 1}

    Read one from a folder: ExperimentAnalysis(path, default_metric="loss", default_mode="min").
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
        """The best trial by default_metric and default_mode."""
        return self.get_best_trial()

    @property
    def best_config(self) -> dict[str, Any] | None:
        """The parameters of the best trial."""
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
        """The best trial's best checkpoint."""
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
        """The trial with the best value of the metric. Without a finite value it is None, with a notice."""
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
        """The latest checkpoint of a trial, by default the best one."""
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
