"""Ray's path for asking a cluster to grow: see `nbaccel.autoscaler.sdk`."""

from nbaccel.submodules import by_attribute

__getattr__ = by_attribute(__name__, "sdk")
