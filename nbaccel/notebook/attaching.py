"""What a notebook gives the engine, with or without `%load_ext`: which cell runs, and how its errors look."""

from __future__ import annotations

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook import cells, reprs, tracebacks


def attach(shell: InteractiveShell | None = None) -> None:
    """Connects the running shell, if there is one; a second call changes nothing."""
    shell = shell or get_ipython()
    if shell is not None:
        cells.install(shell)
        tracebacks.install(shell)
        reprs.install(shell)
