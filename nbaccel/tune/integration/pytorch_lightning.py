"""Callbacks of Lightning's Trainer that report to a trial: metrics, and with them a checkpoint if asked."""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbaccel.train.checkpoint import Checkpoint, new_folder
from nbaccel.tune.integration import Metrics, chosen, send

try:
    import lightning.pytorch as pl
except ModuleNotFoundError:
    try:
        import pytorch_lightning as pl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nbaccel.tune.integration.pytorch_lightning needs Lightning: pip install lightning", name=error.name
        ) from None

__all__ = ["TuneReportCallback", "TuneReportCheckpointCallback"]

_HOOKS = [name for name in dir(pl.Callback) if name.startswith("on_")]


class TuneReportCheckpointCallback(pl.Callback):  # type: ignore[misc]
    """Report the Trainer's metrics to the trial, with a checkpoint.

    metrics           the names of metrics, or a dict: reported name to the Trainer's name; None: all
    filename          the name of the checkpoint's file
    save_checkpoints  False: only metrics
    on                the hook, or several, at which it reports, such as "validation_end" or "train_epoch_end"
    """

    def __init__(
        self,
        metrics: Metrics = None,
        filename: str = "checkpoint",
        save_checkpoints: bool = True,
        on: str | list[str] = "validation_end",
    ) -> None:
        super().__init__()
        self._metrics, self._filename, self._saves = metrics, filename, save_checkpoints
        for each in [on] if isinstance(on, str) else on:
            name = each if each.startswith("on_") else f"on_{each}"
            if name not in _HOOKS:
                known = ", ".join(hook.removeprefix("on_") for hook in _HOOKS)
                raise ValueError(f"{type(self).__name__}(on={each!r}) must be a hook of Lightning's Callback: {known}.")
            setattr(self, name, self._handle)

    def _handle(self, trainer: Any, pl_module: Any, *args: Any, **options: Any) -> None:
        if trainer.sanity_checking:
            return
        found = {name: value.item() if hasattr(value, "item") else value
                 for name, value in trainer.callback_metrics.items()}  # fmt: skip
        metrics = chosen(self._metrics, found)
        if not metrics:
            return
        if not self._saves:
            send(metrics)
            return
        folder = new_folder()
        try:
            trainer.save_checkpoint(os.path.join(folder, self._filename))
            send(metrics, Checkpoint.from_directory(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class TuneReportCallback(TuneReportCheckpointCallback):
    """Report the Trainer's metrics to the trial."""

    def __init__(self, metrics: Metrics = None, on: str | list[str] = "validation_end") -> None:
        super().__init__(metrics, save_checkpoints=False, on=on)
