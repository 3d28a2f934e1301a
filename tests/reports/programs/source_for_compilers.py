"""torch.save, joblib, torch.jit.script and numba's cache in a task: no class by name, no source."""

# needs: torch, numba, joblib
# %%
import tempfile
from pathlib import Path

import joblib
import torch
from numba import njit

import nbaccel as ray

ray.init(num_cpus=2)


# %%
class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2


# %%
@ray.remote
def compiles(folder: str) -> list[float]:
    torch.save(Net(), f"{folder}/net.pt")
    joblib.dump(Net(), f"{folder}/net.joblib")
    assert type(torch.load(f"{folder}/net.pt", weights_only=False)) is Net
    assert type(joblib.load(f"{folder}/net.joblib")) is Net

    @njit(cache=True)
    def doubled(x: float) -> float:
        return x * 2

    torch.jit.script(Net())(torch.ones(2))
    return [float(torch.jit.script(scale)(torch.ones(1))), doubled(2.0)]


with tempfile.TemporaryDirectory() as folder:
    assert ray.get(compiles.remote(folder)) == [2, 4]
    assert type(torch.load(Path(folder) / "net.pt", weights_only=False)) is Net, "the notebook reads what a task saved"
