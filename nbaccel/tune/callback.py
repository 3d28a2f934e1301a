"""Callback: what a user runs in the driver when trials begin, report and end. Names as in Ray Tune."""

from __future__ import annotations

from typing import Any


class Callback:
    """Override what you need. Calls come from the experiment's thread, one after the other.

    `iteration` counts the calls; `trials` are all trials, each with trial_id, config, last_result, state and status. An
    error that is raised here ends the experiment.
    """

    def setup(self, stop: Any = None, num_samples: int | None = None, total_num_samples: int | None = None) -> None:
        """The experiment begins."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial was submitted."""

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A trial has reported."""

    def on_checkpoint(self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any) -> None:
        """A checkpoint of a trial is stored."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has ended without an error."""

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed for good."""

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """All trials have ended."""
