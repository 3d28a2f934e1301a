"""Decides what happens to the trials of an experiment: which starts next, which goes on, which is tried again.

```
  PENDING ─ next() ─► RUNNING ─ on_result() ─► continue | stop | exploit
     ▲                   │
     └── retry, exploit ─┴─ on_ended() ─► DONE | STOPPED | ERROR; PENDING if it was interrupted
```
It has no clock, process or file; the runner carries out what it says. Stop is a ladder: after the first press no trial
begins, and those that run end at their next report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nbaccel.tune.schedulers.trial_scheduler import CONTINUE, STOP, Decision, FIFOScheduler, TrialScheduler
from nbaccel.tune.stopper import NoStopper, Stopper
from nbaccel.tune.trial import Trial, TrialState

PRESSED = "Stopped"  # by a person


class End(Enum):
    """How an attempt of a trial has ended."""

    RETURNED = "returned"
    STOPPED = "stopped"  # in a report
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # by a person


@dataclass(frozen=True, slots=True)
class Rules:
    """What an experiment was asked for."""

    max_failures: int = 0
    fail_fast: bool | str = False
    max_concurrent: int = 0  # 0: as many as fit


class Experiment:
    """The trials of an experiment, and the decisions about them.

    source  gives the next new trial; None if there is none now. `is_exhausted` says whether one will come
    """

    def __init__(
        self,
        scheduler: TrialScheduler | None = None,
        stopper: Stopper | None = None,
        rules: Rules | None = None,
        source: Callable[[], Trial | None] = lambda: None,
        is_exhausted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.scheduler = scheduler or FIFOScheduler()
        self.stopper = stopper or NoStopper()
        self.rules = rules or Rules()
        self.trials: dict[str, Trial] = {}
        self.running: dict[str, Trial] = {}
        self.presses = 0
        self.why_stopped = ""
        self.failed_fast: Trial | None = None
        self._source = source
        self._is_exhausted = is_exhausted
        self._again: list[Trial] = []  # first in line: exploited, then retried ones
        self._fates: dict[str, Decision] = {}  # of trials that end at their next report

    @property
    def decides(self) -> bool:
        """Whether something may end a trial after a report."""
        return type(self.scheduler) is not FIFOScheduler or type(self.stopper) is not NoStopper

    # ---- which trial starts

    def add(self, trial: Trial) -> None:
        """A trial is made or read from a journal; one that has ended only informs."""
        self.trials[trial.id] = trial
        self.scheduler.add(trial.id, trial.config)
        if not trial.has_ended:
            trial.state = TrialState.PENDING
            self._again.append(trial)

    def next(self) -> Trial | None:
        """The next trial to submit; None if none may start now."""
        most = self.rules.max_concurrent
        if self.is_stopping or (most and len(self.running) >= most):
            return None
        if self._again:
            trial = self._again.pop(0)
        else:
            made = self._source()
            if made is None:
                return None
            trial = made
            self.trials[trial.id] = trial
            self.scheduler.add(trial.id, trial.config)
        trial.state = TrialState.RUNNING
        trial.attempts += 1
        self.running[trial.id] = trial
        return trial

    def put_back(self, trial: Trial) -> None:
        """A trial that `next` gave does not fit now: it is the next one again."""
        del self.running[trial.id]
        trial.state = TrialState.PENDING
        trial.attempts -= 1
        self._again.insert(0, trial)

    @property
    def is_over(self) -> bool:
        """Whether all trials have ended, or none may begin any more."""
        return not self.running and (self.is_stopping or (not self._again and self._is_exhausted()))

    # ---- what it reports

    def on_result(self, trial: Trial, result: Mapping[str, Any]) -> Decision:
        """Decide after a result. Raises what a user's stopper raises."""
        fate = self._fates.get(trial.id)
        if fate is not None:
            return fate
        if self.stopper(trial.id, result):
            self.scheduler.on_complete(trial.id, result)
            decision = STOP
        else:
            decision = self.scheduler.on_result(trial.id, result)
        if self.stopper.stop_all():
            self.stop("its stopper ended it")
        if decision.kind != "continue":
            trial.is_pruned = decision.is_pruned
            self._fates[trial.id] = decision
        elif self.is_stopping:
            return STOP
        return decision

    # ---- how it ended

    def on_ended(self, trial: Trial, how: End) -> TrialState:
        """Take the end of an attempt; the trial's new state. PENDING: it starts again, now or in a restored run."""
        self.running.pop(trial.id, None)
        fate = self._fates.pop(trial.id, CONTINUE)
        if how is End.RETURNED:
            self.scheduler.on_complete(trial.id, trial.result(trial.last))
            trial.state = TrialState.DONE
        elif how is End.STOPPED and fate.kind == "exploit" and not self.is_stopping:
            trial.state = TrialState.PENDING
            trial.earlier_config = trial.config
            trial.config, trial.donor = dict(fate.config or {}), fate.donor
            self._again.insert(0, trial)
        elif how is End.STOPPED and fate.kind == "stop":
            trial.state = TrialState.DONE if fate.is_last else TrialState.STOPPED
        elif how is End.FAILED:
            self._failed(trial)
        else:
            self.scheduler.on_remove(trial.id)
            trial.state = TrialState.PENDING
        return trial.state

    def _failed(self, trial: Trial) -> None:
        trial.failures += 1
        most = self.rules.max_failures
        if not self.is_stopping and not trial.stops and (most < 0 or trial.failures <= most):
            trial.state = TrialState.PENDING
            self._again.append(trial)
            return
        trial.state = TrialState.ERROR
        self.scheduler.on_remove(trial.id)
        if self.rules.fail_fast and self.failed_fast is None:
            self.failed_fast = trial
            self.stop(f"trial {trial.id} failed, and fail_fast was asked for")

    # ---- the end

    @property
    def is_stopping(self) -> bool:
        return bool(self.why_stopped)

    @property
    def why_told(self) -> str:
        """Why it stops, if its state does not say it: that a person stopped it is "stopped"."""
        return "" if self.why_stopped == PRESSED else self.why_stopped

    def press(self) -> int:
        """Somebody wants the experiment to end; returns how often that was said."""
        self.presses += 1
        self.stop(PRESSED)
        return self.presses

    def stop_trial(self, trial: Trial) -> bool:
        """A person ends a trial: at its next report, or at once (True) if it has not been submitted."""
        trial.stops += 1
        if trial.stops == 1:
            self.scheduler.on_remove(trial.id)
        if trial.id in self.running:
            self._fates[trial.id] = STOP
            return False
        self._again.remove(trial)
        trial.state = TrialState.STOPPED
        return True

    def stop(self, why: str) -> None:
        """No trial begins any more, and those that run end at their next report."""
        self.why_stopped = self.why_stopped or why
