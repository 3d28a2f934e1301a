"""Tasks and actors that hold tensors. Workers import this module: it needs no test library, and loads torch itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbaccel


@nbaccel.remote
def add_one(tensor: Any) -> tuple[float, Any]:
    """What was there, and the same memory one more."""
    before = float(tensor.sum())
    tensor += 1
    return before, tensor


@nbaccel.remote
def same(value: Any) -> Any:
    return value


@nbaccel.remote
def spoil_and_die_once(tensor: Any, mark: str) -> float:
    """The first attempt writes into what it was given, and is killed."""
    before = float(tensor.sum())
    tensor.fill_(7)
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), 9)
    return before


@nbaccel.remote
class Trainer:
    """Weights that change after they were put."""

    def __init__(self) -> None:
        import torch

        self.weights = {"a": torch.zeros(100_000), "b": torch.zeros(10)}

    def put(self) -> list[Any]:
        return [nbaccel.put(self.weights)]

    def step(self) -> None:
        for weight in self.weights.values():
            weight += 1

    def keep(self, value: Any) -> float:
        self.kept = value
        return float(value.sum())

    def kept_sum(self) -> float:
        return float(self.kept.sum())
