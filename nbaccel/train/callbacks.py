"""UserCallback: methods that a run calls in the process that started it."""

from __future__ import annotations

from typing import Any

from nbaccel.train.checkpoint import Checkpoint


class UserCallback:
    """Override what you need. The methods run in the process of `fit()`, in the run's own thread, and need no pickling.

    An exception of a callback ends the run.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> class Losses(train.UserCallback):
    ...     def after_report(self, run_context, metrics, checkpoint): print(metrics[0]["loss"])
    >>> config = train.RunConfig(callbacks=[Losses()])
    >>> done = DataParallelTrainer(lambda: train.report({"loss": 0.5}), run_config=config).fit()
    0.5
    """

    def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Checkpoint | None) -> None:
        """All ranks have sent this report: `metrics` by rank, `checkpoint` the one that was committed with it."""

    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        """Workers failed: their exceptions by rank. The run restarts or ends after this."""
