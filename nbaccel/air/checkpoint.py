"""Checkpoint, under the path at which older programs import it."""

from nbaccel.train.checkpoint import Checkpoint

__all__ = ["Checkpoint"]
