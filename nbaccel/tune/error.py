"""TuneError, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.errors import TuneError

__all__ = ["TuneError"]
