"""A small network learns by DistributedDataParallel in two workers, and saves itself each epoch."""

import os
import tempfile

import torch
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, get_device, prepare_data_loader, prepare_model
from torch.utils.data import DataLoader, TensorDataset


def train_func(config):
    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    targets = (inputs.sum(1) > 0).long()
    loader = prepare_data_loader(DataLoader(TensorDataset(inputs, targets), batch_size=8))
    model = prepare_model(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        if train.get_context().get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        for batch, expected in loader:
            loss = torch.nn.functional.cross_entropy(model(batch), expected)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if train.get_context().get_world_rank() == 0:
                torch.save(model.module.state_dict(), os.path.join(folder, "model.pt"))
                checkpoint = Checkpoint.from_directory(folder)
            train.report({"loss": loss.item(), "device": get_device().type}, checkpoint=checkpoint)


result = TorchTrainer(
    train_func,
    train_loop_config={"lr": 0.1, "epochs": 2},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
    run_config=RunConfig(name="pytorch", storage_path=os.path.abspath("pytorch")),
).fit()
with result.checkpoint.as_directory() as folder:
    state = torch.load(os.path.join(folder, "model.pt"))
answer = {
    "loss": round(result.metrics["loss"], 4),
    "device": result.metrics["device"],
    "weight": [round(each, 4) for each in state["weight"].flatten().tolist()],
}
