"""The trials of an experiment for notebooks: tables of text, the best first, and what is drawn of the trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from nbaccel.tune import comparing
from nbaccel.tune.schedulers.trial_scheduler import nested
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_session import ADDED
from nbaccel.views import experiment_snapshot, run_snapshot, tables, wording
from nbaccel.views.experiment_snapshot import (
    INTERRUPTED,
    TRIAL_SIGNS,
    ExperimentSummary,
    TrialRow,
    TrialSummary,
    short_trial,
)

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
    return value if type(value) in (int, float) and _finite(value) is not None else comparing.said(value, _MOST_WORDS)


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
        cells += [wording.plain(comparing.said(held[name], _MOST_WORDS)) if name in held else "" for name in wanted]
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
    return {wording.encodable(str(name)): comparing.said(value, MOST_WORDS) for name, value in first}


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
    return wording.encodable(value[:MOST_TEXT]) if type(value) is str else comparing.said(value, MOST_WORDS)
