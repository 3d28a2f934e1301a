"""A shell of this process with the magics, on a cluster of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel import engine
from nbaccel.notebook import magics


@contextmanager
def shell_with(**options: Any) -> Iterator[InteractiveShell]:
    """Takes the options of `init()`."""
    shell = InteractiveShell.instance()
    magics.register(shell)
    nbaccel.init(**options)
    shell.user_ns["nbaccel"] = nbaccel
    yield shell
    nbaccel.shutdown()
    engine.cell_source = None
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()
