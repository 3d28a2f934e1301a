"""ResultGrid: the results of an experiment's trials, as `Tuner.fit()` returns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from nbaccel.train.checkpoint import filesystem_of
from nbaccel.train.result import Result
from nbaccel.tune import comparing, result_tables
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_result import TrialResult, result_of
from nbaccel.views.experiment_snapshot import ExperimentSummary
from nbaccel.views.tables import Table


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
        """That of the path, a folder of this machine, as pyarrow gives it; None without pyarrow."""
        return filesystem_of(self.experiment_path)

    @property
    def errors(self) -> list[Exception]:
        """The errors of the trials that failed."""
        return [result.error for result in self._results if result.error is not None]

    @property
    def num_errors(self) -> int:
        return len(self.errors)

    @property
    def num_terminated(self) -> int:
        """How many trials ended without an error; interrupted ones are not counted."""
        return sum(result.state in ("done", "stopped") for result in self._results)

    @property
    def study(self) -> Any:
        """The study of an experiment with OptunaSearch, for `optuna.visualization`; None of another, and before fit."""
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
        said = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no trial"
        return f"ResultGrid({said}, path={self._folder!r})"


def _chosen(trial: Trial, metric: str | None, mode: str | None) -> dict[str, Any] | None:
    history = [each["metrics"] for each in trial.reports]
    if metric is None:
        return history[-1] if history else {}
    metric, mode = comparing.check(metric, mode)
    return comparing.best([(comparing.value_of([each], metric, mode), each) for each in history], mode)


__all__ = ["Result", "ResultGrid"]
