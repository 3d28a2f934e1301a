"""Result, under the path at which programs import it from Ray Train."""

from nbaccel.train.result import Result

__all__ = ["Result"]
