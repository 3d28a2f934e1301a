"""JsonLoggerCallback, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.logger import JsonLoggerCallback

__all__ = ["JsonLoggerCallback"]
