"""The journal of an experiment: one append-only file of JSON lines, from which it can be continued.

```
  {"v": 1, "experiment": "mnist", "metric": "loss", "mode": "min", "num_samples": 50, "seed": 7, …}
  {"trial": "a1b2c_00003", "number": 3, "config": {…},        a trial is made, or PBT gives it another config;
   "folder": "train_a1b2c_00003_3_lr=0.1"}                    "chosen" is what Optuna chose of it, "drawn" are the names
                                                              of the parameters that a search has chosen
  {"trial": …, "attempt": 1, "after": "checkpoint_000002"}    it is submitted; later reports are made again
  {"trial": …, "report": 7, "metrics": {…}}
  {"trial": …, "checkpoint": "checkpoint_000007", "report": 7, "metrics": {…}}
  {"trial": …, "deleted": "checkpoint_000004"}
  {"trial": …, "state": "done" | "stopped" | "error", "error": ""}
  {"callbacks": [{…}, null]}                                  what callbacks want back, as far as JSON holds it
  {"end": "finished" | "stopped" | "failed"}
```
Names of folders are relative, and nothing is pickled. A value of a config that JSON cannot hold is kept as its `repr`,
and comes from `param_space` again. Reports are written once a second, all other lines at once; `sync` is called before
an end of a trial is shown to anybody.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle
import msgspec

from nbaccel.train import storage
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.train.journal import Kept, LineFile, whole_lines
from nbaccel.tune import comparing
from nbaccel.tune.error import TuneError
from nbaccel.tune.search.variant_generator import leaves, named
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.views import wording

FILE = "experiment.jsonl"
VERSION = 1
_FIRST = {"experiment", "metric", "mode", "seed"}  # what the first line has
FLUSH_S = 1.0
_REPR, _TUPLE = "__repr__", "__tuple__"
MOST_BITS = 10_000  # of an int; Python reads and writes no number of more than 4,300 digits


@dataclass(slots=True)
class ExperimentPast:
    """The content of a journal. `facts` is its first line, `length` the bytes of whole lines."""

    facts: dict[str, Any] = field(default_factory=dict)
    trials: dict[str, Trial] = field(default_factory=dict)
    ended: str = ""
    length: int = 0
    callbacks: list[Any] = field(default_factory=list)
    ran_s: float = 0.0  # in all programs before the last one
    began_at: float = 0.0  # in the last program
    seen_at: float = 0.0  # the last time that it tells

    def lasted_s(self) -> float:
        """How long it has run, without the time in which no program ran it."""
        return self.ran_s + max(0.0, self.seen_at - self.began_at)


def read(folder: str | Path) -> ExperimentPast | None:
    """The journal in a folder; None if there is none. Raises ValueError for a later version or a changed file."""
    try:
        data = (Path(folder) / FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    past = ExperimentPast()
    for number, (line, end) in enumerate(whole_lines(data)):
        try:
            _apply(past, line)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"Line {number + 1} of {Path(folder) / FILE} does not go with those before it: the file was changed, "
                "or is not one of nbaccel. Give a copy of the folder as it was; or remove this line and all after it, "
                "and the experiment goes on from there."
            ) from error
        past.length = end
    _ends_program(past)
    keeps = past.facts.get("keeps", {})
    names = ("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order")
    for trial in past.trials.values():
        trial.keeping = CheckpointConfig(**{name: keeps[name] for name in names if name in keeps})
    return past


def _apply(past: ExperimentPast, line: Mapping[str, Any]) -> None:
    if "v" in line:
        if line["v"] > VERSION:
            raise ValueError(
                f"The experiment {line.get('experiment')} was written by a later version of nbaccel (journal version "
                f"{line['v']}, this one reads up to {VERSION}): update nbaccel."
            )
        if not past.facts and not line.keys() >= _FIRST:
            raise KeyError(*_FIRST - line.keys())
        past.facts = past.facts | dict(line)
        _ends_program(past)
        past.ended, past.ran_s = "", past.lasted_s()
        past.began_at = past.seen_at = line.get("begins", line.get("started", 0.0))
        return
    past.seen_at = max(past.seen_at, line.get("time", 0.0), _time_of(line.get("metrics")))
    past.began_at = past.began_at or past.seen_at
    if "trial" in line:
        _apply_to_trial(past, line)
    elif "callbacks" in line:
        past.callbacks = [decoded(each) for each in line["callbacks"]]
    elif "end" in line:
        past.ended = line["end"]
        _ends_program(past)


def _ends_program(past: ExperimentPast) -> None:
    """No program runs it any more: trials under way have ended then, as far as the journal can say."""
    for trial in past.trials.values():
        if trial.state is TrialState.RUNNING and not trial.ended_at:
            trial.ended_at = max(past.seen_at, trial.started_at)


def _time_of(metrics: Any) -> float:
    """When a report came."""
    time_s = metrics.get("timestamp") if isinstance(metrics, Mapping) else None
    return float(time_s) if isinstance(time_s, (int, float)) and not isinstance(time_s, bool) else 0.0


def _apply_to_trial(past: ExperimentPast, line: Mapping[str, Any]) -> None:
    if "config" in line:
        config = {name: decoded(value) for name, value in line["config"].items()}
        trial = past.trials.setdefault(line["trial"], Trial(line["trial"], line["number"], config))
        trial.config = config
        trial.folder, trial.custom_name = (
            line.get("folder", trial.folder or trial.id),
            line.get("name", trial.custom_name),
        )
        trial.drawn = tuple(line["drawn"]) if "drawn" in line else trial.drawn
        trial.chosen = {name: (value, text) for name, (value, text) in line.get("chosen", {}).items()}
        trial.unknown = {named(path): value.text for path, value in leaves(config) if isinstance(value, UnknownValue)}
        if "donor" in line:
            trial.donor, trial.start_from, trial.first_report = line["donor"], line["from"], line["first"]
            trial.counted = line.get("counted", {})
            trial.kept.clear()
        return
    trial = past.trials[line["trial"]]
    if "attempt" in line:
        trial.attempts, trial.state = line["attempt"], TrialState.RUNNING
        trial.reports = [each for each in trial.reports if each["report"] < line["first"]]
        trial.begins(line["time"])
    elif "checkpoint" in line:
        trial.kept.append(Kept(line["checkpoint"], line["report"], line["metrics"]))
        trial.saved = int(line["checkpoint"].rpartition("_")[2]) + 1
    elif "report" in line:
        trial.reports.append({"report": line["report"], "metrics": line["metrics"]})
    elif "deleted" in line:
        trial.kept = [each for each in trial.kept if each.folder != line["deleted"]]
    elif "state" in line:
        trial.state, trial.error_words = TrialState(line["state"]), line.get("error", "")
        trial.failures = line.get("failures", trial.failures)
        trial.is_pruned = line.get("pruned", False)
        trial.ended_at = line["time"]


class ExperimentJournal:
    """The open journal, for the thread of the experiment."""

    def __init__(self, folder: str | Path, past: ExperimentPast | None = None) -> None:
        self._lines = LineFile(Path(folder) / FILE, past.length if past is not None else 0)
        self._reports: list[dict[str, Any]] = []
        self._flushed_at = time.monotonic()
        self._is_dirty = False

    def begin(self, facts: Mapping[str, Any]) -> None:
        self._write({"v": VERSION, **facts, "begins": time.time()})
        self.sync()

    def trial(self, trial: Trial) -> None:
        line = {"trial": trial.id, "number": trial.number, "config": _encoded_config(trial.config)}
        for name, value in (("folder", trial.folder), ("name", trial.custom_name), ("drawn", trial.drawn)):
            if value not in (None, ""):
                line[name] = value
        if trial.chosen:
            line["chosen"] = {name: list(each) for name, each in trial.chosen.items()}
        if trial.donor:
            line |= {"donor": trial.donor, "from": trial.start_from, "first": trial.first_report}
            line["counted"] = trial.counted
        self._write(line)

    def attempt(self, trial: Trial) -> None:
        after = trial.kept[-1].folder if trial.kept else ""
        line = {
            "trial": trial.id,
            "attempt": trial.attempts,
            "after": after,
            "first": trial.next_report,
            "time": time.time(),
        }
        self._write(line)

    def report(self, trial: Trial, number: int, metrics: Mapping[str, Any]) -> None:
        self._reports.append({"trial": trial.id, "report": number, "metrics": metrics})
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self.flush()

    def checkpoint(self, trial: Trial, kept: Kept) -> None:
        line = {"trial": trial.id, "checkpoint": kept.folder, "report": kept.report, "metrics": kept.metrics}
        self._write(line)

    def deleted(self, trial: Trial, folder: str) -> None:
        self._write({"trial": trial.id, "deleted": folder})

    def state(self, trial: Trial) -> None:
        line = {"trial": trial.id, "state": trial.state.value, "error": trial.error_words, "time": time.time()}
        self._write(line | {"failures": trial.failures} | ({"pruned": True} if trial.is_pruned else {}))

    def callbacks(self, states: list[Any]) -> None:
        self._write({"callbacks": [encoded(each) for each in states]})

    def end(self, how: str) -> None:
        self._write({"end": how, "time": time.time()})
        self.sync()

    def flush(self) -> None:
        """Write the reports that wait."""
        self._flushed_at = time.monotonic()
        if self._reports:
            reports, self._reports = self._reports, []
            self._lines.write(reports)

    def sync(self) -> None:
        """Wait until the disk has all lines, if any but reports were written since the last time."""
        if self._is_dirty:
            self.flush()
            self._lines.sync()
            self._is_dirty = False

    def close(self) -> None:
        self._lines.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line after the reports that wait. Raises OSError when the disk is full."""
        self.flush()
        self._lines.write([line])
        self._is_dirty = True


# ---- configs as JSON


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that the journal could not store."""

    text: str


def encoded(value: Any) -> Any:
    """A value as JSON: tuples are marked, and what JSON cannot hold is its repr."""
    if _is_plain(value):
        return value
    if _is_a_dict_of_names(value):
        return {key: encoded(inner) for key, inner in value.items()}
    if type(value) is list:
        return [encoded(inner) for inner in value]
    if type(value) is tuple:
        return {_TUPLE: [encoded(inner) for inner in value]}
    item = getattr(value, "item", None)  # of numpy's scalars
    if callable(item) and getattr(value, "shape", None) == () and _is_plain(number := item()):
        return number
    return {_REPR: wording.text_of(value, text=repr)}


def _encoded_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A trial's config as JSON; a parameter with the name of a mark stays one."""
    return {name: encoded(value) for name, value in config.items()}


def _is_plain(value: Any) -> bool:
    if type(value) is int:
        return value.bit_length() <= MOST_BITS
    return value is None or type(value) in (bool, float, str)


def _is_a_dict_of_names(value: Any) -> bool:
    """Whether this is a dict that comes back as it is: one whose only name is a mark of this module does not."""
    return isinstance(value, Mapping) and all(isinstance(k, str) for k in value) and {*value} not in ({_REPR}, {_TUPLE})


def decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_REPR}:
            return UnknownValue(value[_REPR])
        if value.keys() == {_TUPLE}:
            return tuple(decoded(inner) for inner in value[_TUPLE])
        return {key: decoded(inner) for key, inner in value.items()}
    return [decoded(inner) for inner in value] if isinstance(value, list) else value


# ---- what is in the folder of a trial that the journal does not name


_REST = re.compile(r"\.(checkpoint|exploited)_\d+\.(part|deleted)|\.attempt_\d+|\.saved-.*")
_CHECKPOINT = re.compile(r"checkpoint_\d{6,}")


def clear(folder: str) -> None:
    """Remove what is no checkpoint, when no attempt of this driver runs."""
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if _REST.fullmatch(name):
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def settle(experiment: str, trial: Trial, *, remove: bool) -> None:
    """Make the journal and the folder agree, after a crash or a move.

    A checkpoint whose folder is gone is forgotten. With `remove`, a folder that the journal does not name is removed:
    the trial goes on from the one before, and reports that step again.
    """
    folder = os.path.join(experiment, trial.folder_name)
    there = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    trial.kept = [each for each in trial.kept if each.folder in there]
    if remove:
        clear(folder)
        known = {each.folder for each in trial.kept}
        for name in there - known:
            if _CHECKPOINT.fullmatch(name):
                storage.delete(folder, name)


# ---- the folder of an experiment, open for its driver


@dataclass(slots=True)
class OpenExperiment:
    """An experiment's folder, open for its driver. `said`: a sentence about its name; "" if there is nothing to say."""

    name: str
    folder: str
    past: ExperimentPast
    journal: ExperimentJournal
    lock: storage.RunLock
    note: str = ""

    def close(self) -> None:
        self.journal.close()
        self.lock.release()


def open_new(config: RunConfig, default_name: str) -> OpenExperiment:
    """Open the folder of a new experiment. Raises TuneError if it cannot be written."""
    assert config.storage_path is not None
    wanted = config.name or default_name
    name, number = wanted, 1
    while not _claim(Path(config.storage_path) / name):
        number += 1
        name = f"{wanted}-{number}"
    note = ""
    if config.name and name != wanted:  # one that was given no name may have begun in the same second as another
        note = (
            f"The folder {wanted} exists, so {name} begins. "
            f"tune.Tuner.restore({str(Path(config.storage_path) / wanted)!r}, trainable) goes on with {wanted}."
        )
    return _open(Path(config.storage_path) / name, note)


def _claim(folder: Path) -> bool:
    """Make the folder, since another process may want the same name now. False if somebody has it.

    A folder that cannot be made is ours, too: why it cannot is told when it is opened.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return True
    try:
        folder.mkdir()
    except OSError as error:
        return not isinstance(error, FileExistsError)
    return True


def reopen(path: str | os.PathLike[str]) -> OpenExperiment:
    """Open an experiment again. Raises FileNotFoundError if there is none, TuneError if it is under way."""
    read_past(path)
    return _open(Path(path).expanduser().absolute(), "")


def read_past(path: str | os.PathLike[str]) -> ExperimentPast:
    """The journal of an experiment. Raises FileNotFoundError if the folder holds none."""
    past = read(Path(path).expanduser())
    if past is None or not past.facts:
        raise FileNotFoundError(
            f"{os.fspath(path)} holds no experiment of nbaccel: it has no {FILE} with a whole line."
        )
    return past


def _open(folder: Path, note: str) -> OpenExperiment:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = storage.RunLock(str(folder))
    except BlockingIOError:
        raise TuneError(
            f"The experiment {folder.name} is under way in process {storage.holder(str(folder))}: two cannot share a "
            "folder. Wait for it, or stop it."
        ) from None
    except OSError as error:
        raise TuneError(
            f"The experiment's folder {folder} cannot be written: {error.strerror or error}. Give another one: "
            "RunConfig(storage_path=...), or the environment variable NBACCEL_STORAGE."
        ) from error
    try:
        past = read(folder) or ExperimentPast()
        for trial in past.trials.values():
            settle(str(folder), trial, remove=True)
        return OpenExperiment(folder.name, str(folder), past, ExperimentJournal(folder, past), lock, note)
    except BaseException:  # a later version, or a disk
        lock.release()
        raise


# ---- the files that a trial's folder has for people and their tools, as in Ray Tune; all follow from the journal
#
# ```
#   <trial>/params.json, params.pkl  its parameters
#           result.json              a line for each report
#           progress.csv             the reports as a table; the columns are those of the first one
#           error.txt, error.pkl     the errors of a trial that has failed, and the last of them
# ```
# Nothing is read from them: a trial that goes on from a checkpoint has them written again. The variable
# TUNE_DISABLE_AUTO_CALLBACK_LOGGERS=1 leaves them out, as in Ray.


PARAMS, RESULTS, TABLE, ERROR = "params", "result.json", "progress.csv", "error"
_CELL = 10_000  # characters


class TrialFiles:
    """The files of all trials of an experiment, for its thread. A second thread writes, since a disk may be slow.

    Each method raises OSError if something could not be written before, most likely since the disk is full.
    """

    def __init__(self) -> None:
        self._is_off = os.environ.get("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS") == "1"
        self._waiting: dict[str, tuple[Trial, Results]] = {}
        self._flushed_at = time.monotonic()
        self._tables = _Tables()
        self._writer = ThreadPoolExecutor(1, "nbaccel-trial-files")
        self._error: OSError | None = None

    def begin(self, trial: Trial) -> None:
        """An attempt begins: its folder is there, with its parameters and the reports that count."""
        self._do(os.makedirs, trial.local_path, exist_ok=True)
        if self._is_off:
            return
        self._do(_write, trial.local_path, f"{PARAMS}.json", _json(trial.config, indent=4))
        self._do(_pickle, trial.local_path, f"{PARAMS}.pkl", trial.config)
        if trial.attempts > 1:
            self._waiting.pop(trial.id, None)
            self._write_again(trial)

    def repair(self, trials: Iterable[Trial]) -> None:
        """After a process that was killed: write what ended trials have in the journal and not in their files."""
        for trial in trials:
            if trial.has_ended and not self._is_off and _lines(trial.local_path) != len(trial.reports):
                self._do(os.makedirs, trial.local_path, exist_ok=True)
                self._write_again(trial)

    def _write_again(self, trial: Trial) -> None:
        self._do(self._tables.clear, trial.local_path)
        self._hand_over(trial, [trial.result(each["metrics"]) for each in trial.reports])

    def report(self, trial: Trial, result: dict[str, Any]) -> None:
        if self._is_off:
            return
        self._waiting.setdefault(trial.id, (trial, []))[1].append(result)
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self.flush()

    def end(self, trial: Trial) -> None:
        """A trial has ended for good."""
        self._hand_over(*self._waiting.pop(trial.id, (trial, [])))

    def failed(self, trial: Trial) -> None:
        """An attempt of a trial has failed."""
        if not self._is_off:
            text = f"Failure # {trial.failures} (occurred at {time.strftime('%Y-%m-%d_%H-%M-%S')})\n{trial.error}\n"
            self._do(os.makedirs, trial.local_path, exist_ok=True)
            self._do(_write, trial.local_path, f"{ERROR}.txt", text, "a")
            self._do(_pickle, trial.local_path, f"{ERROR}.pkl", trial.error)

    def flush(self) -> None:
        """Write the reports that wait."""
        self._flushed_at = time.monotonic()
        waiting, self._waiting = self._waiting, {}
        for trial, results in waiting.values():
            self._hand_over(trial, results)

    def wait(self) -> None:
        """Wait until all files have what they are to have."""
        self.flush()
        self._writer.submit(lambda: None).result()
        self._do(os.getpid)  # raises what went wrong

    def close(self) -> None:
        self._writer.shutdown()

    def _hand_over(self, trial: Trial, results: Results) -> None:
        if results:
            self._do(self._tables.append, trial.local_path, trial.config, results)

    def _do(self, function: Callable[..., object], *args: Any, **options: Any) -> None:
        """Let the second thread do it; raises what it met before."""
        if self._error is not None:
            raise self._error

        def done() -> None:
            try:
                function(*args, **options)
            except FileNotFoundError:
                pass  # somebody has removed the folder; nothing is read from these files
            except OSError as error:
                self._error = error

        self._writer.submit(done)


Results = list[dict[str, Any]]


class _Tables:
    """Writes results into two files of a folder, for one thread."""

    def __init__(self) -> None:
        self._columns: dict[str, list[str]] = {}

    def clear(self, folder: str) -> None:
        self._columns.pop(folder, None)
        for name in (RESULTS, TABLE):
            _write(folder, name, "")

    def append(self, folder: str, config: dict[str, Any], results: Results) -> None:
        flat = comparing.flat({"config": config})
        rows = [comparing.flat(each | {"config": None}) | flat for each in results]
        columns = self._columns.get(folder)
        if columns is None:
            columns = self._columns[folder] = [name for name in rows[0] if name != "config"]
            _write(folder, TABLE, _csv([columns]), "a")
        cells = [[row.get(name) for name in columns] for row in rows]
        with open(os.path.join(folder, RESULTS), "ab") as file:
            file.write(b"".join(_line(result, row) for result, row in zip(results, rows, strict=True)))
        _write(folder, TABLE, _csv(cells), "a")


def _csv(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    try:
        csv.writer(text, lineterminator="\n").writerows(rows)
    except Exception:  # a very large int, or an object whose text raises
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([list(map(_cell, row)) for row in rows])
    return text.getvalue()


def _lines(folder: str) -> int:
    try:
        with open(os.path.join(folder, RESULTS), "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0


def _line(result: dict[str, Any], row: dict[str, Any]) -> bytes:
    """A line of JSON. msgspec is fast; it writes NaN and infinity as null, and refuses very large ints."""
    try:
        line = msgspec.json.encode(result, enc_hook=_text)
    except (TypeError, ValueError, OverflowError):  # names that are no texts, lone surrogates
        return f"{_json(result)}\n".encode()
    if line.count(b"null") > 1 and any(each != each or abs(each) == math.inf for each in _floats(row)):
        return f"{_json(result)}\n".encode()
    return line + b"\n"


def _floats(row: dict[str, Any]) -> list[float]:
    return [each for each in row.values() if type(each) is float]


def _text(value: Any) -> str:
    return wording.text_of(value, text=repr)


def _cell(value: Any) -> str:
    return "" if value is None else wording.text_of(value, _CELL)


def _json(value: Any, **options: Any) -> str:
    try:
        return json.dumps(value, default=_text, skipkeys=True, **options)
    except (ValueError, RecursionError):  # a very large int, a dict that holds itself
        return json.dumps(encoded(value), **options)


def _write(folder: str, name: str, text: str, how: str = "w") -> None:
    with open(os.path.join(folder, name), how, encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _pickle(folder: str, name: str, value: Any) -> None:
    """Write a pickle, unless the value cannot be pickled: a config may hold a lock."""
    try:
        data = cloudpickle.dumps(value)
    except Exception:  # of a user's class
        return
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


# ---- the folder of a trial; a checkpoint gets into it whole or not at all
#
# ```
#   <experiment>/<trial>/.attempt_002/.checkpoint_000007.part/…    an attempt puts its files here
#                       /checkpoint_000007/…                       … and the driver renames it
#                       /exploited_003/…                           a copy of the checkpoint of another trial
# ```
# Each attempt has a place of its own: a process of an attempt that is over, whose driver was killed a moment ago, may
# still write while the next attempt runs.


def place_of(folder: str, attempt: int) -> str:
    """Where an attempt puts the files of its checkpoints."""
    return os.path.join(folder, f".attempt_{attempt:03d}")


def bring(source: str, folder: str, attempt: int, number: int, *, move: bool) -> None:
    """Put the files of a checkpoint where the driver can commit them. Raises OSError if the disk is full."""
    storage.bring(source, place_of(folder, attempt), number, move=move)


def commit(folder: str, attempt: int, number: int) -> str:
    """Give a finished checkpoint its name; returns the name. Raises OSError."""
    return storage.commit(place_of(folder, attempt), number, into=folder)[0]


def copy(source: str, folder: str, name: str) -> None:
    """Copy a checkpoint of another trial, in place of an earlier copy of this name. Raises OSError."""
    part = os.path.join(folder, f".{name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a driver that was killed
    shutil.copytree(source, part)
    storage.delete(folder, name)  # of an attempt that failed before it could begin there
    os.rename(part, os.path.join(folder, name))
