"""The controller that hooks of schedulers are given, under the path at which programs import it from Ray Tune."""

from nbaccel.tune.trial_decisions import TrialController as TuneController

__all__ = ["TuneController"]
