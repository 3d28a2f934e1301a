"""The classes by which a framework extends a gang. They have Ray Train's names, and libraries derive from them.

A framework of ours needs only `train_func_context`, which runs around the function in each worker. `Backend`'s methods
run in the driver and reach the workers by `worker_group.execute`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar


class Backend:
    """Override what you need.

    share_cuda_visible_devices  every worker sees the devices of all workers of its node, so that `cuda:{local rank}`
                                is a worker's own and peers reach each other
    """

    share_cuda_visible_devices: bool = False

    def on_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called when all workers have their ranks, before the function begins."""

    def on_training_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called right before the function begins."""

    def on_shutdown(self, worker_group: Any, backend_config: BackendConfig) -> None:
        """Called when the function has ended in all workers and the workers still exist."""


class BackendConfig:
    """The options of a framework; this object travels to the workers.

    imports  modules that every worker imports before its function begins; an engine may have them loaded beforehand
    """

    imports: ClassVar[tuple[str, ...]] = ()

    @property
    def backend_cls(self) -> type[Backend]:
        return Backend

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        """A context manager around the function, in each worker's main thread."""
        return nullcontext
