"""Finds the running cell. Every task carries it, so that views can name it and its output goes under it.

Every submission asks for the cell, thousands of times a second. The answer is a walk of the stack down to the cell and
a look into a dictionary: one microsecond. The parent is the header of the message that ran the cell; the rest of
nbaccel passes it on unread.
"""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine

_HEADER_KEYS = ("msg_id", "session", "username", "msg_type", "version")


class CellWatch:
    """The running cell of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self.number = 0  # the number of the running cell; 0 if it has none
        self._label = ""
        self._parent = b""
        self._by_line: dict[int, tuple[str, bytes]] = {}
        self.started(None)

    def started(self, info: Any) -> None:
        """Take note of a new running cell; IPython's `pre_run_cell` calls this."""
        # Silent executions, such as a front end's own questions, have no number.
        numbered = info is None or getattr(info, "store_history", True)
        # Read from the history, which has a cell's text as soon as it runs: execution_count grows before or after this
        # event, depending on IPython's version.
        history = self._shell.history_manager
        self.number = len(history.input_hist_parsed) - (info is None) if history is not None and numbered else 0
        self._label = f"[{self.number}]" if self.number else ""
        self._parent = _parent_bytes(self._shell)
        self._by_line = {0: (self._label, self._parent)}

    def parent(self) -> bytes:
        """The parent of the running cell's messages."""
        return self._parent

    def source(self) -> tuple[str, bytes]:
        """The running cell and line: ("[7] line 3", the parent of its messages)."""
        line = _line_in_cell(sys._getframe(1))
        known = self._by_line.get(line)
        if known is None:
            known = self._by_line[line] = (f"{self._label} line {line}".lstrip(), self._parent)
        return known


def install(shell: InteractiveShell) -> CellWatch:
    """Watches the cells of `shell`; a second call returns the existing watch."""
    watch = shell.__dict__.get("_nbaccel_cell_watch")
    if not isinstance(watch, CellWatch):
        watch = CellWatch(shell)
        shell.__dict__["_nbaccel_cell_watch"] = watch
        shell.events.register("pre_run_cell", watch.started)
    engine.cell_source = watch.source
    return watch


def number_of(shell: InteractiveShell, filename: str) -> str:
    """The cell from which code of this file name comes: "[7]"; "" if it comes from no cell."""
    named: Any = shell.compile.format_code_name(filename)  # ("Cell", "In[7]")
    return str(named[1]).removeprefix("In") if named else ""


def _line_in_cell(frame: FrameType | None) -> int:
    """The line of the cell itself, not of a function that it calls; 0 if no cell is on the stack (another thread)."""
    while frame is not None:
        # Code of a cell has the notebook's globals; the globals of an imported module have a __file__.
        if frame.f_code.co_name == "<module>" and "_ih" in frame.f_globals:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _parent_bytes(shell: InteractiveShell) -> bytes:
    get_parent = getattr(shell, "get_parent", None)
    parent = get_parent() if get_parent is not None else None
    if not parent or not parent.get("header"):
        return b""
    header = {key: parent["header"][key] for key in _HEADER_KEYS if key in parent["header"]}
    cell_id = (parent.get("metadata") or {}).get("cellId", "")
    return json.dumps({"header": header, "cell_id": cell_id}).encode()
