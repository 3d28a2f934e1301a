"""Callback: what a user runs in the driver when trials begin, report and end. Names as in Ray Tune."""

from __future__ import annotations

from typing import Any


class Callback:
    """Override what you need. Calls come from the experiment's thread, one after the other.

    `iteration` counts the steps of the experiment's loop; `trials` are all trials, each with trial_id, config,
    last_result and status. An error that is raised here ends the experiment.

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
        """The experiment begins; `stop` is the dict of a stop rule, else {}."""

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """The experiment's loop takes what has happened."""

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """It has taken it, and started the trials that fit."""

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
        """What the callback wants back in a restored experiment, as far as JSON can hold it; None for nothing."""
        return None

    def set_state(self, state: dict[str, Any]) -> None:
        """Take back what `get_state` returned at the end of an earlier process."""
