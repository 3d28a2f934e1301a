"""The checkpoints of the trials of an experiment: which one an attempt begins with, and which stay.

The journal names a checkpoint before anything relies on it, and forgets one before its files go: a driver that is
killed in between leaves files that nobody needs, and never a trial without the checkpoint that it had.
"""

from __future__ import annotations

import os
from typing import Any

from nbaccel.train import journal, storage
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import Kept
from nbaccel.tune import trial_folder
from nbaccel.tune.experiment_journal import ExperimentJournal
from nbaccel.tune.trial import Trial


class TrialCheckpoints:
    """The checkpoints of all trials, for the experiment's thread. Its methods raise OSError if the disk is full."""

    def __init__(self, experiment_folder: str, journal: ExperimentJournal, config: CheckpointConfig) -> None:
        self._experiment = experiment_folder
        self._journal = journal
        self._config = config

    def folder(self, trial: Trial) -> str:
        return os.path.join(self._experiment, trial.folder_name)

    def start_of(self, trial: Trial) -> str:
        """The checkpoint with which the trial's next attempt begins; "" for none."""
        folder = trial.kept[-1].folder if trial.kept else trial.start_from
        return os.path.join(self.folder(trial), folder) if folder else ""

    def commit(self, trial: Trial, number: int, metrics: dict[str, Any]) -> str:
        """Take up the checkpoint of a report, whose files are there, and delete surplus ones; returns its folder."""
        folder = self.folder(trial)
        kept = Kept(trial_folder.commit(folder, trial.attempts, number), number, metrics)
        trial.kept.append(kept)
        self._journal.checkpoint(trial, kept)
        self._journal.sync()
        for old in journal.to_delete(trial.kept, self._config):
            self._journal.deleted(trial, old.folder)
            storage.delete(folder, old.folder)
            trial.kept.remove(old)
        return os.path.join(folder, kept.folder)

    def copy_donor(self, trial: Trial, donor: Trial) -> None:
        """Copy the checkpoint with which the trial's next attempt begins, before the donor replaces or deletes it."""
        source = self.start_of(donor)
        trial.counted = donor.counters
        trial_folder.copy(source, self.folder(trial), _exploited(trial.attempts + 1))

    def take_over(self, trial: Trial) -> None:
        """Begin with the donor's checkpoint, and leave those of this trial that are not to be kept."""
        trial.first_report = (trial.reports[-1]["report"] + 1) if trial.reports else 0
        own = [each.folder for each in trial.kept] + [_exploited(attempt) for attempt in range(trial.attempts)]
        trial.kept.clear()
        trial.start_from = _exploited(trial.attempts)
        self._journal.trial(trial)
        if self._config.num_to_keep is not None:
            for old in own:
                storage.delete(self.folder(trial), old)


def _exploited(attempt: int) -> str:
    """The folder of the checkpoint that a trial took over for this attempt."""
    return f"exploited_{attempt:03d}"
