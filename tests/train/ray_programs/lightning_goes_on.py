"""Lightning's Trainer in two workers: checked, reported by its callback, continued by a later run."""

import os

import lightning.pytorch as pl
import torch
from ray.train import CheckpointConfig, RunConfig, ScalingConfig, get_checkpoint
from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment, RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer


class Line(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train_func_per_worker(config):
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 16).reshape(16, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), batch_size=4)
    trainer = pl.Trainer(
        max_epochs=config["epochs"],
        accelerator="cpu",
        devices="auto",
        strategy=RayDDPStrategy(),
        plugins=[RayLightningEnvironment()],
        callbacks=[RayTrainReportCallback()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer = prepare_trainer(trainer)
    checkpoint = get_checkpoint()
    path = None
    if checkpoint:
        with checkpoint.as_directory() as folder:
            path = os.path.join(folder, "checkpoint.ckpt")
            trainer.fit(Line(), train_dataloaders=loader, ckpt_path=path)
    else:
        trainer.fit(Line(), train_dataloaders=loader)
    if config.get("fails"):
        raise RuntimeError("lost")
    return [trainer.world_size, trainer.global_rank, trainer.local_rank, trainer.node_rank, path is not None]


def fit(**config):
    return TorchTrainer(
        train_func_per_worker,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            name="lightning",
            storage_path=os.path.abspath("lightning_runs"),
            checkpoint_config=CheckpointConfig(
                num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min"
            ),
        ),
    ).fit()


try:
    fit(epochs=1, fails=True)
except Exception as error:
    answer = {"failed": type(error).__name__}
result = fit(epochs=3)
answer |= {
    "returned": result.return_value,
    "metrics": {name: round(value, 4) for name, value in result.metrics.items()},
}
answer["kept"] = [metrics["epoch"] for _, metrics in result.best_checkpoints]
