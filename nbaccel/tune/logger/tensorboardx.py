"""TBXLoggerCallback: what trials report as curves of TensorBoard, by tensorboardX or torch.utils.tensorboard."""

from __future__ import annotations

import math
from typing import Any

from nbaccel.tune import comparing
from nbaccel.tune.logger.logger import LoggerCallback

_FACTS = {"config", "pid", "timestamp", "time_total_s", "training_iteration", "done"}
_MOST = 1_000  # values of a histogram's list


class TBXLoggerCallback(LoggerCallback):
    """Write events for TensorBoard into each trial's folder: `tensorboard --logdir <the experiment>`.

    Raises ImportError if neither tensorboardX nor tensorboard is installed.
    """

    def __init__(self) -> None:
        self._writer_class = _writer_class()
        self._writers: dict[str, Any] = {}

    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any]) -> None:
        """Write the numbers of a result, at its timesteps or its iteration."""
        step = result.get("timesteps_total") or result["training_iteration"]
        writer = self._writer(trial)
        for name, value in comparing.flat({k: v for k, v in result.items() if k not in _FACTS}).items():
            if isinstance(value, (int, float)) and math.isfinite(value):
                writer.add_scalar(f"ray/tune/{name}", value, global_step=step)
            elif isinstance(value, list) and 0 < len(value) <= _MOST and all(map(_is_finite, value)):
                writer.add_histogram(f"ray/tune/{name}", value, global_step=step)
        writer.flush()

    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        """Write the parameters with the last metrics, and close the file."""
        writer = self._writers.pop(trial.trial_id, None)
        if writer is None:
            return
        params = {name: value if isinstance(value, (bool, int, float, str)) else str(value)
                  for name, value in trial.evaluated_params.items()}  # fmt: skip
        metrics = {f"ray/tune/{name}": value for name, value in comparing.flat(trial.last).items()
                   if isinstance(value, (int, float)) and name not in _FACTS}  # fmt: skip
        if params:
            writer.add_hparams(params, metrics)
        writer.close()

    def _writer(self, trial: Any) -> Any:
        if trial.trial_id not in self._writers:
            self._writers[trial.trial_id] = self._writer_class(trial.local_path, flush_secs=30)
        return self._writers[trial.trial_id]


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _writer_class() -> Any:
    try:
        from tensorboardX import SummaryWriter  # type: ignore[import-not-found]
    except ImportError:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ImportError(
                "TBXLoggerCallback needs tensorboardX: pip install tensorboardX. (result.json and progress.csv are in "
                "each trial's folder without it.)"
            ) from None
    return SummaryWriter
