"""Transformers' Trainer in a worker group, with the names of `ray.train.huggingface.transformers` 2.60.

A `transformers.Trainer` in a TorchTrainer's function trains with all ranks by itself: it reads torchrun's variables.
The callback reports what it logs and saves.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbaccel import api
from nbaccel.train import collective, session
from nbaccel.train.checkpoint import Checkpoint, new_folder

try:
    from transformers import TrainerCallback
    from transformers.trainer_utils import get_last_checkpoint
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "nbaccel.train.huggingface.transformers needs Transformers with torch, in this process and in the workers: "
        "pip install 'transformers[torch]'",
        name=error.name,
    ) from None

api.expect_imports(["transformers"])

__all__ = ["RayTrainReportCallback", "prepare_trainer"]


class RayTrainReportCallback(TrainerCallback):  # type: ignore[misc]
    """Reports whenever the Trainer logs or saves a checkpoint, whose files are in its subfolder `checkpoint`.

    A report has the latest value of each metric. Ray Train reports only when a checkpoint is saved.
    """

    CHECKPOINT_NAME = "checkpoint"

    def on_log(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        session.report(self._latest(state))

    def on_save(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        collective.barrier()  # each rank has written its part of the folder
        session.report(
            self._latest(state), checkpoint=self._saved(args.output_dir), delete_local_checkpoint_after_upload=True
        )

    def _latest(self, state: Any) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        for line in state.log_history:
            metrics |= line
        return {**metrics, "step": state.global_step}

    def _saved(self, output_dir: str) -> Checkpoint | None:
        """A copy of the newest checkpoint for the run; rank 0 brings it, for all ranks."""
        newest = get_last_checkpoint(output_dir)
        if newest is None or session.get_context().get_world_rank() != 0:
            return None
        folder = new_folder()
        shutil.copytree(newest, os.path.join(folder, self.CHECKPOINT_NAME))
        return Checkpoint(folder)


def prepare_trainer(trainer: Any) -> Any:
    """Return the trainer unchanged: Ray adapts it to Ray Data, which nbaccel does not have."""
    return trainer
