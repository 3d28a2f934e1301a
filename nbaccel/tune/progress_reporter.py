"""Reporters that print the trials of an experiment again and again. Names as in Ray Tune."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.schedulers.trial_scheduler import TrialScheduler
from nbaccel.tune.trial import Trial

_TICK_S = 1.0
_WORDS = 24  # characters of a cell
Columns = Sequence[str] | Mapping[str, str] | None


class ProgressReporter:
    """Override should_report() and report(). The experiment's thread calls them after each step of its loop."""

    def setup(self, start_time: float | None = None, **options: Any) -> None:
        """The experiment begins; `options` are total_samples, metric and mode."""

    def should_report(self, trials: list[Trial], done: bool = False) -> bool:
        """Whether to report now."""
        return True

    def report(self, trials: list[Trial], done: bool, *sys_info: Any) -> None:
        """Show the trials; `done` when all have ended; `sys_info` is the scheduler's debug_string()."""
        raise NotImplementedError(f"{type(self).__name__} has no report(self, trials, done, *sys_info).")


class CLIReporter(ProgressReporter):
    """Prints a table of the trials every `max_report_frequency` seconds, and at the end.

    metric_columns, parameter_columns  names, or a dict of names and what to call them; by default the metric and what
                          varies
    max_progress_rows     so many trials, the running ones first
    sort_by_metric        the best first
    The other arguments are Ray's for tables that differ less from these than from each other; they change nothing.
    """

    def __init__(
        self,
        *,
        metric_columns: Columns = None,
        parameter_columns: Columns = None,
        total_samples: int | None = None,
        max_progress_rows: int = 20,
        max_error_rows: int = 20,
        max_column_length: int = 20,
        max_report_frequency: float = 5,
        infer_limit: int = 3,
        print_intermediate_tables: bool | None = None,
        metric: str | None = None,
        mode: str | None = None,
        sort_by_metric: bool = False,
    ) -> None:
        self._metrics, self._params = _named(metric_columns), _named(parameter_columns)
        self._most, self._errors, self._every_s = max_progress_rows, max_error_rows, max_report_frequency
        self._metric, self._mode, self._sorts = metric, mode, sort_by_metric
        self._total = total_samples
        self._prints_before_the_end = print_intermediate_tables is not False
        self._printed_at = time.monotonic()
        self._start = time.time()

    def setup(self, start_time: float | None = None, **options: Any) -> None:
        self._start = start_time or self._start
        self._total = self._total or options.get("total_samples")
        self._metric, self._mode = self._metric or options.get("metric"), self._mode or options.get("mode")

    def add_metric_column(self, metric: str, representation: str | None = None) -> None:
        self._metrics = {**(self._metrics or {}), metric: representation or metric}

    def add_parameter_column(self, parameter: str, representation: str | None = None) -> None:
        self._params = {**(self._params or {}), parameter: representation or parameter}

    def should_report(self, trials: list[Trial], done: bool = False) -> bool:
        if not done and (not self._prints_before_the_end or time.monotonic() - self._printed_at < self._every_s):
            return False
        self._printed_at = time.monotonic()
        return True

    def report(self, trials: list[Trial], done: bool, *sys_info: Any) -> None:
        sys.stdout.write("\n".join([*map(str, sys_info), *self._lines(trials), ""]))
        sys.stdout.flush()

    def _lines(self, trials: list[Trial]) -> list[str]:
        counts: dict[str, int] = {}
        for trial in trials:
            counts[trial.status] = counts.get(trial.status, 0) + 1
        states = ", ".join(f"{number} {status}" for status, number in counts.items())
        total = f"/{self._total}" if self._total else ""
        lines = [f"Number of trials: {len(trials)}{total} ({states}), {time.time() - self._start:.0f} s"]
        shown = self._order(trials)
        lines += _table(["Trial name", "status", *self._headings(shown)], [self._row(each, shown) for each in shown])
        if len(trials) > len(shown):
            lines.append(f"... {len(trials) - len(shown)} more trials not shown")
        failed = [each for each in trials if each.status == "ERROR"][: self._errors]
        return [*lines, *(f"{each}: {each.error_words}" for each in failed)]

    def _order(self, trials: list[Trial]) -> list[Trial]:
        if self._sorts and self._metric and self._mode:
            sign = -1 if self._mode == "max" else 1
            values = {each.id: comparing.value_of([each.last], self._metric, self._mode) for each in trials}
            worst = float("inf")
            trials = sorted(trials, key=lambda each: worst if (found := values[each.id]) is None else sign * found)
        else:
            trials = sorted(trials, key=lambda each: each.status != "RUNNING")
        return trials[: self._most]

    def _columns(self, trials: list[Trial]) -> tuple[dict[str, str], dict[str, str]]:
        params = self._params
        if params is None:
            params = {name: name for name in comparing.varying([each.config for each in trials])}
        metrics = self._metrics
        if metrics is None:
            metrics = {name: name for name in (self._metric, "training_iteration", "time_total_s") if name}
        return params, metrics

    def _headings(self, trials: list[Trial]) -> list[str]:
        params, metrics = self._columns(trials)
        return [*params.values(), *metrics.values()]

    def _row(self, trial: Trial, trials: list[Trial]) -> list[str]:
        params, metrics = self._columns(trials)
        config, last = comparing.flat(trial.config), comparing.flat(trial.last)
        cells = [comparing.short_text(held[name], _WORDS) if name in held else ""
                 for held, names in ((config, params), (last, metrics)) for name in names]  # fmt: skip
        return [str(trial), trial.status, *cells]


class JupyterNotebookReporter(CLIReporter):
    """CLIReporter in a notebook; with `overwrite`, a table takes the place of the one before."""

    def __init__(self, overwrite: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self._overwrites = overwrite

    def report(self, trials: list[Trial], done: bool, *sys_info: Any) -> None:
        if self._overwrites:
            try:
                from IPython.display import clear_output
            except ImportError:
                pass  # no notebook
            else:
                clear_output(wait=True)  # type: ignore[no-untyped-call]
        super().report(trials, done, *sys_info)


class ReporterCalls:
    """Calls a reporter, for the thread of an experiment; without one it does nothing."""

    def __init__(self, reporter: ProgressReporter | None, scheduler: TrialScheduler) -> None:
        self._reporter, self._scheduler = reporter, scheduler

    def begin(self, total: int | None, compared_by: tuple[str | None, str | None]) -> None:
        if self._reporter is not None:
            metric, mode = compared_by
            self._reporter.setup(start_time=time.time(), total_samples=total, metric=metric, mode=mode)

    def due(self) -> float | None:
        """When to ask the reporter again, though nothing has happened."""
        return time.monotonic() + _TICK_S if self._reporter is not None else None

    def step(self, trials: Mapping[str, Trial]) -> None:
        self._report(list(trials.values()), done=False)

    def end(self, trials: Mapping[str, Trial]) -> None:
        self._report(list(trials.values()), done=True)

    def _report(self, trials: list[Trial], *, done: bool) -> None:
        if self._reporter is not None and self._reporter.should_report(trials, done=done):
            self._reporter.report(trials, done, self._scheduler.debug_string())


def _named(columns: Columns) -> dict[str, str] | None:
    if columns is None:
        return None
    return dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [headings, *rows]]  # fmt: skip
