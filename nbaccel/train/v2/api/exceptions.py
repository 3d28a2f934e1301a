"""The errors of a run, under the path at which programs import them from Ray Train."""

from nbaccel.train.errors import ControllerError, RayTrainError, TrainingFailedError, WorkerGroupError

__all__ = ["ControllerError", "RayTrainError", "TrainingFailedError", "WorkerGroupError"]
