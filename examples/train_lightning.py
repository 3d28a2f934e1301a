"""Train a small LightningModule with random weights in two workers.

pip install 'nbaccel[train]' lightning
python examples/train_lightning.py
"""

from __future__ import annotations

import os
from typing import Any

import nbaccel
from nbaccel import train
from nbaccel.train import Result, RunConfig, ScalingConfig
from nbaccel.train.torch import TorchTrainer


def train_func(config: dict[str, Any]) -> dict[str, Any]:
    """Runs in each worker, which imports Lightning: the driver does not need it."""
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from nbaccel.train.lightning import (
        RayDDPStrategy,
        RayLightningEnvironment,
        RayTrainReportCallback,
        prepare_trainer,
    )

    class Line(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            inputs, wanted = batch
            loss = torch.nn.functional.mse_loss(self.layer(inputs), wanted)
            self.log("loss", loss, on_epoch=True, sync_dist=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    inputs = torch.rand(32, 3, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8)
    trainer = prepare_trainer(
        pl.Trainer(
            max_epochs=config["epochs"],
            accelerator=config.get("accelerator", "auto"),
            strategy=RayDDPStrategy(),
            plugins=[RayLightningEnvironment()],
            callbacks=[RayTrainReportCallback()],
            enable_checkpointing=False,  # the callback reports a checkpoint after each epoch
            default_root_dir=train.get_context().get_trial_dir(),
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
    )
    checkpoint = train.get_checkpoint()
    start = os.path.join(checkpoint.path, RayTrainReportCallback.CHECKPOINT_NAME) if checkpoint else None
    trainer.fit(Line(), loader, ckpt_path=start)
    return {"size": trainer.world_size, "rank": trainer.global_rank, "batches": trainer.num_training_batches}


def main(epochs: int = 3, **config: Any) -> Result:
    return TorchTrainer(
        train_func,
        train_loop_config={"epochs": epochs, **config},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=nbaccel.cluster_resources().get("GPU", 0) >= 2),
        run_config=RunConfig(name="lightning", resume=True),
    ).fit()


if __name__ == "__main__":
    nbaccel.init()
    result = main()
    print(result.metrics, result.checkpoint)
