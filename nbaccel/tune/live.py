"""Shows an experiment to all viewers: publishes its snapshot, and draws it under its cell, after changes.

```
  the experiment's thread ──► snapshot_of ──┬── publish("experiment", …) ──► snapshots of the cluster
                                            │       rows of the trials ────► whoever asks for them
                                            └── sinks.experiment ──► the card of the cell, or a line in a terminal
```
At most SNAPSHOTS_PER_S snapshots leave, however many trials report; the first and the last always do.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable

import msgspec

from nbaccel import api, exceptions
from nbaccel.tune import comparing, result_tables
from nbaccel.tune.result_tables import TrialFacts, metric_of
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_decisions import TrialDecisions
from nbaccel.views import sinks, wording
from nbaccel.views.experiment_snapshot import KIND, BestTrial, ExperimentSnapshot
from nbaccel.views.record_book import nobody_asked

SNAPSHOTS_PER_S = 2
MOST_ENDED = 4  # experiments of this process that views still show when they have ended
MOST_PARAMETERS = 16
MOST_WORDS = 60  # characters of a value
_ended: list[str] = []  # their ids, oldest first


class ExperimentLive:
    """The views of one experiment, for its thread.

    compared_by  metric and mode
    total        the number of its trials, if that is known
    asked        another thread calls it with a request such as "stop"
    is_quiet     nothing is drawn here; other views have it as always
    ran_s        how long it ran in earlier programs: its clock goes on
    """

    def __init__(
        self,
        name: str,
        path: str,
        experiment: TrialDecisions,
        compared_by: tuple[str | None, str | None],
        total: int | None,
        asked: Callable[[str], object],
        *,
        is_quiet: bool = False,
        ran_s: float = 0.0,
    ) -> None:
        self.id = f"experiment-{secrets.token_hex(4)}"
        self.due: float | None = None  # on the monotonic clock: when to show the changes
        self._name, self._path = name, path
        self._experiment = experiment
        self._compared_by, self._total = compared_by, total
        self._metric = compared_by[0] or ""  # that rows of trials have
        self._asked = asked
        self._is_quiet = is_quiet
        self._started_at = time.time() - ran_s
        self._shown_at = float("-inf")
        self._facts = TrialFacts()

    def changed(self) -> None:
        """Show the experiment soon, because something has happened."""
        if self.due is None:
            self.due = max(time.monotonic(), self._shown_at + 1 / SNAPSHOTS_PER_S)

    def show_if_due(self, now: float) -> None:
        """Show the changes if they were due at this time; the caller has made them safe until then."""
        if self.due is not None and now >= self.due:
            self.show("stopping" if self._experiment.is_stopping else "running", self._experiment.why_told)

    def show(self, state: str, why: str, ended_at: float | None = None) -> None:
        """Show the experiment as it is now; if it has ended, with its trials."""
        self.due, self._shown_at = None, time.monotonic()
        snapshot = self.snapshot(state, why, ended_at)
        if self._is_quiet:
            pass
        elif ended_at is None:
            sinks.installed.experiment(snapshot)
        else:
            trials = list(self._experiment.trials.values())
            sinks.installed.experiment(snapshot, result_tables.seen_of(trials, *self._compared_by))
        more = True
        try:
            while more:
                rows, more = self._facts.changed(self._experiment.trials.values(), snapshot.shown)
                api.publish(KIND, self.id, msgspec.to_builtins(snapshot), self._asked, rows)
        except exceptions.RayError:
            pass  # the cluster has ended, of which the experiment learns in another way

    def end(self, how: str, why: str) -> None:
        """Show how the experiment ended, while this process lives and few others have ended since."""
        self._asked = nobody_asked  # a published record keeps whom it asks
        self.show(how, why, time.time())
        if self.id not in _ended:  # ending may have failed once
            _ended.append(self.id)
        while len(_ended) > MOST_ENDED:
            try:
                api.publish(KIND, _ended.pop(0), None)
            except exceptions.RayError:
                pass  # the cluster has ended, and its snapshots with it

    def snapshot(self, state: str, why: str, ended_at: float | None) -> ExperimentSnapshot:
        trials = self._experiment.trials.values()
        metric, mode = self._compared_by
        self._metric = self._metric or metric_of(trials)
        return ExperimentSnapshot(
            self.id,
            wording.encodable(self._name),
            wording.encodable(self._path),
            state,
            wording.encodable(why),
            self._started_at,
            ended_at,
            dict(Counter(trial.state.value for trial in trials)),
            self._total,
            wording.encodable(metric or ""),
            best_of(list(trials), metric, mode) if metric and mode else None,
            self._experiment.presses,
            wording.encodable(self._metric),
            mode or "",
        )


def best_of(trials: list[Trial], metric: str, mode: str) -> BestTrial | None:
    """The trial whose last report is the best; None if none has a finite value."""
    values = [(comparing.value_of([trial.last], metric, mode), trial) for trial in trials if trial.reports]
    trial = comparing.best(values, mode)
    if trial is None:
        return None
    value = comparing.value_of([trial.last], metric, mode)
    assert value is not None
    varying = comparing.varying([each.config for each in trials])
    return BestTrial(trial.id, value, dict(list(words_of(trial.config, varying).items())[:MOST_PARAMETERS]))


def words_of(config: dict[str, object], names: list[str]) -> dict[str, str]:
    """These parameters of a config as short text."""
    flat = comparing.flat(config)
    return {wording.encodable(name): comparing.said(flat[name], MOST_WORDS) for name in names if name in flat}
