"""Result, under the path at which older programs import it."""

from nbaccel.tune import Result

__all__ = ["Result"]
