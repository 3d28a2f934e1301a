"""Lightning's Trainer in two workers, with the strategy, the environment and the callback of Ray Train."""

import os

import lightning.pytorch as pl
import torch
from ray.train import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment, RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer
from torch.utils.data import DataLoader, TensorDataset


class Line(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, index):
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train_func():
    pl.seed_everything(1)
    inputs = torch.linspace(-1, 1, 32).unsqueeze(1)
    loader = DataLoader(TensorDataset(inputs, 2 * inputs + 1), batch_size=8)
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices="auto",
        strategy=RayDDPStrategy(),
        plugins=[RayLightningEnvironment()],
        callbacks=[RayTrainReportCallback()],
        enable_progress_bar=False,
        enable_checkpointing=False,
        logger=False,
    )
    prepare_trainer(trainer).fit(Line(), train_dataloaders=loader)


result = TorchTrainer(
    train_func,
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(
        name="lightning",
        storage_path=os.path.abspath("lightning_runs"),
        checkpoint_config=CheckpointConfig(
            num_to_keep=1, checkpoint_score_attribute="train_loss", checkpoint_score_order="min"
        ),
    ),
).fit()
with result.checkpoint.as_directory() as folder:
    names = sorted(os.listdir(folder))
    state = torch.load(os.path.join(folder, "checkpoint.ckpt"), weights_only=False)["state_dict"]
answer = {
    "epoch": result.metrics["epoch"],
    "names": names,
    "weight": [round(each, 4) for each in state["layer.weight"].flatten().tolist()],
}
