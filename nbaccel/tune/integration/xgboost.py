"""Callbacks of xgboost.train that report to a trial: metrics of each round, and with them the model."""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbaccel.train.checkpoint import Checkpoint, new_folder
from nbaccel.tune.integration import Metrics, PostProcess, chosen, send

try:
    from xgboost.callback import TrainingCallback
    from xgboost.core import Booster
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "nbaccel.tune.integration.xgboost needs XGBoost: pip install xgboost", name=error.name
    ) from None

__all__ = ["TuneReportCallback", "TuneReportCheckpointCallback"]


class TuneReportCheckpointCallback(TrainingCallback):  # type: ignore[misc]
    """Report the metrics of each round, with the model every `frequency` rounds and at the end.

    metrics    names such as "eval-logloss", or a dict: reported name to that of XGBoost; None: all
    filename   of the model in the checkpoint
    frequency  0: only at the end
    results_postprocessing_fn  called with the metrics; returns those to report
    """

    CHECKPOINT_NAME = "model.ubj"

    def __init__(
        self,
        metrics: Metrics = None,
        filename: str = CHECKPOINT_NAME,
        frequency: int = 0,
        checkpoint_at_end: bool = True,
        results_postprocessing_fn: PostProcess | None = None,
    ) -> None:
        self._metrics, self._filename, self._frequency = metrics, filename, frequency
        self._at_end, self._process = checkpoint_at_end, results_postprocessing_fn
        self._last: dict[str, Any] = {}
        self._round = self._saved_at = -1

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> Any:
        """The model of a checkpoint."""
        booster = Booster()
        booster.load_model(os.path.join(checkpoint.path, filename))
        return booster

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        found = {f"{data}-{name}": values[-1] for data, of in evals_log.items() for name, values in of.items()}
        metrics = chosen(self._metrics, found)
        self._last = self._process(metrics) if self._process is not None else metrics
        if self._frequency and (epoch + 1) % self._frequency == 0:
            self._saved_at = epoch
            self._send_with(model)
        else:
            send(self._last)
        self._round = epoch
        return False

    def after_training(self, model: Any) -> Any:
        if self._at_end and self._last and self._saved_at != self._round:
            self._send_with(model)
        return model

    def _send_with(self, model: Any) -> None:
        folder = new_folder()
        try:
            model.save_model(os.path.join(folder, self._filename))
            send(self._last, Checkpoint.from_directory(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class TuneReportCallback(TuneReportCheckpointCallback):
    """Report the metrics of each round."""

    def __init__(self, metrics: Metrics = None, results_postprocessing_fn: PostProcess | None = None) -> None:
        super().__init__(metrics, checkpoint_at_end=False, results_postprocessing_fn=results_postprocessing_fn)
