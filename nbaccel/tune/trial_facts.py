"""What views show of the trials of an experiment: a row for each, sent again when something in it has changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from nbaccel.tune import comparing
from nbaccel.tune.schedulers.trial_scheduler import nested
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_session import ADDED
from nbaccel.views import trial_rows, wording
from nbaccel.views.trial_rows import TrialRow

MOST_ROWS = 500  # that leave at a time; the others leave the next time
MOST_CONFIG_BYTES = 2_000  # of a row; a larger config is cut to texts
MOST_PARAMETERS = 16
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
            if len(rows) == MOST_ROWS:
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
        curve=trial_rows.curve_of(points),
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
    plain: dict[str, Any] = _plain(config)
    if len(msgspec.json.encode(plain)) <= MOST_CONFIG_BYTES:
        return plain
    flat = comparing.flat(dict(config))
    first = list(flat.items())[:MOST_PARAMETERS]
    return {wording.encodable(str(name)): comparing.said(value, MOST_WORDS) for name, value in first}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {wording.encodable(str(name)): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if value is None or type(value) is bool:
        return value
    if type(value) is int:
        return value if abs(value) < _MOST_INT else wording.text_of(value)
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    return wording.encodable(value[:MOST_TEXT]) if type(value) is str else comparing.said(value, MOST_WORDS)
