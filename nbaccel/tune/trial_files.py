"""The files that a trial's folder has for people and their tools, as in Ray Tune; all of them follow from the journal.

```
  <trial>/params.json, params.pkl  its parameters
          result.json              a line for each report
          progress.csv             the reports as a table; the columns are those of the first one
          error.txt, error.pkl     the errors of a trial that has failed, and the last of them
```
Nothing is read from them: a trial that goes on from a checkpoint has them written again. The variable
TUNE_DISABLE_AUTO_CALLBACK_LOGGERS=1 leaves them out, as in Ray.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
import msgspec

from nbaccel.train import storage
from nbaccel.tune import comparing
from nbaccel.tune.experiment_journal import encoded
from nbaccel.tune.trial import Trial
from nbaccel.views import wording

PARAMS, RESULTS, TABLE, ERROR = "params", "result.json", "progress.csv", "error"
_CELL = 10_000  # characters
FLUSH_S = 1.0


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
