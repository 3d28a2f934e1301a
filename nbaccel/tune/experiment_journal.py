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

import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel.train import storage
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.train.journal import Kept, LineFile, whole_lines
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
