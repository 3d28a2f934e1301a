"""Callbacks of lightgbm.train that report to a trial: metrics of each round, and with them the model."""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbaccel.train.checkpoint import Checkpoint, new_folder
from nbaccel.tune.integration import Metrics, PostProcess, chosen, send

__all__ = ["TuneReportCallback", "TuneReportCheckpointCallback"]


class TuneReportCheckpointCallback:
    """Report the metrics of each round, with the model every `frequency` rounds and at the end.

    metrics    names such as "eval-binary_logloss", or a dict: reported name to that of LightGBM; None: all
    filename   of the model in the checkpoint
    frequency  0: only at the end
    results_postprocessing_fn  called with the metrics; returns those to report
    """

    CHECKPOINT_NAME = "model.txt"
    order, before_iteration = 20, False  # as LightGBM's own callbacks have them

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

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> Any:
        """The model of a checkpoint."""
        import lightgbm

        return lightgbm.Booster(model_file=os.path.join(checkpoint.path, filename))

    def __call__(self, env: Any) -> None:
        found = {f"{each[0]}-{each[1]}": each[2] for each in env.evaluation_result_list or ()}
        found |= {f"{each[0]}-{each[1]}-stdv": each[4] for each in env.evaluation_result_list or () if len(each) > 4}
        metrics = chosen(self._metrics, found)
        metrics = self._process(metrics) if self._process is not None else metrics
        is_last = env.iteration == env.end_iteration - 1
        if (self._frequency and (env.iteration + 1) % self._frequency == 0) or (self._at_end and is_last):
            self._send_with(env.model, metrics)
        else:
            send(metrics)

    def _send_with(self, model: Any, metrics: dict[str, Any]) -> None:
        folder = new_folder()
        try:
            model.save_model(os.path.join(folder, self._filename))
            send(metrics, Checkpoint.from_directory(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class TuneReportCallback(TuneReportCheckpointCallback):
    """Report the metrics of each round."""

    def __init__(self, metrics: Metrics = None, results_postprocessing_fn: PostProcess | None = None) -> None:
        super().__init__(metrics, checkpoint_at_end=False, results_postprocessing_fn=results_postprocessing_fn)
