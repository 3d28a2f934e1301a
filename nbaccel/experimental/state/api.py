"""Ray's first path of the questions: `from ray.experimental.state.api import list_tasks`."""

from nbaccel.util import state
from nbaccel.util.state import *  # noqa: F403

__all__ = state.__all__
