"""PyTorch in a worker group: process groups, devices, models and data loaders. Names of `ray.train.torch` 2.60.

Importing this loads no torch here: the workers load it, and a driver without tensors does not need it. The engine may
load it for workers to come, in the background, so that a worker group does not wait for it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import api, elsewhere

if TYPE_CHECKING:
    from nbaccel.train.torch.config import TorchConfig, TorchTrainer
    from nbaccel.train.torch.train_loop_utils import (
        enable_reproducibility,
        get_device,
        get_devices,
        prepare_data_loader,
        prepare_model,
    )

__all__ = [
    "TorchConfig",
    "TorchTrainer",
    "enable_reproducibility",
    "get_device",
    "get_devices",
    "prepare_data_loader",
    "prepare_model",
]

_HOMES = {
    "TorchConfig": "config",
    "TorchTrainer": "config",
    "enable_reproducibility": "train_loop_utils",
    "get_device": "train_loop_utils",
    "get_devices": "train_loop_utils",
    "prepare_data_loader": "train_loop_utils",
    "prepare_model": "train_loop_utils",
}
_GONE = ("accelerate", "backward", "prepare_optimizer")
_ELSEWHERE = {
    "TorchCheckpoint": "Checkpoint.save(model.state_dict()) keeps a state, and checkpoint.load() gives it back.",
    "TorchftConfig": "a worker group starts again as a whole: FailureConfig(max_failures=...).",
}

api.expect_imports(["torch"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            return _raising(error)
    if name in _GONE:
        return globals().setdefault(name, _gone(name))
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)


def _gone(name: str) -> Any:
    """A function that raises what Ray Train's raises."""

    def is_gone(*args: Any, **kwargs: Any) -> Any:
        raise DeprecationWarning(f"train.torch.{name} is not here: use torch.amp, or Accelerate, as Ray says.")

    return is_gone


def _raising(error: ModuleNotFoundError) -> Any:
    """In place of a function that needs torch, where there is none: `import *` and help() go on without it."""

    def needs_torch(*args: Any, **kwargs: Any) -> Any:
        raise error.with_traceback(None)

    return needs_torch


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
