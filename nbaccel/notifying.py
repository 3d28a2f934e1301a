"""Tells a web address or a program when a run, an experiment or a long task of this process has ended.

```
  engine ── snapshots ──► Endings ── sentences ──► a thread ──► POST {"text": sentence}, or a program with the sentence
```
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.views import experiment_snapshot, run_snapshot, sinks, tables, wording
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.snapshot import Snapshot, TaskRow

if TYPE_CHECKING:
    from nbaccel.engine import Engine
    from nbaccel.views.snapshot import Snapshot

Ended = TypeVar("Ended", RunSnapshot, ExperimentSnapshot)
_MOST_KNOWN = 10_000
_ENDS = {"FINISHED": "has finished", "FAILED": "has failed", "CANCELLED": "was cancelled"}


class EndedWork:
    """Those of one driver's own work, each told once: also of a task whose row was left out while it ran."""

    def __init__(self, since: float, long_s: float) -> None:
        self._since = since
        self._long_s = long_s  # a task that ran for less is not told
        self._running: set[str] = set()
        self._told: set[str] = set()

    def seen(self, snapshot: Snapshot) -> list[str]:
        """What has ended since the last snapshot."""
        if len(self._running) + len(self._told) > _MOST_KNOWN:
            self._since = snapshot.time
            self._running.clear()
            self._told.clear()
        own = {row.id for row in snapshot.published if not tables.owner(snapshot, row.job)}
        runs = [each for each in run_snapshot.of_snapshot(snapshot) if each.id in own]
        experiments = [each for each in experiment_snapshot.of_snapshot(snapshot) if each.id in own]
        tasks = [row for row in snapshot.tasks if row.started_at is not None and not tables.owner(snapshot, row.job)]
        trials = tuple(f"{each.name} " for each in experiments)
        return [
            *(run_snapshot.one_line(each, snapshot.time) for each in self._ended(runs)),
            *(experiment_snapshot.one_line(each, snapshot.time) for each in self._ended(experiments)),
            *(_of_task(row) for row in tasks if not _is_trial(row, trials) and self._is_told(row)),
        ]

    def _is_told(self, row: TaskRow) -> bool:
        has_ended = self._is_new(row.task_id, row.state not in tables.ENDED, row.finished_at)
        return has_ended and _seconds(row) >= self._long_s

    def _ended(self, records: Iterable[Ended]) -> list[Ended]:
        return [each for each in records if self._is_new(each.id, each.is_under_way, each.ended_at)]

    def _is_new(self, id: str, is_under_way: bool, ended_at: float | None) -> bool:
        """Whether this has ended now. What runs again is told once more."""
        if is_under_way:
            self._running.add(id)
            self._told.discard(id)
            return False
        is_new = id not in self._told and (id in self._running or (ended_at or 0.0) > self._since)
        self._running.discard(id)
        self._told |= {id} if is_new else set()
        return is_new


def _is_trial(row: TaskRow, prefixes: tuple[str, ...]) -> bool:
    """Whether the end of this task is told with its experiment."""
    return row.function == "run_trial" and row.name.startswith(prefixes)


def _seconds(row: TaskRow) -> float:
    return (row.finished_at or 0.0) - (row.started_at or 0.0)


def _of_task(row: TaskRow) -> str:
    what = f"{wording.plain(row.name)} {_ENDS[row.state]} after {wording.age(_seconds(row))}"
    return wording.sentence([what, f"cell {wording.plain(row.cell)}" if row.cell else "", wording.plain(row.why)])


LONG_S = 60.0  # a task that has run so long is told
SEND_S = 10.0
END_S = 10.0  # the end of the process waits so long for what is not sent yet


class EndNotices:
    """Those of one engine, to a web address or to a command, of which `target` has the words."""

    def __init__(self, engine: Engine, target: Sequence[str], long_s: float | None) -> None:
        self._engine = engine
        self._target = target
        self._endings = EndedWork(time.time(), LONG_S if long_s is None else long_s)
        self._looking = threading.Lock()
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._has_failed = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._send_all, name="nbaccel-notify", daemon=True)
        self._thread.start()
        self._forget: Callable[[], None] = engines.before_end(self.end)
        atexit.register(self.end, engine)
        engine.watch(self._look, metrics=False, reader="notify")

    def _look(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            with self._looking:
                for sentence in self._endings.seen(snapshot):
                    self._waiting.put(sentence)

    def end(self, engine: Engine) -> None:
        """Look once more, and send the rest. Called before the engine ends, or at the end of the process."""
        if engine is not self._engine or os.getpid() != self._pid or not self._thread.is_alive():
            return
        atexit.unregister(self.end)
        self._forget()
        try:
            self._look(engine.snapshot())
        except (exceptions.RayError, OSError, RuntimeError):
            pass  # the cluster has gone, with all that ran
        self._waiting.put(None)
        self._thread.join(END_S)

    def _send_all(self) -> None:
        while (sentence := self._waiting.get()) is not None:
            try:
                _send(self._target, sentence)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Say it once: work goes on without notices."""
        if not self._has_failed:
            self._has_failed = True
            why = f"{_name(self._target)} did not take a notice ({_words(error)}). Later failures are not shown."
            sinks.installed.notice(sinks.Notice("notify", why))


def _send(target: Sequence[str], sentence: str) -> None:
    if is_address(target[0]):
        body = json.dumps({"text": sentence}).encode()
        request = urllib.request.Request(target[0], body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=SEND_S):
            return
    subprocess.run([*target, sentence], check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=SEND_S)


def is_address(word: str) -> bool:
    return word.startswith(("http://", "https://"))


def _name(target: Sequence[str]) -> str:
    """The target without what may be secret: a hook's address has its token in the path."""
    return urllib.parse.urlsplit(target[0]).hostname or "" if is_address(target[0]) else target[0]


def _words(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"exit status {error.returncode}{': ' + said[0][:200] if said else ''}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it has not ended within {SEND_S:g} s"
    return str(error)
