"""Trainable and what is bound to one, under the paths at which programs import them from Ray Tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere
from nbaccel.tune.trainable.trainable import OF_EACH_RESULT, SHOULD_CHECKPOINT, OwnTrial, Trainable, TrainingResult

if TYPE_CHECKING:
    from nbaccel.tune.resources import with_parameters

__all__ = ["OF_EACH_RESULT", "SHOULD_CHECKPOINT", "OwnTrial", "Trainable", "TrainingResult", "with_parameters"]


def __getattr__(name: str) -> Any:
    if name == "with_parameters":  # its module needs this one
        from nbaccel.tune import resources

        return resources.with_parameters
    raise elsewhere.no_attribute(__name__, name)
