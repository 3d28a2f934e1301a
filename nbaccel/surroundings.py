"""What a notebook has changed in its own process since init(): environment, import path, directory, log levels.

The comparison takes some 50 µs and is made once for each executed cell. Values of variables are never shown.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

# Variables that are about one process: nbaccel's, Jupyter's, pytest's and the shell's own, and those that libraries
# set for themselves when they are imported.
_OWN = ("NBACCEL_", "RAY_", "JPY_", "PYTEST_")
_OWN_NAMES = {"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "KMP_INIT_AT_FORK", "KMP_DUPLICATE_LIB_OK"}
_MOST_NAMED = 8
_COLOUR = ("FORCE_COLOR", "CLICOLOR_FORCE")  # which ipykernel sets


class ProcessSurroundings(NamedTuple):
    """Where code of this process runs."""

    variables: dict[str, str]
    path: list[str]  # as it is written
    directory: str
    log_levels: dict[str, int]

    def changed_variables(self, before: ProcessSurroundings) -> dict[str, str | None]:
        """The variables that have changed, as a worker is to have them; None: unset."""
        now, then = self.variables, before.variables
        differ = {name: now.get(name) for name in {**then, **now} if now.get(name) != then.get(name)}
        own = _OWN_NAMES | _device_variables() if differ else _OWN_NAMES
        names = [name for name in sorted(differ) if name not in own and not name.startswith(_OWN)]
        return {name: differ[name] for name in names if _is_text(name) and _is_text(differ[name] or "")}


def present() -> ProcessSurroundings:
    """The surroundings as they are now."""
    return ProcessSurroundings({**os.environ}, list(sys.path), working_directory(), log_levels())


def working_directory() -> str:
    """The working directory, or the root where it has been deleted under us or its name is no text."""
    try:
        here = os.getcwd()
    except OSError:
        return "/"
    return here if _is_text(here) else "/"


def without_forced_colour() -> dict[str, str]:
    """This process's variables for workers: a kernel asks for colours, and their output is text for all its readers."""
    is_kernel = "ipykernel.zmqshell" in sys.modules
    return {name: value for name, value in os.environ.items() if not (is_kernel and name in _COLOUR)}


def log_levels() -> dict[str, int]:
    """The loggers that show more than warnings, by name ("" is the root), with their levels."""
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return {}
    loggers = {"": logging.root, **logging.root.manager.loggerDict}
    levels = {name: each.level for name, each in loggers.items() if isinstance(each, logging.Logger)}
    return {name: level for name, level in levels.items() if logging.NOTSET < level < logging.WARNING}


def import_path() -> list[str]:
    """Where this process looks for modules, as absolute paths."""
    return [absolute(entry) for entry in sys.path if isinstance(entry, str) and _is_text(entry)]


def absolute(path: str) -> str:
    """A path as it is meant in the present working directory."""
    return os.path.normpath(os.path.join(working_directory(), path))


def _is_text(value: str) -> bool:
    """Whether it can be sent: bytes that are no UTF-8 have become halves of surrogate pairs."""
    return not any("\ud800" <= each <= "\udfff" for each in value)


def _device_variables() -> set[str]:
    """The variables that give devices to a process: each task has its own."""
    from nbaccel.accelerators.table import VENDORS

    return {name for vendor in VENDORS for name in (vendor.variable, *vendor.unset)}


class ChangesSinceInit:
    """What has changed since this was made. Each name is in `news` once."""

    def __init__(self) -> None:
        self._first = self._now = present()
        self.variables: dict[str, str | None] = {}
        self._named: set[str] = set()

    def look(self) -> bool:
        """Whether anything has changed since the last look."""
        now = present()
        if now == self._now:
            return False
        self._now = now
        self.variables = now.changed_variables(self._first)
        return True

    def news(self) -> str:
        """The names of what has changed and has not been named before; "" for nothing."""
        now, first = self._now, self._first
        names = [name if value is not None else f"{name} (unset)" for name, value in self.variables.items()]
        entries = [entry for entry in now.path if entry and entry not in first.path and isinstance(entry, str)]
        names += [f"{absolute(entry)} (sys.path)" for entry in entries]
        if now.directory != first.directory:
            names.append(f"{now.directory} (working directory)")
        new = [name for name in dict.fromkeys(names) if name not in self._named]
        self._named.update(new)
        if len(new) > _MOST_NAMED:
            return f"{', '.join(new[:_MOST_NAMED])} and {len(new) - _MOST_NAMED} more"
        return " and ".join(part for part in (", ".join(new[:-1]), new[-1]) if part) if new else ""
