"""LoggerCallback, the base of loggers, and those of files that a trial's folder has in any case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbaccel.tune.callback import Callback


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
    return "".join(f"{name}: {json.dumps(value, default=str)}\n" for name, value in sorted(kept.items()))
