"""UserCallback, under the path at which programs import it from Ray Train."""

from nbaccel.train.callbacks import UserCallback

__all__ = ["UserCallback"]
