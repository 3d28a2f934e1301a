"""UserCallback: methods that a run calls in the process that started it, and what they are told of the run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbaccel.train.checkpoint import Checkpoint

if TYPE_CHECKING:
    from nbaccel.train.backend import BackendConfig
    from nbaccel.train.configs import RunConfig
    from nbaccel.train.datasets import DataConfig
    from nbaccel.train.scaling import ScalingConfig


@dataclass(frozen=True, slots=True)
class TrainRunContext:
    """What a trainer was given for a run; `run_config` has the run's name. Names as in Ray Train."""

    run_config: RunConfig
    train_loop_config: dict[str, Any] | None
    scaling_config: ScalingConfig
    backend_config: BackendConfig
    dataset_config: DataConfig
    run_id: str = field(default_factory=lambda: f"run-{secrets.token_hex(6)}")

    def get_run_config(self) -> RunConfig:
        return self.run_config


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

    def after_report(
        self, run_context: TrainRunContext, metrics: list[dict[str, Any]], checkpoint: Checkpoint | None
    ) -> None:
        """All ranks have sent this report: `metrics` by rank, `checkpoint` the one that was committed with it."""

    def after_exception(self, run_context: TrainRunContext, worker_exceptions: dict[int, Exception]) -> None:
        """Workers failed: their exceptions by rank. The run restarts or ends after this."""
