"""The configs, under the path at which older programs import them."""

from nbaccel.train import ScalingConfig
from nbaccel.tune import CheckpointConfig, FailureConfig, RunConfig

__all__ = ["CheckpointConfig", "FailureConfig", "RunConfig", "ScalingConfig"]
