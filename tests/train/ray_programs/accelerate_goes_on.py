"""Accelerate's loop as its guide has it: the model is prepared, gathered and saved by Accelerate in two workers."""

import os
import tempfile

import torch
from accelerate import Accelerator
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_func(config):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    x = torch.linspace(-1, 1, 64).reshape(16, 4)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for epoch in range(config["epochs"]):
        for inputs, targets in data:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        losses = accelerator.gather(loss.detach().reshape(1))
        with tempfile.TemporaryDirectory() as folder:
            if accelerator.is_main_process:
                accelerator.save(accelerator.unwrap_model(model).state_dict(), os.path.join(folder, "model.pt"))
            accelerator.wait_for_everyone()
            given = Checkpoint.from_directory(folder) if accelerator.is_main_process else None
            train.report({"loss": round(losses.mean().item(), 5), "epoch": epoch}, checkpoint=given)
    return [accelerator.num_processes, accelerator.process_index, str(accelerator.device), len(data)]


result = TorchTrainer(
    train_func,
    train_loop_config={"lr": 0.05, "epochs": 2},
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(name="accelerate", storage_path=os.path.abspath("accelerate_runs")),
).fit()
answer = {"returned": result.return_value, "metrics": result.metrics, "files": os.listdir(result.checkpoint.path)}
