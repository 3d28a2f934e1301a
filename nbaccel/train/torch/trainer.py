"""TorchTrainer: a DataParallelTrainer with a process group of torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

from nbaccel.train.backend import Backend, BackendConfig
from nbaccel.train.torch import process_group
from nbaccel.train.trainer import DataParallelTrainer, TrainerKeywords, TrainLoop


class TorchBackend(Backend):
    """Every worker sees the devices of all workers of its node, as in Ray Train."""

    share_cuda_visible_devices = True


@dataclass
class TorchConfig(BackendConfig):
    """How the ranks are connected.

    backend      None: chosen by the devices (see nbaccel.train.torch.choosing). A name, or "cpu:gloo,cuda:nccl"
    init_method  "env" or "tcp", as in Ray Train; the ranks meet at the same store either way
    timeout_s    the timeout of collective operations, in seconds
    share_devices  not in Ray: False lets each worker see only its own devices; its first device is then cuda:0
    """

    imports = ("torch",)

    backend: str | None = None
    init_method: str = "env"
    timeout_s: int = 1800
    share_devices: bool = True

    def __post_init__(self) -> None:
        if self.init_method not in ("env", "tcp"):
            raise ValueError(f"TorchConfig(init_method={self.init_method!r}) must be 'env' or 'tcp'.")
        if self.backend is not None and not isinstance(self.backend, str):
            raise ValueError(f"TorchConfig(backend={self.backend!r}) must be a name such as 'gloo', or None.")

    @property
    def backend_cls(self) -> type[Backend]:
        return TorchBackend if self.share_devices else Backend

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        return partial(process_group.around, self.backend, self.timeout_s)


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
