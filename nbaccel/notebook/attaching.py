"""Connects a notebook with the engine, with or without `%load_ext`: the running cell, output and errors."""

from __future__ import annotations

from functools import partial

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook import cells, dashboards, held_handles, history, interrupt, reprs, settings, tracebacks
from nbaccel.notebook.output import CellOutput, sender
from nbaccel.views import sinks


def attach(shell: InteractiveShell | None = None) -> None:
    """Connects the running shell, if there is one; a second call changes nothing."""
    shell = shell or get_ipython()
    if shell is None:
        return
    watch = cells.install(shell)
    tracebacks.install(shell)
    reprs.install(shell)
    interrupt.install(shell)
    history.install(shell)
    kernel = getattr(shell, "kernel", None)
    # A terminal has one place for output, and the engine prints there by itself.
    if kernel is not None and not isinstance(sinks.installed, CellOutput):
        cell_of = partial(cells.number_of, shell)
        output = CellOutput(
            sender(kernel),
            settings.of(shell),
            parent_now=lambda: watch.source()[1],
            cell_of=cell_of,
            place_now=dashboards.place_now,
            explained=lambda sentence: held_handles.added_to(sentence, shell),
        )
        sinks.install(output)
