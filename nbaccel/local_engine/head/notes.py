"""The head's own log: lines on its stderr, and the last of them in memory for `nbaccel doctor`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

MOST_LINES = 200
Note = Callable[[str], None]  # writes one line to the head's own log


class Notes:
    """Call it with a text to write a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"
        self.lines.append(line)
        del self.lines[:-MOST_LINES]
        try:
            sys.stderr.write(line + "\n")  # its own log file
            sys.stderr.flush()
        except OSError:
            pass  # a full disk: it is remembered above
