"""Values that only IPython's history still holds (`Out[7]`, `_`, `_7`): they leave memory first when it is full.

Such a value is never freed: the user can still get it by its name in the history, from disk if need be.
"""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine
from nbaccel.handles.refs import ObjectRef

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


def install(shell: InteractiveShell) -> None:
    """Watch this shell's history; a second call changes nothing."""
    if "_nbaccel_history" not in shell.__dict__:
        shell.__dict__["_nbaccel_history"] = history = History(shell)
        shell.events.register("post_run_cell", history.cell_ended)
