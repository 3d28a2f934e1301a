"""The files that a trial's folder has for people and their tools, as in Ray Tune; all of them follow from the journal.

```
  <trial>/params.json     its parameters         result.json    a line for each report
          progress.csv    the reports as a table; the columns are those of the first one
          error.txt       the error of a trial that has failed
```
Nothing is read from them: a trial that goes on from a checkpoint has them written again. The variable
TUNE_DISABLE_AUTO_CALLBACK_LOGGERS=1 leaves them out, as in Ray.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Sequence
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.experiment_journal import encoded
from nbaccel.tune.trial import Trial
from nbaccel.views import wording

PARAMS, RESULTS, TABLE, ERROR = "params.json", "result.json", "progress.csv", "error.txt"
_CELL = 10_000  # characters
FLUSH_S = 1.0


class TrialFiles:
    """The files of all trials of an experiment, for its thread. Its methods raise OSError if the disk is full."""

    def __init__(self) -> None:
        self._is_off = os.environ.get("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS") == "1"
        self._waiting: dict[str, tuple[Trial, list[dict[str, Any]]]] = {}
        self._columns: dict[str, list[str]] = {}
        self._flushed_at = time.monotonic()

    def begin(self, trial: Trial) -> None:
        """An attempt begins: its folder is there, with its parameters and the reports that count."""
        os.makedirs(trial.local_path, exist_ok=True)
        if self._is_off:
            return
        _write(trial, PARAMS, _json(trial.config, indent=4))
        if trial.attempts > 1:
            self._waiting.pop(trial.id, None)
            self._columns.pop(trial.id, None)
            for name in (RESULTS, TABLE):
                _write(trial, name, "")
            self._append(trial, [trial.result(each["metrics"]) for each in trial.reports])

    def report(self, trial: Trial, result: dict[str, Any]) -> None:
        if self._is_off:
            return
        self._waiting.setdefault(trial.id, (trial, []))[1].append(result)
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self.flush()

    def end(self, trial: Trial) -> None:
        """A trial has ended for good."""
        _, results = self._waiting.pop(trial.id, (trial, []))
        self._append(trial, results)
        self._columns.pop(trial.id, None)
        if trial.error_words and trial.state is trial.state.ERROR and os.path.isdir(trial.local_path):
            _write(trial, ERROR, f"{trial.error if trial.error is not None else trial.error_words}\n")

    def flush(self) -> None:
        """Write the reports that wait."""
        self._flushed_at = time.monotonic()
        waiting, self._waiting = self._waiting, {}
        for trial, results in waiting.values():
            self._append(trial, results)

    def _append(self, trial: Trial, results: Sequence[dict[str, Any]]) -> None:
        if not results:
            return
        flat = [comparing.flat(each) for each in results]
        columns = self._columns.get(trial.id)
        is_new = columns is None
        if columns is None:
            columns = self._columns[trial.id] = list(flat[0])
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        if is_new:
            table.writerow(columns)
        table.writerows([[_cell(row.get(name)) for name in columns] for row in flat])
        _write(trial, RESULTS, "".join(_json(each) + "\n" for each in results), "a")
        _write(trial, TABLE, text.getvalue(), "a")


def _cell(value: Any) -> Any:
    return value if type(value) in (bool, float, str) else "" if value is None else wording.text_of(value, _CELL)


def _json(value: Any, **options: Any) -> str:
    try:
        return json.dumps(value, default=lambda each: wording.text_of(each, text=repr), skipkeys=True, **options)
    except (ValueError, RecursionError):  # a very large int, a dict that holds itself
        return json.dumps(encoded(value), **options)


def _write(trial: Trial, name: str, text: str, how: str = "w") -> None:
    with open(os.path.join(trial.local_path, name), how, encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
