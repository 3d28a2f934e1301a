"""Train a small network with PyTorch in two workers, on GPUs if there are two and on CPUs otherwise.

    python examples/train_ddp.py

The second time it continues from its last checkpoint: delete ~/nbaccel_results/line to begin anew.
"""

from __future__ import annotations

from typing import Any

import nbaccel
from nbaccel import train
from nbaccel.train import Checkpoint, Result, RunConfig, ScalingConfig
from nbaccel.train.torch import TorchTrainer, prepare_data_loader, prepare_model


def train_func(config: dict[str, Any]) -> None:
    """Runs in each worker, which imports torch: the driver does not need it."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    inputs = torch.rand(256, 4)
    data = TensorDataset(inputs, inputs @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]]))
    loader = prepare_data_loader(DataLoader(data, batch_size=32, shuffle=True))
    net = torch.nn.Linear(4, 1)
    start = 0
    checkpoint = train.get_checkpoint()
    if checkpoint is not None:
        state = checkpoint.load()
        net.load_state_dict(state["model"])
        start = state["epoch"] + 1
    model = prepare_model(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for epoch in range(start, config["epochs"]):
        total = 0.0
        for batch, wanted in loader:
            loss = torch.nn.functional.mse_loss(model(batch), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        state = {"model": net.state_dict(), "epoch": epoch}
        is_first = train.get_context().get_world_rank() == 0
        saved = Checkpoint.save(state) if is_first else None
        train.report({"epoch": epoch, "loss": total / len(loader)}, checkpoint=saved)


def main(epochs: int = 5) -> Result:
    return TorchTrainer(
        train_func,
        train_loop_config={"epochs": epochs, "lr": 0.1},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=nbaccel.cluster_resources().get("GPU", 0) >= 2),
        run_config=RunConfig(name="line", resume=True),
    ).fit()


if __name__ == "__main__":
    nbaccel.init()
    result = main()
    print(result.metrics, result.checkpoint)
