"""Asking a cluster to grow: Ray's `nbaccel.autoscaler.sdk`, and nbaccel's own `held`, `status` and what would come."""

from nbaccel.autoscaler.expecting import expected_growth, move_objects
from nbaccel.autoscaler.held_resources import GrowthStatus, HeldResources, held, status
from nbaccel.submodules import by_attribute
from nbaccel.views.expected_growth import ExpectedGrowth

__getattr__ = by_attribute(__name__, "sdk")
__all__ = ["ExpectedGrowth", "GrowthStatus", "HeldResources", "expected_growth", "held", "move_objects", "status"]
