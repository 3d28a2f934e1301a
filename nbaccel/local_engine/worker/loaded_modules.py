"""Whether tasks have made this process import modules of the user's: a new process would have to import them again."""

from __future__ import annotations

import sys
from types import FrameType


class LoadedModules:
    """Compares what is loaded with what a fork of the zygote has from the start."""

    def __init__(self) -> None:
        self._before = _packages()
        self._count = len(sys.modules)
        self._are_users = False

    def are_users(self) -> bool:
        """Asked after each task: it costs nothing while nothing is imported."""
        if not self._are_users and len(sys.modules) != self._count:
            self._count = len(sys.modules)
            self._are_users = bool(_packages() - self._before - sys.stdlib_module_names)
        return self._are_users


def _packages() -> set[str]:
    """The first parts of the names of all modules."""
    return {name.partition(".")[0] for name in list(sys.modules)}


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module is half imported now: interrupted there, it would be broken for the tasks to come."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
