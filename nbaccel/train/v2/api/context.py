"""TrainContext, under the path at which programs import it from Ray Train."""

from nbaccel.train.session import TrainContext

__all__ = ["TrainContext"]
