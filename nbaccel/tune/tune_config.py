"""TuneConfig, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.configs import ResumeConfig, TuneConfig

__all__ = ["ResumeConfig", "TuneConfig"]
