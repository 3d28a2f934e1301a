"""Asking a cluster to grow: Ray's `nbaccel.autoscaler.sdk`, and nbaccel's own `held`, `status` and what would come."""

from nbaccel.autoscaler.held_resources import GrowthStatus, HeldResources, expected_growth, held, move_objects, status
from nbaccel.submodules import by_attribute
from nbaccel.views.explanations import ExpectedGrowth

__getattr__ = by_attribute(__name__, "sdk")
__all__ = ["ExpectedGrowth", "GrowthStatus", "HeldResources", "expected_growth", "held", "move_objects", "status"]
