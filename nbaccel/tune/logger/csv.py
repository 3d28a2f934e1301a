"""CSVLoggerCallback, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.logger import CSVLoggerCallback

__all__ = ["CSVLoggerCallback"]
