"""A loop of Hugging Face Accelerate in two workers, without a line for the cluster in it."""

import os
import tempfile

import torch
from accelerate import Accelerator
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from torch.utils.data import DataLoader, TensorDataset


def train_func(config):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    inputs = torch.randn(32, 3)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(2):
        for batch, targets in loader:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        mean = accelerator.gather(loss.detach().reshape(1)).mean().item()
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if accelerator.is_main_process:
                accelerator.save(accelerator.unwrap_model(model).state_dict(), os.path.join(folder, "model.pt"))
                checkpoint = Checkpoint.from_directory(folder)
            train.report({"epoch": epoch, "loss": mean, "processes": accelerator.num_processes}, checkpoint=checkpoint)


result = TorchTrainer(
    train_func,
    train_loop_config={"lr": 0.05},
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(name="accelerate", storage_path=os.path.abspath("accelerate_runs")),
).fit()
answer = {
    "loss": round(result.metrics["loss"], 4),
    "processes": result.metrics["processes"],
    "files": sorted(os.listdir(result.checkpoint.path)),
}
