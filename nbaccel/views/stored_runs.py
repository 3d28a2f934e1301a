"""The training runs and experiments of a storage folder, read from their journals: no cluster is needed.

A journal is a file of JSON lines (`train/journal.py`, `tune/experiment_journal.py` write them). Here only what a list
shows is read; a line that a crash has cut ends the reading.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.experiment_snapshot import EXPERIMENT_SIGNS, params_words
from nbaccel.views.run_snapshot import RUN_SIGNS

STORAGE_VARIABLE = "NBACCEL_STORAGE"
DEFAULT_STORAGE = "~/nbaccel_results"
_JOURNALS = {"run.jsonl": "run", "experiment.jsonl": "experiment"}
_SIGNS = {**RUN_SIGNS, **EXPERIMENT_SIGNS, "interrupted": "⊘"}
_MOST_METRICS = 4
_NOT_SHOWN = ("training_iteration", "timestamp", "time_this_iter_s", "time_total_s")


class StoredRun(msgspec.Struct, kw_only=True):
    """A training run or an experiment as its folder has it.

    state    "running", "finished", "stopped", "failed", or "interrupted" if its program ended without a word
    metrics  of the last report; of an experiment, those of its best trial, whose parameters are `config`
    """

    name: str
    kind: str  # "run" or "experiment"
    path: str
    state: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0  # the last time that its journal tells
    reports: int = 0
    trials: int = 0
    trials_ended: int = 0
    metric: str = ""  # that trials are compared by
    metrics: dict[str, Any] = {}
    config: dict[str, Any] = {}
    error: str = ""


def runs(storage: str | os.PathLike[str] | None = None, *, text: str = "", state: str = "") -> list[StoredRun]:
    """All training runs and experiments of a storage folder, the newest first; no cluster is needed.

    Without `storage` it is $NBACCEL_STORAGE, else ~/nbaccel_results. `text` is part of the name, the metrics or the
    best config; `state` is one of StoredRun's. Raises FileNotFoundError if there is no such folder.

    >>> for run in nbaccel.tune.runs("."): print(run.name, run.state, run.metrics)
    """
    folder = Path(storage or os.environ.get(STORAGE_VARIABLE) or DEFAULT_STORAGE).expanduser()
    found = [_read(path, kind) for each in folder.iterdir() for name, kind in _JOURNALS.items()
             if (path := each / name).is_file()]  # fmt: skip
    chosen = [each for each in found if each is not None and state in ("", each.state) and text in _words_of(each)]
    return sorted(chosen, key=lambda each: -each.started_at)


def _words_of(run: StoredRun) -> str:
    return f"{run.name} {run.metrics} {run.config}"


def table(found: Sequence[StoredRun], now: float) -> tables.Table:
    """A row for each."""
    columns = ("Run", "Kind", "State", "Started", "Took", "Progress", "Metrics", "Why")
    made = tables.Table("Runs", columns, [_cells(each, now) for each in found], empty="There is no run.")
    return made if any(row[-1] for row in made.rows) else tables.without_columns(made, {"Why"})


def _cells(run: StoredRun, now: float) -> tuple[str, ...]:
    end = now if run.state == "running" else run.ended_at
    progress = f"{run.trials_ended} of {wording.count(run.trials, 'trial')} ended"
    return (
        wording.plain(run.name),
        run.kind,
        f"{_SIGNS.get(run.state, '◌')} {run.state}",
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_at)) if run.started_at else "",
        wording.age(max(0.0, end - run.started_at)) if run.started_at else "",
        progress if run.kind == "experiment" else wording.count(run.reports, "report"),
        _metric_words(run),
        wording.plain(run.error).splitlines()[0][:100] if run.error else "",
    )


def _metric_words(run: StoredRun) -> str:
    names = [run.metric] if run.metric in run.metrics else [name for name in run.metrics if name not in _NOT_SHOWN]
    numbers = [(name, run.metrics[name]) for name in names if isinstance(run.metrics[name], (int, float))]
    said = ", ".join(f"{wording.plain(name)} {wording.number(value)}" for name, value in numbers[:_MOST_METRICS])
    return f"{said}{params_words({name: str(value) for name, value in run.config.items()})}"


# ---- reading


def _read(path: Path, kind: str) -> StoredRun | None:
    """The run of a journal; None if it has no whole line, or goes on in a way that is not known here."""
    run = StoredRun(name=path.parent.name, kind=kind, path=str(path.parent))
    try:
        lines = list(_lines(path))
        _fill_experiment(run, lines) if kind == "experiment" else _fill_run(run, lines)
    except (OSError, KeyError, TypeError, AttributeError):
        return None
    if not lines:
        return None
    run.state = run.state or ("running" if _is_open(path.parent) else "interrupted")
    return run


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for line in file:
            try:
                found = json.loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):
                return
            if not isinstance(found, dict):
                return
            yield found


def _begin(run: StoredRun, line: Mapping[str, Any]) -> None:
    """A program begins it, or goes on with it."""
    run.name, run.state, run.error = str(line[run.kind]), "", ""
    run.started_at = run.started_at or float(line.get("started", 0.0))
    run.ended_at = max(run.ended_at, float(line.get("begins", line.get("started", 0.0))))
    run.metric = line.get("metric") or ""


def _fill_run(run: StoredRun, lines: Sequence[Mapping[str, Any]]) -> None:
    for line in lines:
        run.ended_at = max(run.ended_at, line.get("time") or 0.0)
        if "v" in line:
            _begin(run, line)
        elif "report" in line and "checkpoint" not in line:
            run.reports, run.metrics = line["report"] + 1, line["metrics"]
        elif "end" in line:
            run.state, run.error = line["end"], line.get("error", "")


def _fill_experiment(run: StoredRun, lines: Sequence[Mapping[str, Any]]) -> None:
    configs: dict[str, dict[str, Any]] = {}
    last: dict[str, dict[str, Any]] = {}
    states: dict[str, str] = {}
    mode = ""
    for line in lines:
        run.ended_at = max(run.ended_at, line.get("time") or 0.0)
        if "v" in line:
            _begin(run, line)
            mode, run.trials = line.get("mode") or "", line.get("total") or run.trials
        elif "config" in line:
            configs[line["trial"]] = line["config"]
        elif "report" in line and "checkpoint" not in line:
            last[line["trial"]] = line["metrics"]
            run.reports += 1
        elif "state" in line:
            states[line["trial"]] = line["state"]
            run.error = line.get("error") or run.error
        elif "end" in line:
            run.state = line["end"]
    run.trials, run.trials_ended = max(run.trials, len(configs)), len(states)
    best = _best(last, run.metric, mode)
    if best is not None:
        run.metrics, run.config = last[best], configs[best]


def _best(last: Mapping[str, Mapping[str, Any]], metric: str, mode: str) -> str | None:
    """The trial whose last value of the metric is the best; None without a metric."""
    sign = {"min": 1.0, "max": -1.0}.get(mode, math.nan)
    values = ((trial, each.get(metric)) for trial, each in last.items())
    scores = {trial: sign * value for trial, value in values if isinstance(value, (int, float))}
    return min((trial for trial in scores if not math.isnan(scores[trial])), key=scores.__getitem__, default=None)


def _is_open(folder: Path) -> bool:
    """Whether a process of this machine has the folder's lock: its pid is in the file meanwhile."""
    try:
        pid = (folder / ".lock").read_text()
    except OSError:
        return False
    return pid.isdigit() and os.path.exists(f"/proc/{pid}")
