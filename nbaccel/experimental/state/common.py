"""Ray's first path of the records."""

from nbaccel.util.state import common
from nbaccel.util.state.common import *  # noqa: F403

__all__ = common.__all__
