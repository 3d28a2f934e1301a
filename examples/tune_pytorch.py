"""Choose the learning rate and the width of a small network of PyTorch; ASHA ends the weak trials early.

    python examples/tune_pytorch.py

Two trials share a GPU if there is one. Each run of the program keeps a folder in ~/nbaccel_results.
"""

from __future__ import annotations

from typing import Any

import nbaccel
from nbaccel import tune
from nbaccel.tune.schedulers import ASHAScheduler


def train_network(config: dict[str, Any]) -> None:
    """Runs in a worker for each trial, which imports torch: the driver does not need it."""
    import torch

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.rand(256, 4, device=device)
    wanted = (inputs**2).sum(dim=1, keepdim=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, config["width"]), torch.nn.ReLU(), torch.nn.Linear(config["width"], 1)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    start = 0
    checkpoint = tune.get_checkpoint()  # of an attempt that failed, or of an experiment that was interrupted
    if checkpoint is not None:
        state = checkpoint.load()
        model.load_state_dict(state["model"])
        start = state["epoch"] + 1
    for epoch in range(start, config["epochs"]):
        for batch, answers in zip(inputs.split(32), wanted.split(32), strict=True):
            loss = torch.nn.functional.mse_loss(model(batch), answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        saved = tune.Checkpoint.save({"model": model.state_dict(), "epoch": epoch})
        tune.report({"loss": loss.item()}, checkpoint=saved)


def main(num_samples: int = 12, epochs: int = 16) -> tune.ResultGrid:
    share = {"gpu": 0.5} if nbaccel.cluster_resources().get("GPU", 0) else {"cpu": 1}
    space = {"lr": tune.loguniform(1e-4, 1e-1), "width": tune.choice([8, 16, 32]), "epochs": epochs}
    return tune.Tuner(
        tune.with_resources(train_network, share),
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=num_samples, scheduler=ASHAScheduler(max_t=epochs)
        ),
        run_config=tune.RunConfig(name="widths", checkpoint_config=tune.CheckpointConfig(num_to_keep=1)),
    ).fit()


if __name__ == "__main__":
    nbaccel.init()
    best = main().get_best_result(scope="all")
    print(best.metrics, best.config, best.checkpoint)
