"""How Python is run on a machine that may have nothing of nbaccel: the program comes with the command, or after it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from nbaccel.machines.sources import node_program

# What Python is told to do. The program and its settings are arguments, or they come through the input: arguments are
# seen by everybody on that machine, and the token must not be.
FROM_ARGUMENTS = "import sys; exec(sys.argv[1]); start(sys.argv[2])"
FROM_INPUT = (
    "import sys; line = sys.stdin.buffer.readline; read = sys.stdin.buffer.read; exec(read(int(line()))); "
    "start(read(int(line())))"
)


def command(python: str | None, told: str) -> str:
    """The words for a shell that run Python there; without a path, the one that runs here."""
    return f"{_quoted(python or sys.executable)} -u -c {shlex.quote(told)}"


def program() -> str:
    """The text of `node_program`."""
    return Path(node_program.__file__).read_text()


def through_input(settings: str) -> bytes:
    """The program and its settings, as FROM_INPUT reads them."""
    parts = (program().encode(), settings.encode())
    return b"".join(b"%d\n%s" % (len(part), part) for part in parts)


def _quoted(path: str) -> str:
    """The path as one word for the shell there, whose home is another than here."""
    if path.startswith("~/"):
        return f"~/{shlex.quote(path[2:])}"
    return shlex.quote(path)
