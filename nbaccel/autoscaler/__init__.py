"""Asking a cluster to grow: Ray's `nbaccel.autoscaler.sdk`, and `held` and `status`, which are nbaccel's own."""

from nbaccel.autoscaler.growth_status import GrowthStatus, status
from nbaccel.autoscaler.held_resources import HeldResources, held
from nbaccel.submodules import by_attribute

__getattr__ = by_attribute(__name__, "sdk")
__all__ = ["GrowthStatus", "HeldResources", "held", "status"]
