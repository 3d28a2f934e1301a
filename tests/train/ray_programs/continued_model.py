"""The loop of the guide to checkpoints: a model and its optimizer go on where they were, also in a run of later."""

import os
import tempfile

import torch
import torch.nn as nn
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_func(config):
    torch.manual_seed(0)
    model = train.torch.prepare_model(nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    start_epoch = 0
    checkpoint = train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as checkpoint_dir:
            model_state = torch.load(os.path.join(checkpoint_dir, "model.pt"), map_location="cpu")
            (model.module if hasattr(model, "module") else model).load_state_dict(model_state)
            optimizer.load_state_dict(torch.load(os.path.join(checkpoint_dir, "optimizer.pt"), map_location="cpu"))
            start_epoch = torch.load(os.path.join(checkpoint_dir, "extra_state.pt"))["epoch"] + 1
    x = torch.linspace(-1, 1, 32).reshape(8, 4)
    for epoch in range(start_epoch, config["num_epochs"]):
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with tempfile.TemporaryDirectory() as temp_checkpoint_dir:
            checkpoint = None
            if train.get_context().get_world_rank() == 0:
                state = (model.module if hasattr(model, "module") else model).state_dict()
                torch.save(state, os.path.join(temp_checkpoint_dir, "model.pt"))
                torch.save(optimizer.state_dict(), os.path.join(temp_checkpoint_dir, "optimizer.pt"))
                torch.save({"epoch": epoch}, os.path.join(temp_checkpoint_dir, "extra_state.pt"))
                checkpoint = Checkpoint.from_directory(temp_checkpoint_dir)
            train.report({"loss": round(loss.item(), 5), "epoch": epoch}, checkpoint=checkpoint)
        if epoch == config.get("fails_at"):
            raise RuntimeError("lost")


def fit(**config):
    return TorchTrainer(
        train_func,
        train_loop_config={"lr": 0.1, "num_epochs": 4, **config},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="continued", storage_path=os.path.abspath("continued")),
    ).fit()


answer = {}
try:
    fit(fails_at=1)
except train.TrainingFailedError as error:
    answer["failed"] = "lost" in str(error)
result = fit()
answer |= {"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}
answer["epochs"] = sorted(metrics["epoch"] for _, metrics in result.best_checkpoints)
answer["frame"] = list(result.metrics_dataframe["epoch"])[-2:]
