"""Connects a notebook with the engine, with or without `%load_ext`: the running cell, output and errors."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine
from nbaccel.handles.refs import ObjectRef
from nbaccel.notebook import cells, dashboards, held_handles, interrupt, reprs, settings, tracebacks
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
    install_history(shell)
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


# ---- values that only IPython's history still holds (`Out[7]`, `_`, `_7`): they leave memory first when it is full
#
# Such a value is never freed: the user can still get it by its name in the history, from disk if need be.


_SHORT_NAMES = ("_", "__", "___")
_OURS = 3  # getrefcount's argument, the loop's variable, and the list that the loop goes through


def refs_of_history_alone(shell: InteractiveShell) -> list[ObjectRef[Any]]:
    """The refs that no variable and no object of the user holds."""
    outputs = shell.user_ns.get("Out") or {}
    names = (*_SHORT_NAMES, *(f"_{number}" for number in outputs))
    held: dict[int, int] = {}
    # IPython keeps results in three places: the user's names, its hidden names, and the display hook.
    for place in (shell.user_ns, shell.user_ns_hidden, vars(shell.displayhook)):
        for name in names:
            if name in place:
                held[id(place[name])] = held.get(id(place[name]), 0) + 1
    in_out = [id(value) for value in outputs.values()]
    refs = list({id(value): value for value in outputs.values() if isinstance(value, ObjectRef)}.values())
    return [ref for ref in refs if sys.getrefcount(ref) <= held.get(id(ref), 0) + in_out.count(id(ref)) + _OURS]


class History:
    """Tells the engine about such refs after each cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def cell_ended(self, result: Any) -> None:
        started = engine.started()
        if started is not None:
            started.only_in_history([ref._id for ref in refs_of_history_alone(self._shell)])


def install_history(shell: InteractiveShell) -> None:
    """Watch this shell's history; a second call changes nothing."""
    if "_nbaccel_history" not in shell.__dict__:
        shell.__dict__["_nbaccel_history"] = history = History(shell)
        shell.events.register("post_run_cell", history.cell_ended)
