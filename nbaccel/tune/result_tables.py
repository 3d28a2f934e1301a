"""The trials of an experiment for notebooks: tables of text, the best first, and what is drawn of the trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.schedulers.trial_scheduler import nested
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_facts import metric_of
from nbaccel.tune.trial_session import ADDED
from nbaccel.views import tables, thinning, wording
from nbaccel.views.experiment_snapshot import INTERRUPTED, TRIAL_SIGNS, short_trial
from nbaccel.views.seen_trials import SeenTrial, SeenTrials

MOST_ROWS = 20
MOST_PARAMETERS = 8
MOST_METRICS = 3  # without a metric that trials are compared by
MOST_DRAWN = 300  # trials, the best ones
MOST_POINTS = 40  # of a drawn curve
_MOST_WORDS = 40
_IDS = 3  # named for an error


def seen_of(trials: Sequence[Trial], metric: str | None, mode: str | None) -> SeenTrials:
    """The tables and the drawn trials, the best first; without a metric, the first one that trials have reported."""
    drawn = metric or metric_of(trials)
    names = comparing.varying([trial.config for trial in trials])[:MOST_PARAMETERS] if len(trials) > 1 else []
    shown = in_order(trials, metric, mode)[:MOST_DRAWN] if drawn else []
    found = [_seen(trial, names, drawn) for trial in shown]
    return SeenTrials(of_trials(trials, metric, mode), drawn, (mode or "") if metric else "", names, found)


def _seen(trial: Trial, names: Sequence[str], metric: str) -> SeenTrial:
    flat = comparing.flat(trial.config)
    params = {name: _drawable(flat[name]) for name in names if name in flat}
    readings = [(each["report"], _finite(nested(each["metrics"], metric))) for each in trial.reports]
    points = [(report, value) for report, value in readings if value is not None]
    return SeenTrial(trial.id, params, _finite(nested(trial.last, metric)), thinning.few(points, MOST_POINTS))


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
