"""The trials of an experiment for notebooks: tables of text, the best first, and what is drawn of the trials."""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from nbaccel import api, exceptions
from nbaccel.tune import comparing
from nbaccel.tune.comparing import nested
from nbaccel.tune.schedulers.trial_scheduler import TrialScheduler
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_decisions import TrialDecisions
from nbaccel.tune.trial_session import ADDED
from nbaccel.views import experiment_snapshot, run_snapshot, sinks, tables, wording
from nbaccel.views.experiment_snapshot import (
    INTERRUPTED,
    KIND,
    TRIAL_SIGNS,
    BestTrial,
    ExperimentSnapshot,
    ExperimentSummary,
    TrialRow,
    TrialSummary,
    short_trial,
)
from nbaccel.views.record_book import nobody_asked

MOST_ROWS = 20
MOST_PARAMETERS = 8
MOST_METRICS = 3  # without a metric that trials are compared by
MOST_DRAWN = 300  # trials, the best ones
MOST_POINTS = 40  # of a drawn curve
_MOST_WORDS = 40
_IDS = 3  # named for an error


def seen_of(trials: Sequence[Trial], metric: str | None, mode: str | None) -> ExperimentSummary:
    """The tables and the drawn trials, the best first; without a metric, the first one that trials have reported."""
    drawn = metric or metric_of(trials)
    names = comparing.varying([trial.config for trial in trials])[:MOST_PARAMETERS] if len(trials) > 1 else []
    shown = in_order(trials, metric, mode)[:MOST_DRAWN] if drawn else []
    found = [_seen(trial, names, drawn) for trial in shown]
    return ExperimentSummary(of_trials(trials, metric, mode), drawn, (mode or "") if metric else "", names, found)


def _seen(trial: Trial, names: Sequence[str], metric: str) -> TrialSummary:
    flat = comparing.flat(trial.config)
    params = {name: _drawable(flat[name]) for name in names if name in flat}
    readings = [(each["report"], _finite(nested(each["metrics"], metric))) for each in trial.reports]
    points = [(report, value) for report, value in readings if value is not None]
    return TrialSummary(
        trial.id, params, _finite(nested(trial.last, metric)), run_snapshot.few_points(points, MOST_POINTS)
    )


def _finite(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
    except OverflowError:  # an int that no float can hold
        return None


def _drawable(value: Any) -> float | str:
    """A finite number as it is, anything else as short text."""
    return (
        value
        if type(value) in (int, float) and _finite(value) is not None
        else comparing.short_text(value, _MOST_WORDS)
    )


def of_trials(trials: Sequence[Trial], metric: str | None, mode: str | None) -> list[tables.Table]:
    """A table of the trials, with the parameters that vary, and one of the errors if trials failed."""
    shown = in_order(trials, metric, mode)
    names = comparing.varying([trial.config for trial in trials])[:MOST_PARAMETERS]
    metrics = [metric] if metric else _metrics(shown)
    rows = [_row(trial, names, metrics) for trial in shown[:MOST_ROWS]]
    title = wording.count(len(trials), "trial")
    if len(shown) > MOST_ROWS:
        title = f"{title}, {MOST_ROWS} of them here: get_dataframe() has all"
    columns = ("Trial", "State", *names, *metrics, "Reports", "Took")
    found = [tables.Table(title, columns, rows, empty="no trial")]
    failed = by_error(trials)
    if failed:
        errors = [
            (
                wording.plain(words),
                str(len(ids)),
                ", ".join(map(short_trial, ids[:_IDS])) + (", …" if len(ids) > _IDS else ""),
            )
            for words, ids in failed.items()
        ]
        found.append(tables.Table("Failures", ("Error", "Trials", "Which"), errors))
    return found


def in_order(trials: Sequence[Trial], metric: str | None, mode: str | None) -> list[Trial]:
    """The best first; those without a value, and without a metric all, in the order in which they were made."""
    if not metric or not mode:
        return list(trials)
    sign = -1 if mode == "max" else 1

    def place(trial: Trial) -> tuple[bool, float]:
        value = comparing.value_of([trial.last], metric, mode)
        return (True, 0.0) if value is None or value != value else (False, sign * value)

    return sorted(trials, key=place)


def by_error(trials: Sequence[Trial]) -> dict[str, list[str]]:
    """The ids of the trials that failed, by error."""
    found: dict[str, list[str]] = {}
    for trial in trials:
        if trial.error_words and trial.state.value == "error":
            found.setdefault(trial.error_words, []).append(trial.id)
    return found


def _metrics(trials: Sequence[Trial]) -> list[str]:
    names = dict.fromkeys(name for trial in trials for name in comparing.flat(trial.last) if name not in ADDED)
    return list(names)[:MOST_METRICS]


def _row(trial: Trial, names: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    state = f"{TRIAL_SIGNS[trial.state.value]} {trial.state.value}"
    if trial.started_at and not trial.has_ended:
        state = INTERRUPTED
    cells = []
    for held, wanted in ((comparing.flat(trial.config), names), (comparing.flat(trial.last), metrics)):
        cells += [
            wording.plain(comparing.short_text(held[name], _MOST_WORDS)) if name in held else "" for name in wanted
        ]
    ran_s = trial.ended_at - trial.started_at - trial.idle_s
    took = wording.duration(ran_s) if trial.ended_at and trial.started_at else ""
    return (short_trial(trial.id), state, *cells, str(len(trial.reports)), took)


def plain_html(shown: Sequence[tables.Table]) -> str:
    """The tables without any style; nbaccel's own card takes their place in IPython."""
    return "".join(_plain(each) for each in shown)


def _plain(table: tables.Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<table><caption>{escape(table.title)}</caption><tr>{head}</tr>{rows}</table>"


# ---- what views show of the trials of an experiment: a row for each, sent again when something in it has changed


MOST_SENT = 500  # that leave at a time; the others leave the next time
MOST_CONFIG_BYTES = 2_000  # of a row; a larger config is cut to texts
SENT_PARAMETERS = 16
MOST_WORDS = 60  # characters of a value that is no plain one
MOST_TEXT = 300
_MOST_INT = 2**63


class TrialFacts:
    """The rows of one experiment that have not been shown as they are now."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[Any, ...]] = {}

    def changed(self, trials: Iterable[Trial], metric: str) -> tuple[dict[str, dict[str, Any]], bool]:
        """(the rows of trials that have changed, whether there are more of them)."""
        rows: dict[str, dict[str, Any]] = {}
        for trial in trials:
            mark = _mark(trial, metric)
            if self._shown.get(trial.id) == mark:
                continue
            if len(rows) == MOST_SENT:
                return rows, True
            self._shown[trial.id] = mark
            rows[trial.id] = msgspec.to_builtins(row_of(trial, metric))
        return rows, False


def _mark(trial: Trial, metric: str) -> tuple[Any, ...]:
    """What differs when a trial's row does."""
    reports = trial.reports[-1]["report"] if trial.reports else -1
    return trial.state, len(trial.reports), reports, trial.attempts, trial.pid, trial.stops, id(trial.config), metric


def metric_of(trials: Iterable[Trial]) -> str:
    """The metric that is shown of an experiment without one: the first number that a trial has reported."""
    for trial in trials:
        for name, value in comparing.flat(trial.last).items():
            if name not in ADDED and isinstance(value, (int, float)):
                return name
    return ""


def row_of(trial: Trial, metric: str) -> TrialRow:
    """The row of a trial, with its readings of this metric."""
    readings = [(each["report"], nested(each["metrics"], metric)) for each in trial.reports] if metric else []
    points = [(report, float(value)) for report, value in readings if isinstance(value, (int, float))]
    runs = trial.state is TrialState.RUNNING
    return TrialRow(
        number=trial.number,
        state=trial.state.value,
        config=config_of(trial.config),
        value=_value(points[-1][1]) if points else None,
        reports=len(trial.reports),
        curve=experiment_snapshot.curve_of(points),
        devices=trial.devices,
        pid=trial.pid or None,
        started_at=trial.started_at or None,
        ended_at=None if runs else trial.ended_at or None,
        idle_s=round(trial.idle_s, 3),
        error=wording.encodable(trial.error_words[:MOST_TEXT]) if trial.state is TrialState.ERROR else "",
        attempts=trial.attempts,
        stops=trial.stops,
        waits=runs and not trial.pid,
    )


def _value(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def config_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config whose values are plain; one that is too large is cut to short texts of its first parameters."""
    plain: dict[str, Any] = _plain_value(config)
    if len(msgspec.json.encode(plain)) <= MOST_CONFIG_BYTES:
        return plain
    flat = comparing.flat(dict(config))
    first = list(flat.items())[:SENT_PARAMETERS]
    return {wording.encodable(str(name)): comparing.short_text(value, MOST_WORDS) for name, value in first}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {wording.encodable(str(name)): _plain_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(each) for each in value]
    if value is None or type(value) is bool:
        return value
    if type(value) is int:
        return value if abs(value) < _MOST_INT else wording.text_of(value)
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    return wording.encodable(value[:MOST_TEXT]) if type(value) is str else comparing.short_text(value, MOST_WORDS)


# ---- what is shown while trials run


SNAPSHOTS_PER_S = 2
MOST_ENDED = 4  # experiments of this process that views still show when they have ended
_MOST_OF_THE_BEST = 16  # parameters
_ended: list[str] = []  # their ids, oldest first


class ExperimentLive:
    """The views of one experiment, for its thread.

    compared_by  metric and mode
    total        the number of its trials, if that is known
    asked        another thread calls it with a request such as "stop"
    is_quiet     nothing is drawn here; other views have it as always
    ran_s        how long it ran in earlier programs: its clock goes on
    """

    def __init__(
        self,
        name: str,
        path: str,
        experiment: TrialDecisions,
        compared_by: tuple[str | None, str | None],
        total: int | None,
        asked: Callable[[str], object],
        *,
        is_hidden: bool = False,
        ran_s: float = 0.0,
    ) -> None:
        self.id = f"experiment-{secrets.token_hex(4)}"
        self.due: float | None = None  # on the monotonic clock: when to show the changes
        self._name, self._path = name, path
        self._experiment = experiment
        self._compared_by, self._total = compared_by, total
        self._metric = compared_by[0] or ""  # that rows of trials have
        self._asked = asked
        self._is_hidden = is_hidden
        self._started_at = time.time() - ran_s
        self._shown_at = float("-inf")
        self._facts = TrialFacts()

    def changed(self) -> None:
        """Show the experiment soon, because something has happened."""
        if self.due is None:
            self.due = max(time.monotonic(), self._shown_at + 1 / SNAPSHOTS_PER_S)

    def show_if_due(self, now: float) -> None:
        """Show the changes if they were due at this time; the caller has made them safe until then."""
        if self.due is not None and now >= self.due:
            self.show("stopping" if self._experiment.is_stopping else "running", self._experiment.stop_reason)

    def show(self, state: str, why: str, ended_at: float | None = None) -> None:
        """Show the experiment as it is now; if it has ended, with its trials."""
        self.due, self._shown_at = None, time.monotonic()
        snapshot = self.snapshot(state, why, ended_at)
        if self._is_hidden:
            pass
        elif ended_at is None:
            sinks.installed.experiment(snapshot)
        else:
            trials = list(self._experiment.trials.values())
            sinks.installed.experiment(snapshot, seen_of(trials, *self._compared_by))
        more = True
        try:
            while more:
                rows, more = self._facts.changed(self._experiment.trials.values(), snapshot.shown)
                api.publish(KIND, self.id, msgspec.to_builtins(snapshot), self._asked, rows)
        except exceptions.RayError:
            pass  # the cluster has ended, of which the experiment learns in another way

    def end(self, how: str, why: str) -> None:
        """Show how the experiment ended, while this process lives and few others have ended since."""
        self._asked = nobody_asked  # a published record keeps whom it asks
        self.show(how, why, time.time())
        if self.id not in _ended:  # ending may have failed once
            _ended.append(self.id)
        while len(_ended) > MOST_ENDED:
            try:
                api.publish(KIND, _ended.pop(0), None)
            except exceptions.RayError:
                pass  # the cluster has ended, and its snapshots with it

    def snapshot(self, state: str, why: str, ended_at: float | None) -> ExperimentSnapshot:
        trials = self._experiment.trials.values()
        metric, mode = self._compared_by
        self._metric = self._metric or metric_of(trials)
        return ExperimentSnapshot(
            self.id,
            wording.encodable(self._name),
            wording.encodable(self._path),
            state,
            wording.encodable(why),
            self._started_at,
            ended_at,
            dict(Counter(trial.state.value for trial in trials)),
            self._total,
            wording.encodable(metric or ""),
            best_of(list(trials), metric, mode) if metric and mode else None,
            self._experiment.presses,
            wording.encodable(self._metric),
            mode or "",
        )


def best_of(trials: list[Trial], metric: str, mode: str) -> BestTrial | None:
    """The trial whose last report is the best; None if none has a finite value."""
    values = [(comparing.value_of([trial.last], metric, mode), trial) for trial in trials if trial.reports]
    trial = comparing.best(values, mode)
    if trial is None:
        return None
    value = comparing.value_of([trial.last], metric, mode)
    assert value is not None
    varying = comparing.varying([each.config for each in trials])
    return BestTrial(trial.id, value, dict(list(words_of(trial.config, varying).items())[:_MOST_OF_THE_BEST]))


def words_of(config: dict[str, object], names: list[str]) -> dict[str, str]:
    """These parameters of a config as short text."""
    flat = comparing.flat(config)
    return {wording.encodable(name): comparing.short_text(flat[name], MOST_WORDS) for name in names if name in flat}


# ---- reporters that print the trials of an experiment again and again; names as in Ray Tune


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

    metric_columns, parameter_columns  names, or {name: heading}; by default the metric, and the parameters that vary
    max_progress_rows     the most trials in a table, running ones first
    max_error_rows        the most errors below it
    sort_by_metric        the best trials first

    max_column_length and infer_limit are Ray's; they change nothing.
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
        """Show this metric too, under the heading `representation`."""
        self._metrics = {**(self._metrics or {}), metric: representation or metric}

    def add_parameter_column(self, parameter: str, representation: str | None = None) -> None:
        """Show this parameter too, under the heading `representation`."""
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
    """CLIReporter in a notebook; with `overwrite`, each table replaces the one before."""

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
