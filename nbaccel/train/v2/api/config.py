"""The configs, under the path at which programs import them from Ray Train."""

from nbaccel.train.configs import CheckpointConfig, FailureConfig, LoggingConfig, RunConfig
from nbaccel.train.scaling import ScalingConfig

__all__ = ["CheckpointConfig", "FailureConfig", "LoggingConfig", "RunConfig", "ScalingConfig"]
