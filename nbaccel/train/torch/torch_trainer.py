"""TorchTrainer: a DataParallelTrainer with a process group of torch."""

from __future__ import annotations

from typing import Unpack

from nbaccel.train.data_parallel_trainer import DataParallelTrainer, TrainerKeywords, TrainLoop
from nbaccel.train.torch.config import TorchConfig


class TorchTrainer(DataParallelTrainer):
    """Run a PyTorch training function in all workers of a gang, with a process group that is ready when it begins.

    The options are those of DataParallelTrainer, and `torch_config`: how the ranks are connected.

    >>> def train_func():
    ...     import torch
    ...     model = train.torch.prepare_model(torch.nn.Linear(4, 1))
    ...     train.report({"out": tuple(model(torch.ones(2, 4)).shape)[0]})
    >>> TorchTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'out': 2}
    """

    def __init__(
        self,
        train_loop_per_worker: TrainLoop,
        *,
        torch_config: TorchConfig | None = None,
        **options: Unpack[TrainerKeywords],
    ) -> None:
        if torch_config is not None and not isinstance(torch_config, TorchConfig):
            raise ValueError(
                f"torch_config takes nbaccel.train.torch.TorchConfig, not {type(torch_config).__module__}."
                f"{type(torch_config).__name__}."
            )
        super().__init__(train_loop_per_worker, backend_config=torch_config or TorchConfig(), **options)
