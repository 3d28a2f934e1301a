"""Ray AIR's paths, which older programs import: the configs are Tune's, and everything else is nbaccel.train's.

A name that is not here imports, and says what to use when it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere

if TYPE_CHECKING:
    from nbaccel.train import session
    from nbaccel.train.checkpoint import Checkpoint
    from nbaccel.train.configs import ScalingConfig
    from nbaccel.tune import CheckpointConfig, FailureConfig, Result, RunConfig

__all__ = ["Checkpoint", "CheckpointConfig", "FailureConfig", "Result", "RunConfig", "ScalingConfig", "session"]

_HOMES = {
    "Checkpoint": "nbaccel.train.checkpoint",
    "CheckpointConfig": "nbaccel.tune",
    "FailureConfig": "nbaccel.tune",
    "Result": "nbaccel.tune",
    "RunConfig": "nbaccel.tune",
    "ScalingConfig": "nbaccel.train",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return globals().setdefault(name, getattr(importlib.import_module(_HOMES[name]), name))
    if name in ("checkpoint", "config", "result", "session"):
        return importlib.import_module(f"{__name__}.{name}")
    return globals().setdefault(name, elsewhere.absent(__name__, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
