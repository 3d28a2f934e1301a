"""TrainContext and get_context, under the path at which programs import them from Ray Train."""

from nbaccel.train.session import TrainContext, get_context

__all__ = ["TrainContext", "get_context"]
