"""JaxTrainer: one JAX program over all workers of a group. Names of `ray.train.v2.jax` 2.60."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

from nbaccel.proc import LOOPBACK
from nbaccel.train import session
from nbaccel.train.configs import BackendConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer, TrainerKeywords, TrainLoop

__all__ = ["JaxConfig", "JaxTrainer"]


@dataclass
class JaxConfig(BackendConfig):
    """The platform of the workers, by default the CPU; the variable JAX_PLATFORMS overrides it."""

    use_tpu: bool = False
    use_gpu: bool = False

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        return partial(_connected, self.use_tpu, self.use_gpu)


class JaxTrainer(DataParallelTrainer):
    """Run a JAX function in all workers of a group, with `jax.distributed` connected when it begins.

    The options are those of DataParallelTrainer, and `jax_config`; by default the platform follows from the
    scaling_config. Each worker sees only its own devices. TPUs over several hosts are not here: use ray.train.

    >>> JaxTrainer(train_func, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
    """

    def __init__(
        self,
        train_loop_per_worker: TrainLoop,
        *,
        jax_config: JaxConfig | None = None,
        **options: Unpack[TrainerKeywords],
    ) -> None:
        if jax_config is not None and not isinstance(jax_config, JaxConfig):
            raise ValueError(f"jax_config takes nbaccel.train.v2.jax.JaxConfig, not {type(jax_config).__name__}.")
        scaling = options.get("scaling_config")
        chosen = jax_config or JaxConfig(getattr(scaling, "use_tpu", False), getattr(scaling, "use_gpu", False))
        super().__init__(train_loop_per_worker, backend_config=chosen, **options)


@contextmanager
def _connected(use_tpu: bool, use_gpu: bool) -> Iterator[None]:
    """Surround the function with `jax.distributed`; one rank alone needs none."""
    here = session.current("JaxTrainer")
    os.environ.setdefault("JAX_PLATFORMS", _platform(here, use_tpu, use_gpu))
    try:
        import jax
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "JaxTrainer needs JAX in the workers: pip install jax, or for CUDA pip install 'jax[cuda12]'.",
            name=error.name,
        ) from None
    here.connected(f"jax on {os.environ['JAX_PLATFORMS']}")
    seat = here.seat
    if seat.world_size == 1:
        yield
        return
    address = here.meet("jax", _free_address(LOOPBACK if seat.nodes == 1 else seat.facts.address))
    jax.distributed.initialize(address, seat.world_size, seat.rank, seat.device_index.get("GPU") if use_gpu else None)
    yield
    # Not after an exception: shutdown() waits for all ranks, and the process ends anyhow.
    jax.distributed.shutdown()


def _platform(here: session.Session, use_tpu: bool, use_gpu: bool) -> str:
    """The platform; the CPU where the devices are only counted or simulated."""
    resource = "TPU" if use_tpu else "GPU"
    if not (use_tpu or use_gpu) or here.device_kinds.get(resource, "logical") != "real":
        return "cpu"
    return "tpu" if use_tpu else "cuda"


def _free_address(host: str) -> str:
    """An address that rank 0 can listen at: JAX cannot choose a port, so another program could take it meanwhile."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"
