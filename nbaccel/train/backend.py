"""What a framework adds to a gang: Ray Train's classes, which libraries derive from.

A framework of ours needs only `train_func_context`, which runs around the function in each worker. `Backend`'s methods
run in the driver and reach the workers by `worker_group.execute`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Backend:
    """Override what you need.

    share_cuda_visible_devices  every worker sees the devices of all workers of its node, so that `cuda:{local rank}`
                                is a worker's own and peers reach each other
    """

    share_cuda_visible_devices: bool = False

    def on_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """All workers have their ranks; the function has not begun."""

    def on_training_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Right before the function begins."""

    def on_shutdown(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """The function has ended in all workers, which are still there."""


class BackendConfig:
    """Options of a framework; it travels to the workers."""

    @property
    def backend_cls(self) -> type[Backend]:
        return Backend

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        """A context manager around the function, in each worker's main thread."""
        return nullcontext
