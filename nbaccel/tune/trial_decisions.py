"""Decides what happens to the trials of an experiment: which starts next, which goes on, which is tried again.

```
  PENDING ─ next() ─► RUNNING ─ on_result() ─► continue | stop | pause | exploit
     ▲                   │
     └─ retry, exploit, ─┴─ on_ended() ─► DONE | STOPPED | ERROR; PENDING if it was interrupted
            pause
```
A scheduler may also order something about another trial, through its controller: to end it, pause it, or let it go on.
It has no clock, process or file; the runner carries out what it says. Stop is a ladder: after the first press no trial
begins, and those that run end at their next report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from nbaccel.tune import comparing
from nbaccel.tune.schedulers.trial_scheduler import (
    CONTINUE,
    FINISH,
    PAUSE,
    PRUNE,
    STOP,
    Decision,
    FIFOScheduler,
    TrialScheduler,
    decision_of,
)
from nbaccel.tune.stopper import NoopStopper, Stopper
from nbaccel.tune.trial import Trial, TrialState

if TYPE_CHECKING:
    from nbaccel.tune.trial import Trial

PRESSED = "Stopped"  # by a person
BY_STOPPER = "its stopper ended it"


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


class TrialDecisions:
    """The trials of an experiment, and the decisions about them.

    source  gives the next new trial; None if there is none now. `is_exhausted` says whether one will come
    name    gives a trial its name and its folder's
    """

    def __init__(
        self,
        scheduler: TrialScheduler | None = None,
        stopper: Stopper | None = None,
        rules: Rules | None = None,
        source: Callable[[], Trial | None] = lambda: None,
        is_exhausted: Callable[[], bool] = lambda: True,
        name: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        self.scheduler = scheduler or FIFOScheduler()
        self.stopper = stopper or NoopStopper()
        self.rules = rules or Rules()
        self.trials: dict[str, Trial] = {}
        self.running: dict[str, Trial] = {}
        self.presses = 0
        self.why_stopped = ""
        self.failed_fast: Trial | None = None
        self.controller = TrialController(self)
        self.copies: Callable[[Trial, Trial], None] = lambda trial, donor: None  # a checkpoint, from the second one
        self.ordered: list[Trial] = []  # by the scheduler, to end or to pause: for the runner
        self._name = name
        self._source = source
        self._is_exhausted = is_exhausted
        self._again: list[Trial] = []  # first in line: exploited, then retried ones
        self._paused: list[Trial] = []
        self._fates: dict[str, Decision] = {}  # of trials that end at their next report
        self._chooses = type(self.scheduler).choose_trial_to_run is not TrialScheduler.choose_trial_to_run
        self._flattens = not type(self.scheduler).__module__.startswith("nbaccel.")

    @property
    def decides(self) -> bool:
        """Whether something may end a trial after a report."""
        return type(self.scheduler) is not FIFOScheduler or type(self.stopper) is not NoopStopper

    # ---- which trial starts

    def add(self, trial: Trial) -> None:
        """A trial is made or read from a journal; one that has ended only informs."""
        self.trials[trial.id] = trial
        self._name(trial)
        self.scheduler.on_trial_add(self.controller, trial)
        if not trial.has_ended:
            trial.state = TrialState.PENDING
            self._again.append(trial)

    def next(self) -> Trial | None:
        """The next trial to submit; None if none may start now."""
        most = self.rules.max_concurrent
        if self.is_stopping or (most and len(self.running) >= most):
            return None
        trial = self._chosen() if self._chooses else self._next_in_line()
        if trial is None:
            return None
        trial.state, trial.is_paused = TrialState.RUNNING, False
        trial.attempts += 1
        self.running[trial.id] = trial
        return trial

    def _next_in_line(self) -> Trial | None:
        if not self._again and self._made() is None:
            return self._paused.pop(0) if self._paused else None
        return self._again.pop(0)

    def _made(self) -> Trial | None:
        """One more trial, if there is one; it is pending."""
        made = self._source()
        if made is not None:
            self.add(made)
        return made

    def _chosen(self) -> Trial | None:
        """The trial that the scheduler wants to start."""
        if not self._again:
            self._made()
        trial: Trial | None = self.scheduler.choose_trial_to_run(self.controller)
        if trial is None:
            return None
        if trial not in self._again and trial not in self._paused:
            raise ValueError(
                f"{type(self.scheduler).__name__}.choose_trial_to_run returned {trial!r}, whose state is "
                f"{getattr(trial, 'status', 'unknown')}: it may return a trial that is PENDING or PAUSED, or None."
            )
        (self._again if trial in self._again else self._paused).remove(trial)
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
        waiting = self._again or self._paused
        return not self.running and (self.is_stopping or (not waiting and self._is_exhausted()))

    def can_start(self, trial: Trial) -> bool:
        """Whether a scheduler may choose this trial now."""
        return trial.state is TrialState.PENDING

    # ---- what it reports

    def on_result(self, trial: Trial, result: Mapping[str, Any]) -> Decision:
        """Decide after a result. Raises what a user's stopper raises."""
        fate = self._fates.get(trial.id)
        if fate is not None:
            return fate
        if result.get("done"):
            decision = FINISH
        elif self.stopper(trial.id, result):
            decision = STOP
        else:
            seen = {**result, **comparing.flat(dict(result))} if self._flattens else dict(result)
            decision = decision_of(self.scheduler.on_trial_result(self.controller, trial, seen), self.scheduler)
            decision = self._fates.get(trial.id, decision)  # it may have called the controller
        if self.stopper.stop_all():
            self.stop(BY_STOPPER)
        if decision.kind != "continue":
            self._fates[trial.id] = decision
            if decision.kind == "stop":
                self.scheduler.on_trial_complete(self.controller, trial, {**result, "done": True})
        elif self.is_stopping:
            return STOP
        return decision

    # ---- how it ended

    def on_ended(self, trial: Trial, how: End) -> TrialState:
        """Take the end of an attempt; the trial's new state. PENDING: it starts again, now or in a restored run."""
        self.running.pop(trial.id, None)
        fate = self._fates.pop(trial.id, CONTINUE)
        if how is End.RETURNED:
            trial.state = TrialState.DONE
            if fate.kind != "stop":  # else the scheduler has been told
                self.scheduler.on_trial_complete(self.controller, trial, trial.last_result)
        elif how is End.STOPPED and fate.kind == "exploit" and not self.is_stopping:
            trial.state = TrialState.PENDING
            self._exploited(trial, fate)
            self._again.insert(0, trial)
        elif how is End.STOPPED and fate.kind == "pause" and not self.is_stopping:
            trial.state, trial.is_paused = TrialState.PENDING, True
            self._paused.append(trial)
        elif how is End.STOPPED and fate.kind == "stop":
            trial.is_pruned = fate.is_pruned
            trial.state = TrialState.DONE if fate.is_last else TrialState.STOPPED
        elif how is End.FAILED:
            self._failed(trial)
        else:
            self.scheduler.on_trial_remove(self.controller, trial)
            trial.state = TrialState.STOPPED if self.why_stopped == BY_STOPPER else TrialState.PENDING
        return trial.state

    def stop_those_that_wait(self) -> list[Trial]:
        """The trials that a stopper keeps from beginning: they have ended, as in Ray. None of another end's."""
        stopped = [*self._again, *self._paused] if self.why_stopped == BY_STOPPER else []
        for trial in stopped:
            trial.state, trial.is_paused = TrialState.STOPPED, False
        return stopped

    def _failed(self, trial: Trial) -> None:
        trial.failures += 1
        most = self.rules.max_failures
        if not self.is_stopping and not trial.stops and (most < 0 or trial.failures <= most):
            trial.state = TrialState.PENDING
            self._again.append(trial)
            return
        trial.state = TrialState.ERROR
        self.scheduler.on_trial_error(self.controller, trial)
        if self.rules.fail_fast and self.failed_fast is None:
            self.failed_fast = trial
            self.stop(f"trial {trial.id} failed, and fail_fast was asked for")

    # ---- the end

    @property
    def is_stopping(self) -> bool:
        return bool(self.why_stopped)

    @property
    def stop_reason(self) -> str:
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
            self.scheduler.on_trial_remove(self.controller, trial)
        return self._end_trial(trial, STOP)

    def order(self, trial: Trial, decision: Decision) -> None:
        """The scheduler ends or pauses a trial, which may be another than the one that has reported."""
        if trial.has_ended or trial.id in self._fates or self.is_stopping:
            return
        if decision.kind == "pause" and trial.id not in self.running:
            self._pause_before_it_runs(trial)
            return
        if self._end_trial(trial, decision):
            self.scheduler.on_trial_remove(self.controller, trial)
        elif decision.kind == "stop":
            self.scheduler.on_trial_complete(self.controller, trial, trial.last_result)
        self.ordered.append(trial)

    def fate(self, trial: Trial) -> Decision:
        """What is decided about a trial that runs."""
        return self._fates.get(trial.id, CONTINUE)

    def let_go_on(self, trial: Trial) -> None:
        """The scheduler lets a paused trial be the next in line."""
        if trial in self._paused:
            self._paused.remove(trial)
            trial.is_paused = False
            self._again.append(trial)

    def exploit_paused(self, trial: Trial, decision: Decision) -> None:
        """The scheduler lets a paused trial be the next in line, with another one's checkpoint."""
        if trial in self._paused:
            self.copies(trial, self.trials[decision.donor])
            self._exploited(trial, decision)
            self._paused.remove(trial)
            trial.is_paused = False
            self._again.append(trial)

    def _exploited(self, trial: Trial, decision: Decision) -> None:
        trial.earlier_config = trial.config
        trial.config, trial.donor = dict(decision.config or {}), decision.donor
        trial.start_from = ""  # of an earlier exploit

    def _pause_before_it_runs(self, trial: Trial) -> None:
        if trial in self._again:
            self._again.remove(trial)
            trial.is_paused = True
            self._paused.append(trial)

    def _end_trial(self, trial: Trial, decision: Decision) -> bool:
        """Whether it has ended at once."""
        if trial.id in self.running:
            self._fates[trial.id] = decision
            return False
        (self._again if trial in self._again else self._paused).remove(trial)
        trial.state, trial.is_paused = TrialState.STOPPED, False
        trial.is_pruned = decision.is_pruned
        return True

    def stop(self, why: str) -> None:
        """No trial begins any more, and those that run end at their next report."""
        self.why_stopped = self.why_stopped or why


# ---- the controller that the hooks of a scheduler are given, with the names that schedulers of Ray Tune call


class TrialController:
    """The trials of an experiment, and what a scheduler may order about them."""

    def __init__(self, decisions: TrialDecisions) -> None:
        self._decisions = decisions
        self.search_alg: Any = None
        self.makes_checkpoints = False  # trials are objects that save when they are asked to
        self.iteration = 0  # of the experiment's loop

    def get_trials(self) -> list[Trial]:
        """All trials that have been made."""
        return list(self._decisions.trials.values())

    def get_live_trials(self) -> set[Trial]:
        """The trials that have not ended."""
        return {trial for trial in self._decisions.trials.values() if not trial.has_ended}

    def get_trial(self, trial_id: str) -> Trial | None:
        return self._decisions.trials.get(trial_id)

    def has_resources_for_trial(self, trial: Trial) -> bool:
        """Whether this trial may start: the experiment asks its scheduler only while there is room for one more."""
        return self._decisions.can_start(trial)

    def can_pause(self, trial: Trial) -> bool:
        """Whether a trial that ends now goes on from a checkpoint, and does not begin anew."""
        return self.makes_checkpoints or bool(trial.kept)

    def stop_trial(self, trial: Trial, *args: Any, **options: Any) -> None:
        """End a trial: at once if it does not run, else after its next report."""
        self._decisions.order(trial, PRUNE)

    def pause_trial(self, trial: Trial, should_checkpoint: bool = True) -> None:
        """End a trial's process after its next report; it goes on from its checkpoint when it is chosen again."""
        self._decisions.order(trial, PAUSE)

    def exploit(self, trial: Trial, decision: Decision) -> None:
        """Let a paused trial go on as another one."""
        self._decisions.exploit_paused(trial, decision)

    def let_go_on(self, trial: Trial) -> None:
        """Let a paused trial go on."""
        self._decisions.let_go_on(trial)

    def is_finished(self) -> bool:
        return self._decisions.is_over

    @property
    def trial_executor(self) -> TrialController:
        """Itself: an older Ray had the half of these names there."""
        return self

    def _set_trial_status(self, trial: Trial, status: str) -> None:
        """Let a paused trial be pending, or pause one that is."""
        if status == "PENDING":
            self._decisions.let_go_on(trial)
        elif status == "PAUSED":
            self._decisions.order(trial, PAUSE)
