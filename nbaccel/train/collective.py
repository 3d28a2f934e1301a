"""Functions in which ranks wait for each other, also before torch has a process group or without torch."""

from __future__ import annotations

from typing import TypeVar

from nbaccel.train.session import current

T = TypeVar("T")


def barrier() -> None:
    """Wait until all ranks have called this.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     train.collective.barrier()
    >>> DataParallelTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().error
    """
    current("collective.barrier").meet("barrier", None)


def broadcast_from_rank_zero(data: T) -> T:
    """Return rank 0's `data` in all ranks, once all have called this. For small objects only.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     seed = train.collective.broadcast_from_rank_zero(train.get_context().get_world_rank() + 7)
    ...     train.report({"seed": seed})
    >>> DataParallelTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'seed': 7}
    """
    found: T = current("collective.broadcast_from_rank_zero").meet("broadcast", data)
    return found
