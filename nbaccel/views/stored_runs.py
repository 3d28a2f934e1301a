"""The training runs and experiments of a storage folder, read from their journals: no cluster is needed.

A journal is a file of JSON lines (`train/journal.py`, `tune/experiment_journal.py` write them). Here only what a list
shows is read; a line that a crash has cut ends the reading.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.experiment_snapshot import EXPERIMENT_SIGNS, TRIAL_SIGNS, params_words
from nbaccel.views.run_snapshot import RUN_SIGNS, few_points

STORAGE_VARIABLE = "NBACCEL_STORAGE"
DEFAULT_STORAGE = "~/nbaccel_results"
_JOURNALS = {"run.jsonl": "run", "experiment.jsonl": "experiment"}
_SIGNS = {**RUN_SIGNS, **EXPERIMENT_SIGNS, **TRIAL_SIGNS, "pruned": "⊘", "interrupted": "⊘"}
_TRIAL_ENDS = ("done", "pruned", "stopped", "error")
_MOST_METRICS = 4
_MOST_CURVES, _MOST_POINTS = 30, 200
_DELETED = ".deleted"  # ends the name of a folder that is on its way out
NOTE_FILE = "note.txt"
MOST_NOTE_CHARACTERS = 4000
_NOT_SHOWN = ("training_iteration", "timestamp", "time_this_iter_s", "time_total_s")


class StoredCurve(msgspec.Struct):
    """A metric over reports: the number of each report, the seconds that the run had taken until then, the value."""

    name: str
    points: list[tuple[int, float, float]]


class StoredRun(msgspec.Struct, kw_only=True):
    """A training run, an experiment or a trial of one as its folder has it.

    state    "running", "finished", "stopped", "failed", or "interrupted" if its program ended without a word;
             of a trial also "pending", and "done", "pruned" and "error" for its ends
    metrics  of the last report; of an experiment, those of its best trial, whose parameters are `config`
    config   of a run, its train_loop_config; what is no number or text is short text
    curves   of the metrics, if they were asked for
    note     what somebody has written about it
    """

    name: str
    kind: str  # "run", "experiment" or "trial"
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
    curves: list[StoredCurve] = []
    note: str = ""


Report = tuple[int, float, Mapping[str, Any]]  # its number, the seconds until it, its metrics
Trial = tuple[StoredRun, list[Report]]


def runs(storage: str | os.PathLike[str] | None = None, *, text: str = "", state: str = "") -> list[StoredRun]:
    """All training runs and experiments of a storage folder, the newest first; no cluster is needed.

    `storage` is by default $NBACCEL_STORAGE, else ~/nbaccel_results. `text` must be in the name, the metrics, the best
    config or the note; `state` is "running", "finished", "stopped", "failed" or "interrupted". Raises
    FileNotFoundError if there is no such folder.

    >>> for run in nbaccel.tune.runs("."): print(run.name, run.state, run.metrics)
    """
    folders = (each for each in _folder(storage).iterdir() if not each.name.endswith(_DELETED))
    found = [_read(path, kind) for each in folders for path, kind in _journals(each)]
    chosen = [each for each in found if each is not None and state in ("", each.state) and text in _words_of(each)]
    return sorted(chosen, key=lambda each: -each.started_at)


def with_curves(storage: str | os.PathLike[str] | None, names: Sequence[str]) -> list[StoredRun]:
    """The runs and experiments in these folders of a storage folder, with the curves of their metrics; EXPERIMENT/TRIAL
    names a trial.
    """
    folders = [_folder(storage) / name for name in names if _is_name(name)]
    found = [_read(path, kind, curves=True) for each in folders for path, kind in _journals(each)]
    wanted = [name.partition("/") for name in names if "/" in name]
    trials = {experiment: _trials(storage, experiment) for experiment, _, _ in wanted}
    for experiment, _, id in wanted:
        for trial, reports in trials[experiment]:
            if os.path.basename(trial.path) == id:
                trial.curves = _curves(reports)
                found.append(trial)
    return [each for each in found if each is not None]


def trials(storage: str | os.PathLike[str] | None, experiment: str) -> list[StoredRun]:
    """The trials of the experiment in this folder of a storage folder, the best first."""
    return [trial for trial, _ in _trials(storage, experiment)]


def _trials(storage: str | os.PathLike[str] | None, experiment: str) -> list[Trial]:
    path = _folder(storage) / experiment / "experiment.jsonl"
    run, _, found = (_is_name(experiment) and path.is_file() and _read_whole(path, "experiment")) or (None, [], [])
    for trial, _ in found:
        begun = trial.state or trial.reports
        trial.state = trial.state if trial.state in _TRIAL_ENDS else run.state if run and begun else "pending"
        trial.state = "interrupted" if trial.state not in ("running", "pending", *_TRIAL_ENDS) else trial.state
    return found


def delete(storage: str | os.PathLike[str] | None, name: str) -> None:
    """Delete the run or experiment in this folder of a storage folder, with its checkpoints.

    Raises FileNotFoundError if there is none, and BlockingIOError if it is under way.
    """
    folder = _folder(storage) / name
    if not _is_name(name) or folder.is_symlink() or not _journals(folder):
        raise FileNotFoundError(name)
    going = folder.with_name(f".{name}{_DELETED}")
    with open(folder / ".lock", "a+") as lock:  # which whoever runs it has
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(going, ignore_errors=True)  # of an earlier try
        folder.rename(going)  # first: half of a run is none
    shutil.rmtree(going)


def write_note(storage: str | os.PathLike[str] | None, name: str, text: str) -> None:
    """Keep a text about the run or experiment in this folder of a storage folder, beside its journal; "" removes it.

    Raises FileNotFoundError if there is no such run, ValueError if the text is too long, and OSError if the folder
    cannot be written.
    """
    folder = _folder(storage) / name
    if not _is_name(name) or folder.is_symlink() or not _journals(folder):
        raise FileNotFoundError(name)
    if len(text) > MOST_NOTE_CHARACTERS:
        raise ValueError(f"A note has at most {MOST_NOTE_CHARACTERS:,} characters; this one has {len(text):,}.")
    if not text.strip():
        (folder / NOTE_FILE).unlink(missing_ok=True)
        return
    written = folder / f".{NOTE_FILE}"
    written.write_text(text, encoding="utf-8")
    written.replace(folder / NOTE_FILE)  # whole: half of a note would be another one


def _folder(storage: str | os.PathLike[str] | None) -> Path:
    return Path(storage or os.environ.get(STORAGE_VARIABLE) or DEFAULT_STORAGE).expanduser()


def _is_name(name: str) -> bool:
    """Whether this names a folder directly in another one."""
    return name not in ("", ".", "..") and os.path.basename(name) == name


def _journals(folder: Path) -> list[tuple[Path, str]]:
    return [(path, kind) for name, kind in _JOURNALS.items() if (path := folder / name).is_file()]


def _words_of(run: StoredRun) -> str:
    return f"{run.name} {run.metrics} {run.config} {run.note}"


def table(found: Sequence[StoredRun], now: float) -> tables.Table:
    """A row for each."""
    columns = ("Run", "Kind", "State", "Started", "Took", "Progress", "Metrics", "Why", "Note")
    made = tables.Table("Runs", columns, [_cells(each, now) for each in found], empty="There is no run.")
    unused = {name for name in ("Why", "Note") if not any(row[columns.index(name)] for row in made.rows)}
    return tables.without_columns(made, unused)


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
        _first_line(run.error),
        _first_line(run.note),
    )


def _first_line(text: str) -> str:
    return wording.plain(text.strip().splitlines()[0])[:100] if text.strip() else ""


def _metric_words(run: StoredRun) -> str:
    names = [run.metric] if run.metric in run.metrics else [name for name in run.metrics if name not in _NOT_SHOWN]
    numbers = [(name, run.metrics[name]) for name in names if isinstance(run.metrics[name], (int, float))]
    said = ", ".join(f"{wording.plain(name)} {wording.number(value)}" for name, value in numbers[:_MOST_METRICS])
    return f"{said}{params_words({name: str(value) for name, value in run.config.items()})}"


# ---- reading


def _read(path: Path, kind: str, *, curves: bool = False) -> StoredRun | None:
    """The run of a journal; None if it has no whole line, or goes on in a way that is not known here."""
    run, reports, _ = _read_whole(path, kind) or (None, [], [])
    if run is not None and curves:
        run.curves = _curves(reports)
    return run


def _read_whole(path: Path, kind: str) -> tuple[StoredRun, list[Report], list[Trial]] | None:
    """The run of a journal with its reports and, of an experiment, its trials."""
    run = StoredRun(name=path.parent.name, kind=kind, path=str(path.parent))
    trials: list[Trial] = []
    reports: list[Report] = []
    try:
        lines = list(_lines(path))
        if kind == "experiment":
            trials = _fill_experiment(run, lines)
            reports = next((made for trial, made in trials if trial.metrics is run.metrics), [])
        else:
            reports = _fill_run(run, lines)
    except (OSError, KeyError, TypeError, AttributeError):
        return None
    if not lines:
        return None
    run.state = run.state or ("running" if _is_open(path.parent) else "interrupted")
    run.note = _note(path.parent)
    return run, reports, trials


def _note(folder: Path) -> str:
    try:
        with open(folder / NOTE_FILE, encoding="utf-8", errors="replace") as file:
            return file.read(MOST_NOTE_CHARACTERS)
    except OSError:
        return ""


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


def _fill_run(run: StoredRun, lines: Sequence[Mapping[str, Any]]) -> list[Report]:
    """Returns the reports that no restart has made again."""
    reports: list[Report] = []
    idle_s = 0.0  # between the programs that ran it
    for line in lines:
        if "v" in line and run.ended_at:
            idle_s += max(0.0, line.get("started", 0.0) - run.ended_at)
        run.ended_at = max(run.ended_at, line.get("time") or 0.0)
        if "v" in line:
            _begin(run, line)
            run.config = line.get("config", {})
        elif "worker_group" in line or "gang" in line:  # "gang": as older journals have it
            reports = [each for each in reports if each[0] < line.get("first", 0)]
        elif "report" in line and "checkpoint" not in line:
            run.reports, run.metrics = line["report"] + 1, line["metrics"]
            reports.append((line["report"], line.get("time", 0.0) - run.started_at - idle_s, line["metrics"]))
        elif "end" in line:
            run.state, run.error = line["end"], line.get("error", "")
    return reports


def _fill_experiment(run: StoredRun, lines: Sequence[Mapping[str, Any]]) -> list[Trial]:
    """Returns its trials, the best first."""
    trials: dict[str, Trial] = {}
    mode = ""
    for line in lines:
        run.ended_at = max(run.ended_at, line.get("time") or 0.0)
        if "v" in line:
            _begin(run, line)
            mode, run.trials = line.get("mode") or "", line.get("total") or run.trials
        elif "trial" in line:
            _apply_to_trial(run, trials, line)
        elif "end" in line:
            run.state = line["end"]
    run.reports = sum(len(reports) for _, reports in trials.values())
    run.trials = max(run.trials, len(trials))
    run.trials_ended = sum(trial.state in _TRIAL_ENDS for trial, _ in trials.values())
    ordered = sorted(trials.values(), key=lambda each: _score(each[0], mode))
    if ordered and _score(ordered[0][0], mode) < math.inf:
        run.metrics, run.config = ordered[0][0].metrics, ordered[0][0].config
    return ordered


def _apply_to_trial(run: StoredRun, trials: dict[str, Trial], line: Mapping[str, Any]) -> None:
    id = line["trial"]
    if "config" in line:
        trial = StoredRun(name=id.rpartition("_")[2], kind="trial", path=f"{run.path}/{id}", metric=run.metric)
        trials.setdefault(id, (trial, []))[0].config = line["config"]
        return
    trial, reports = trials[id]
    if "attempt" in line:
        trial.state = "running"
    elif "report" in line and "checkpoint" not in line:
        trial.metrics, trial.reports = line["metrics"], line["report"] + 1
        took_s = trial.metrics.get("time_total_s", 0.0)
        trial.ended_at = trial.metrics.get("timestamp", 0.0)
        trial.started_at = trial.started_at or trial.ended_at - took_s
        reports.append((line["report"], took_s, trial.metrics))
    elif "state" in line:
        trial.state = "pruned" if line.get("pruned") else line["state"]
        trial.error = line.get("error", "")
        trial.ended_at = line.get("time") or trial.ended_at
        run.error = trial.error or run.error


def _score(trial: StoredRun, mode: str) -> float:
    """The last value of the metric that trials are compared by, as a number that is better if it is lower."""
    value, sign = trial.metrics.get(trial.metric), {"min": 1.0, "max": -1.0}.get(mode)
    return sign * value if sign and isinstance(value, (int, float)) and not math.isnan(value) else math.inf


def _curves(reports: Sequence[Report]) -> list[StoredCurve]:
    """A curve for each metric that was reported as a number at least twice."""
    seconds = {number: round(until, 3) for number, until, _ in reports}
    values: dict[str, dict[int, float]] = {}
    for number, _, metrics in reports:
        for name, value in metrics.items():
            if isinstance(value, (int, float)) and math.isfinite(value) and name not in _NOT_SHOWN:
                values.setdefault(name, {})[number] = value
    several = [(name, list(points.items())) for name, points in values.items() if len(points) > 1]
    return [
        StoredCurve(name, [(number, seconds[number], value) for number, value in few_points(points, _MOST_POINTS)])
        for name, points in several[:_MOST_CURVES]
    ]


def _is_open(folder: Path) -> bool:
    """Whether a process of this machine has the folder's lock: its pid is in the file meanwhile."""
    try:
        pid = (folder / ".lock").read_text()
    except OSError:
        return False
    return pid.isdigit() and os.path.exists(f"/proc/{pid}")
