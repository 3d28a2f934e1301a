"""A callback of Keras' fit() that reports to a trial: metrics, and with them the model."""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbaccel.train.checkpoint import Checkpoint, new_folder
from nbaccel.tune.integration import Metrics, chosen, send

try:
    from keras.callbacks import Callback as KerasCallback
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "nbaccel.tune.integration.keras needs Keras: pip install keras", name=error.name
    ) from None

__all__ = ["TuneReportCallback", "TuneReportCheckpointCallback"]


class TuneReportCheckpointCallback(KerasCallback):  # type: ignore[misc]
    """Report Keras' logs to the trial.

    metrics            the names of logs, or a dict: reported name to that of Keras; None: all
    checkpoint_on, report_metrics_on  the events, of "epoch_end", "train_batch_end", "test_end", …
    """

    def __init__(
        self,
        metrics: Metrics = None,
        checkpoint_on: str | list[str] = "epoch_end",
        report_metrics_on: str | list[str] = "epoch_end",
    ) -> None:
        super().__init__()
        self._metrics = metrics
        saves = [checkpoint_on] if isinstance(checkpoint_on, str) else list(checkpoint_on)
        reports = [report_metrics_on] if isinstance(report_metrics_on, str) else list(report_metrics_on)
        for event in dict.fromkeys([*reports, *saves]):
            if not hasattr(KerasCallback, f"on_{event}"):
                raise ValueError(
                    f"{type(self).__name__}: {event!r} is no event of Keras' Callback, such as 'epoch_end'."
                )
            setattr(self, f"on_{event}", self._handler(saves=event in saves))

    def _handler(self, *, saves: bool) -> Any:
        def handle(*args: Any, logs: Any = None) -> None:
            logs = logs if logs is not None else next((each for each in args if isinstance(each, dict)), {})
            metrics = chosen(self._metrics, {name: float(value) for name, value in logs.items()})
            self._send_with(metrics) if saves else send(metrics)

        return handle

    def _send_with(self, metrics: dict[str, Any]) -> None:
        folder = new_folder()
        try:
            self.model.save(os.path.join(folder, "model.keras"))
            send(metrics, Checkpoint.from_directory(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class TuneReportCallback(TuneReportCheckpointCallback):
    """Report Keras' logs to the trial."""

    def __init__(self, metrics: Metrics = None, on: str | list[str] = "epoch_end") -> None:
        super().__init__(metrics, checkpoint_on=[], report_metrics_on=on)
