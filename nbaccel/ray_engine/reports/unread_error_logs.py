"""Shortens Ray's log of errors that nobody read: in a notebook one line is enough, instead of the whole traceback."""

from __future__ import annotations

import logging
import re

from nbaccel.ray_engine.submission.errors import COLOUR

_OF_A_TASK = re.compile(r"Unhandled error \(.*?\): ray::(?P<name>.+?)\(\) \(pid=(?P<pid>\d+)[^\n]*\n")
_logger = logging.getLogger("ray._private.worker")


class _InOneLine(logging.Filter):
    """Shortens such a record; all other records pass unchanged."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = COLOUR.sub("", record.getMessage())
        found = _OF_A_TASK.match(text)
        if found:
            raised = [line for line in text.splitlines() if line.strip() and not line.startswith(" ")][-1]
            record.args = ()
            record.msg = f"{found['name']} (pid {found['pid']}) failed and nobody asked for its result: {raised}"
        return True


_in_one_line = _InOneLine()


def shorten() -> None:
    """Shorten these records from now on, until `stop`."""
    _logger.addFilter(_in_one_line)


def stop() -> None:
    """Show Ray's own records again."""
    _logger.removeFilter(_in_one_line)
