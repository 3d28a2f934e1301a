"""Where an engine's news for the user go: what workers print, and sentences about work that waits.

```
  local engine: its news connection ─┐
                                     ├─► installed ── the terminal's way, or the notebook's: every line to its cell
  Ray engine: Ray's thread for logs ─┘
```
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

_CYAN, _RESET = "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Printed:
    """Whole lines of one stream of a worker."""

    name: str
    pid: int
    stream: int  # 1 stdout, 2 stderr
    text: bytes
    parent: bytes = b""  # of the cell's messages
    ip: str = ""  # of the worker's machine, where that is another one
    bare: bool = False  # without a prefix, because the program asked for structured logs

    @property
    def prefix(self) -> str:
        """Ray's own: "(train pid=51830)", "(train pid=51830, ip=10.0.0.2)"."""
        if self.bare:
            return ""
        name = f"{self.name} " if self.name else ""
        return f"({name}pid={self.pid}{f', ip={self.ip}' if self.ip else ''})"

    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.decode("utf-8", "replace").removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the user. About work that waits it is said again as the reason changes, and empty in the end."""

    kind: str
    message: str
    parent: bytes = b""
    task_id: bytes = b""  # names the line that is changed in place


class Sinks:
    """The terminal's way; a notebook installs its own."""

    def __init__(self) -> None:
        self._said: set[tuple[str, bytes]] = set()  # (kind, task that names the line)

    def lines(self, message: Printed) -> None:
        """Print whole lines, each with Ray's prefix."""
        stream = sys.stdout if message.stream == 1 else sys.stderr
        prefix = message.prefix
        if prefix:
            prefix = f"{_CYAN}{prefix}{_RESET} " if _is_terminal(stream) else f"{prefix} "
        self._write(stream, "".join(f"{prefix}{line}\n" for line in message.lines()))

    def notice(self, message: Notice) -> None:
        """A line about work that waits is said again when it changes, to be drawn over; here lines only follow
        each other, so it is printed once.
        """
        line = (message.kind, message.task_id)
        if not message.message:
            self._said = {said for said in self._said if said[1] != message.task_id}
            return
        if message.task_id and line in self._said:
            return
        if message.task_id:
            self._said.add(line)
        self._write(sys.stderr, f"nbaccel: {message.message}\n")

    def _write(self, stream: Any, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the stream is closed, or there is none (pythonw)


def _is_terminal(stream: Any) -> bool:
    wanted = os.environ.get("RAY_COLOR_PREFIX")
    if wanted is not None:
        return wanted == "1"
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


installed: Any = Sinks()


def install(new: Any) -> None:
    """Show lines and notices in another way."""
    global installed
    installed = new
