"""SyncConfig, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.configs import SyncConfig

__all__ = ["SyncConfig"]
