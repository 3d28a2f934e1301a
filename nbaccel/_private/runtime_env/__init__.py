"""Ray's path for how runtime environments are made; here only its constants."""

from nbaccel.submodules import by_attribute

__getattr__ = by_attribute(__name__, "constants")
