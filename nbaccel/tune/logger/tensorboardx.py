"""TBXLoggerCallback, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.logger import TBXLoggerCallback

__all__ = ["TBXLoggerCallback"]
