"""Keeps Ray's own lines of a start out of the cell: its log up to warnings, and Python's warnings meanwhile.

A person who starts a cluster can do nothing about them. Errors are shown, and where the start fails, everything is. The
lines are kept: `logs` without a task has them.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbaccel.handles.options import InitOptions
from nbaccel.views import wording

_RAYS = "ray"  # the logger of all that Ray logs in a driver
_DASHBOARD = "View the dashboard at"  # of somebody who has asked for a dashboard


class RaysLines:
    """What is kept of one start. A filter of handlers, since a logger's own sees no record of the loggers below it."""

    def __init__(self, *, is_wanted: bool) -> None:
        self.lines: list[str] = []
        self.is_wanted = is_wanted
        self._held: list[Callable[[], None]] = []  # shows each of them after all
        self._handlers: list[logging.Handler] = []

    def watch_log(self) -> None:
        """Keep records from now on; called once Ray is imported, which makes its handlers."""
        self._handlers = list(logging.getLogger(_RAYS).handlers) if self.is_wanted else []
        for handler in self._handlers:
            handler.addFilter(self)

    def unwatch_log(self) -> None:
        for handler in self._handlers:
            handler.removeFilter(self)
        self._handlers = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        if record.levelno >= logging.ERROR or _DASHBOARD in record.getMessage():
            return True
        self.lines.append(f"{record.levelname} {record.filename}:{record.lineno} -- {record.getMessage()}")
        handler = self._handlers[0]
        self._held.append(lambda: handler.emit(record))
        return False

    def keep_warning(self, text: str, show: Callable[[], None]) -> None:
        self.lines.append(text.rstrip())
        self._held.append(show)

    def hint(self) -> str:
        """Where they are, in words; "" if there are none."""
        return f"{wording.count(len(self.lines), 'line')} of Ray's log: %accel_logs" if self.lines else ""

    def show_all(self) -> None:
        """Show what was kept: the start has failed."""
        for show in self._held:
            show()


@contextmanager
def kept_back(options: InitOptions) -> Iterator[RaysLines]:
    """Keep Ray's lines while it starts, unless the program has said how Ray is to log."""
    kept = RaysLines(is_wanted=not _says_how_to_log(options))
    try:
        with _warnings_kept(kept):
            yield kept
    except BaseException:
        kept.unwatch_log()
        kept.show_all()
        raise
    finally:
        kept.unwatch_log()


def _says_how_to_log(options: InitOptions) -> bool:
    asked = options.logging_level != "info" or options.logging_format or options.logging_config
    return bool(asked) or not options.configure_logging


@contextmanager
def _warnings_kept(kept: RaysLines) -> Iterator[None]:
    """Other threads of the program may warn meanwhile: their warnings are shown."""
    show, here = warnings.showwarning, threading.get_ident()

    def keep(message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any, **given: Any) -> None:
        if threading.get_ident() != here or not kept.is_wanted:
            show(message, category, filename, lineno, *rest, **given)
            return
        text = warnings.formatwarning(message, category, filename, lineno)
        kept.keep_warning(text, lambda: show(message, category, filename, lineno, *rest, **given))

    warnings.showwarning = keep
    try:
        yield
    finally:
        if warnings.showwarning is keep:
            warnings.showwarning = show
