"""SyncConfig, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.tune_config import SyncConfig

__all__ = ["SyncConfig"]
