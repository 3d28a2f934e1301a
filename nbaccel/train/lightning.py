"""PyTorch Lightning in a worker group, with the names of `ray.train.lightning` 2.60.

These classes take ranks and devices from the run, and the callback reports each epoch. A plain
`Trainer(strategy="ddp", devices=n)` finds its place as well, since a worker has torchrun's variables.
"""

from __future__ import annotations

import os
from typing import Any

from nbaccel import api, elsewhere
from nbaccel.train import session
from nbaccel.train.checkpoint import Checkpoint, new_folder

try:
    import lightning.pytorch as pl
    from lightning.pytorch.plugins.environments import LightningEnvironment
except ModuleNotFoundError:
    try:
        import pytorch_lightning as pl
        from pytorch_lightning.plugins.environments import LightningEnvironment
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nbaccel.train.lightning needs Lightning, in this process and in the workers: pip install lightning",
            name=error.name,
        ) from None

from nbaccel.train.torch.train_loop_utils import get_device

api.expect_imports([pl.__name__])

__all__ = [
    "RayDDPStrategy",
    "RayDeepSpeedStrategy",
    "RayFSDPStrategy",
    "RayLightningEnvironment",
    "RayTrainReportCallback",
    "prepare_trainer",
]
_TRAINER = (
    "write a function that makes your module and calls pl.Trainer(strategy=RayDDPStrategy(), "
    "plugins=[RayLightningEnvironment()], callbacks=[RayTrainReportCallback()]).fit(module), and give it to "
    "nbaccel.train.torch.TorchTrainer."
)
_ELSEWHERE = {
    "LightningTrainer": _TRAINER,
    "LightningConfigBuilder": _TRAINER,
    "LightningCheckpoint": "MyModule.load_from_checkpoint(os.path.join(checkpoint.path, "
    "RayTrainReportCallback.CHECKPOINT_NAME)) loads the module.",
    "LightningPredictor": "load the module in an actor, an nbaccel.remote class, and call that.",
}


def __getattr__(name: str) -> Any:
    """What Ray had here before version 2.7 says what to write."""
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)


class _OfThisRank:
    """The device and the rank of a strategy are those of the worker."""

    world_size: int
    global_rank: int

    @property
    def root_device(self) -> Any:
        return get_device()

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        return {"num_replicas": self.world_size, "rank": self.global_rank}


class RayDDPStrategy(_OfThisRank, pl.strategies.DDPStrategy):  # type: ignore[misc]
    """Lightning's DDPStrategy in the run's process group; backend and timeout are those of TorchConfig."""


class RayFSDPStrategy(_OfThisRank, pl.strategies.FSDPStrategy):  # type: ignore[misc]
    """Lightning's FSDPStrategy in the run's process group."""


class RayDeepSpeedStrategy(_OfThisRank, pl.strategies.DeepSpeedStrategy):  # type: ignore[misc]
    """Lightning's DeepSpeedStrategy in the run's process group; needs deepspeed."""


class RayLightningEnvironment(LightningEnvironment):  # type: ignore[misc]
    """Tells Lightning the ranks and sizes of the run."""

    def world_size(self) -> int:
        return session.get_context().get_world_size()

    def global_rank(self) -> int:
        return session.get_context().get_world_rank()

    def local_rank(self) -> int:
        return session.get_context().get_local_rank()

    def node_rank(self) -> int:
        return session.get_context().get_node_rank()

    def set_world_size(self, size: int) -> None:
        """Do nothing: the run's size does not change."""

    def set_global_rank(self, rank: int) -> None:
        """Do nothing: the run gives the ranks."""

    def teardown(self) -> None:
        """Do nothing: the run owns the environment variables."""


class RayTrainReportCallback(pl.callbacks.Callback):  # type: ignore[misc]
    """Reports the metrics and a checkpoint, with the file `checkpoint.ckpt`, at the end of each training epoch."""

    CHECKPOINT_NAME = "checkpoint.ckpt"

    def __init__(
        self, checkpoint_upload_mode: session.CheckpointUploadMode | None = None, validation: Any = False
    ) -> None:
        super().__init__()
        self.checkpoint_upload_mode = checkpoint_upload_mode or session.CheckpointUploadMode.SYNC
        self.validation = validation

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
        metrics |= {"epoch": trainer.current_epoch, "step": trainer.global_step}
        folder = new_folder()
        trainer.save_checkpoint(os.path.join(folder, self.CHECKPOINT_NAME))  # all ranks call it; it decides who writes
        session.report(
            metrics,
            checkpoint=Checkpoint(folder),
            checkpoint_upload_mode=self.checkpoint_upload_mode,
            delete_local_checkpoint_after_upload=True,
            validation=self.validation,
        )


def prepare_trainer(trainer: Any) -> Any:
    """Return the trainer. Raises RuntimeError, as Ray, if its strategy or environment is not of this module."""
    if not isinstance(trainer.strategy, (RayDDPStrategy, RayFSDPStrategy, RayDeepSpeedStrategy)):
        raise RuntimeError(
            f"prepare_trainer() takes no Trainer with the strategy {type(trainer.strategy).__name__}. Write "
            "Trainer(strategy=RayDDPStrategy(), plugins=[RayLightningEnvironment()], ...)."
        )
    environment = getattr(trainer.strategy, "cluster_environment", None)
    if environment and not isinstance(environment, RayLightningEnvironment):
        raise RuntimeError(
            f"prepare_trainer() takes a Trainer with plugins=[RayLightningEnvironment()], not "
            f"{type(environment).__name__}."
        )
    return trainer
