"""Ray's first path of the state questions; they stand in `nbaccel.util.state`."""

from nbaccel.submodules import by_attribute

__getattr__ = by_attribute(__name__, "api", "common", "exception")
