"""A trainer as a trainable: each trial is a run of its own, and holds what the run's worker group does.

```
  Tuner(trainer, param_space={"train_loop_config": {"lr": …}, "scaling_config": {"num_workers": …}})
     └── a task that holds nothing ── trainer.fit() ──► a worker_group, placed as a whole
```
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from nbaccel.handles.option_checks import did_you_mean
from nbaccel.train import loops, storage
from nbaccel.train.configs import CheckpointConfig, FailureConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.forwarding import host
from nbaccel.tune.resources import TrialResources
from nbaccel.tune.trial_session import TrialSession

LOOP, SCALING = "train_loop_config", "scaling_config"


class TrainerTrial:
    """The trainable that a trainer is: it fits the trainer with a trial's config."""

    def __init__(self, trainer: DataParallelTrainer) -> None:
        if trainer.run_config.callbacks:
            raise ValueError(
                "RunConfig(callbacks) of a trainer that is tuned would run in the processes of its trials: pass "
                "Tuner(run_config=tune.RunConfig(callbacks=[...])) with a tune.Callback."
            )
        self._trainer = trainer
        self.__name__ = loops.name_of(trainer.train_loop_per_worker)

    def check(self, space: Mapping[str, Any]) -> None:
        """Raises ValueError for a search space with other keys than a trainer has."""
        for name, value in space.items():
            if name not in (LOOP, SCALING):
                raise ValueError(
                    f"param_space has {name!r}, but that of a trainer has {LOOP!r} and {SCALING!r}: write "
                    f"{{{LOOP!r}: {{{name!r}: ...}}}}.{did_you_mean(name, (LOOP, SCALING))}"
                )
            if name == SCALING and isinstance(value, Mapping) and "grid_search" not in value:
                known = [each.name for each in fields(ScalingConfig)]
                for key in value:
                    if key not in known:
                        raise ValueError(f"ScalingConfig has no {key!r}.{did_you_mean(key, known)}")

    def scaling_of(self, config: Mapping[str, Any]) -> ScalingConfig:
        """The worker group of a trial: a ScalingConfig, or a dict of what differs from the trainer's."""
        given = config.get(SCALING)
        own: ScalingConfig = self._trainer.scaling_config
        if given is None:
            return own
        if isinstance(given, Mapping):
            return replace(own, **given)
        if not isinstance(given, ScalingConfig):
            raise ValueError(f"param_space[{SCALING!r}] gives a ScalingConfig or a dict of its fields, not {given!r}.")
        return given

    def resources(self, config: Mapping[str, Any]) -> TrialResources:
        """What a trial holds: what its worker group does."""
        scaling = self.scaling_of(config)
        if not scaling.min_workers:
            return TrialResources()  # the function runs in the trial's own process
        bundles = tuple(scaling.bundles(scaling.min_workers))
        return TrialResources(bundles, scaling.placement_strategy, is_worker_group=True)

    def __call__(self, config: dict[str, Any]) -> None:
        trainer = copy.copy(self._trainer)
        loop = {**(self._trainer.train_loop_config or {}), **config.get(LOOP, {})}
        trainer.train_loop_config = loop or self._trainer.train_loop_config
        trainer.scaling_config = self.scaling_of(config)
        # The experiment counts failures and keeps checkpoints.
        trainer.run_config = replace(
            trainer.run_config, failure_config=FailureConfig(), checkpoint_config=CheckpointConfig(num_to_keep=1)
        )
        trial = host()
        assert isinstance(trial, TrialSession)
        trial.is_a_run = True
        try:
            trainer.fit()
        finally:
            _delete_checkpoints(os.path.join(*trial.run_at))


def _delete_checkpoints(run_folder: str) -> None:
    """Delete the run's copies of checkpoints, which the trial has."""
    for name in os.listdir(run_folder) if os.path.isdir(run_folder) else ():
        if name.startswith("checkpoint_"):
            storage.delete(run_folder, name)
