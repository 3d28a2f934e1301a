"""Experiment, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.experiment.experiment import Experiment
from nbaccel.tune.trial import Trial

__all__ = ["Experiment", "Trial"]
