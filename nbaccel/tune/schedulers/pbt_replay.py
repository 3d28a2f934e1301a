"""PopulationBasedTrainingReplay: runs one trial through the configs that a trial of a population had."""

from __future__ import annotations

import os
from typing import Any

from nbaccel.tune.schedulers import pbt_log
from nbaccel.tune.schedulers.trial_scheduler import CONTINUE, PAUSE, Decision, Result, TrialScheduler
from nbaccel.tune.search import variants


class PopulationBasedTrainingReplay(TrialScheduler):
    """Run one trial with the first config of a schedule, and change its config when the schedule does.

    policy_file  `pbt_policy_<trial>.txt` of an experiment with PopulationBasedTraining
    """

    def __init__(self, policy_file: str) -> None:
        super().__init__()
        self._file = os.path.expanduser(policy_file)
        if not os.path.exists(self._file):
            raise ValueError(f"PopulationBasedTrainingReplay: there is no file {self._file}.")
        schedule = pbt_log.read(self._file)
        self.config = dict(schedule[0][1])
        self._later = [(at, after) for at, _, after in schedule]
        self._trial = ""
        self._next: dict[str, Any] | None = None  # the config with which the trial goes on

    def add(self, trial: str, config: dict[str, Any]) -> None:
        if self._trial:
            raise ValueError("PopulationBasedTrainingReplay runs one trial: leave out num_samples and grids.")
        self._trial = trial
        config.clear()
        config.update(variants.copied(self.config))

    def on_result(self, trial: str, result: Result) -> Decision:
        if not self._later or result["training_iteration"] < self._later[0][0]:
            return CONTINUE
        self._next = self._later.pop(0)[1]
        return PAUSE

    def choose_trial_to_run(self, controller: Any) -> Any:
        trial = super().choose_trial_to_run(controller)
        if trial is not None and trial.status == "PAUSED" and self._next is not None:
            controller.exploit(trial, Decision("exploit", trial.id, self._next))
            self._next = None
        return trial

    def debug_string(self) -> str:
        return f"PopulationBasedTraining replay: {len(self._later)} changes to come"
