"""Ray's first path of the state questions; they stand in `nbaccel.util.state`."""

from nbaccel.elsewhere import submodules_by_attribute

__getattr__ = submodules_by_attribute(__name__, "api", "common", "exception")
