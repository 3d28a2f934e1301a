"""Callbacks, which a user runs in the driver as trials report, and those that log. Names as in Ray Tune.

A trial's folder has params.json, result.json and progress.csv in any case, so the classes for them write nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from json import dumps  # `json` itself is a module of Ray's below this one
from typing import Any

from nbaccel import elsewhere
from nbaccel.tune import comparing

__all__ = ["CSVLoggerCallback", "JsonLoggerCallback", "LoggerCallback", "TBXLoggerCallback", "pretty_print"]


class Callback:
    """Override the methods you need. The experiment's thread calls them, one after the other.

    `iteration` counts the steps of the experiment's loop; `trials` are all trials, each with trial_id, config,
    last_result and status. An exception in a callback ends the experiment.

    >>> class Ends(tune.Callback):
    ...     def on_trial_complete(self, iteration, trials, trial, **info): print(trial.last_result["loss"])
    >>> config = tune.RunConfig(callbacks=[Ends()])
    >>> results = tune.Tuner(lambda config: {"loss": 1}, run_config=config).fit()
    1
    """

    def setup(
        self,
        stop: Any = None,
        num_samples: int | None = None,
        total_num_samples: int | None = None,
        **info: Any,
    ) -> None:
        """The experiment begins; `stop` is RunConfig's stop if that is a dict, else {}."""

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """A step of the loop begins, which handles reports and ended trials."""

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """The step ends; trials that fit have been started."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial begins."""

    def on_trial_restore(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial goes on from a checkpoint."""

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A trial has reported."""

    def on_trial_save(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A checkpoint of a trial is stored."""

    def on_checkpoint(self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any) -> None:
        """A checkpoint of a trial is stored."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has ended without an error."""

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed and will be tried again."""

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed for good."""

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """All trials have ended."""

    def get_state(self) -> dict[str, Any] | None:
        """State for a restored experiment, in types that JSON has; None for nothing."""
        return None

    def set_state(self, state: dict[str, Any]) -> None:
        """Receive what `get_state` returned in an earlier process."""


class LoggerCallback(Callback):
    """The base of loggers: override log_trial_result(), and what else is needed.

    >>> class Prints(LoggerCallback):
    ...     def log_trial_result(self, iteration, trial, result):
    ...         print(trial, result["training_iteration"], result["loss"])
    """

    def log_trial_start(self, trial: Any) -> None:
        """A trial begins."""

    def log_trial_restore(self, trial: Any) -> None:
        """A trial goes on from a checkpoint."""

    def log_trial_save(self, trial: Any) -> None:
        """A checkpoint of a trial is stored."""

    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any]) -> None:
        """A trial has reported."""

    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        """A trial has ended."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.log_trial_start(trial)

    def on_trial_restore(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.log_trial_restore(trial)

    def on_trial_save(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.log_trial_save(trial)

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        self.log_trial_result(iteration, trial, result)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.log_trial_end(trial, failed=False)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.log_trial_end(trial, failed=True)


class JsonLoggerCallback(LoggerCallback):
    """Each trial's folder has params.json and result.json; a subclass may do more."""


class CSVLoggerCallback(LoggerCallback):
    """Each trial's folder has progress.csv; a subclass may do more."""


def pretty_print(result: Mapping[str, Any], exclude: Any = None) -> str:
    """A result as text, a name in a line, without the config and what is None."""
    left_out = {"config", *(exclude or ())}
    kept = {name: value for name, value in result.items() if value is not None and name not in left_out}
    return "".join(f"{name}: {dumps(value, default=str)}\n" for name, value in sorted(kept.items()))


# ---- files of TensorBoard


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
        from tensorboardX import SummaryWriter
    except ImportError:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ImportError(
                "TBXLoggerCallback needs tensorboardX: pip install tensorboardX. (result.json and progress.csv are in "
                "each trial's folder without it.)"
            ) from None
    return SummaryWriter


_CALL_IT = "call it in the trainable, which has the config and the metrics: {0}. Or derive a class from LoggerCallback."
_ELSEWHERE = {
    "AimLoggerCallback": _CALL_IT.format("aim.Run()"),
    "CometLoggerCallback": _CALL_IT.format("comet_ml.start()"),
    "MLflowLoggerCallback": _CALL_IT.format("mlflow.start_run()"),
    "WandbLoggerCallback": _CALL_IT.format("wandb.init(config=config)"),
    "Logger": "derive a class from LoggerCallback, and give it to RunConfig(callbacks=[...]), as in Ray.",
    "UnifiedLogger": "the files are always written; RunConfig(callbacks=[...]) takes further LoggerCallbacks.",
    "DEFAULT_LOGGERS": "the files are always written; RunConfig(callbacks=[...]) takes further LoggerCallbacks.",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)
