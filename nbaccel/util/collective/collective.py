"""Ray's inner path of the operations: `from ray.util.collective import collective`."""

from nbaccel.util import collective
from nbaccel.util.collective import *  # noqa: F403

__all__ = collective.__all__
