"""The controller that the hooks of a scheduler are given, with the names that schedulers of Ray Tune call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbaccel.tune.schedulers.trial_scheduler import PAUSE, PRUNE, Decision

if TYPE_CHECKING:
    from nbaccel.tune.trial import Trial
    from nbaccel.tune.trial_decisions import TrialDecisions


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
