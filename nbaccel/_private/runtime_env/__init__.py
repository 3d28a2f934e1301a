"""Ray's path for how runtime environments are made; here only its constants."""

from nbaccel.elsewhere import submodules_by_attribute

__getattr__ = submodules_by_attribute(__name__, "constants")
