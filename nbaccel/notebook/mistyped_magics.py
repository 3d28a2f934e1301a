"""After IPython refuses a line: names the nbaccel magic that was probably meant, or shows the requested manual.

IPython looks magics up itself, so a mistyped name never reaches us; we learn of it from the cell's error.
"""

from __future__ import annotations

import difflib
import re
import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook.options import CELL_MAGICS, MAGICS, asks_for_help

_NOT_FOUND = re.compile(r"[Mm]agic (?:function )?`%+(\w+)` not found")
_EMPTY_BODY = re.compile(r"%%(\w+) is a cell magic, but the cell body is empty")
ALIKE = 0.75  # with a lower limit, %autoreload and others would be taken for ours


def install(shell: InteractiveShell) -> None:
    """Watches the cells of this shell; a second call changes nothing."""
    if not shell.__dict__.get("_nbaccel_explains_magics"):
        shell.__dict__["_nbaccel_explains_magics"] = True
        shell.events.register("post_run_cell", lambda result: _explain(shell, result))


def _explain(shell: InteractiveShell, result: Any) -> None:
    error = getattr(result, "error_in_exec", None)
    if not isinstance(error, UsageError):
        return
    text = _manual(shell, str(error), result.info.raw_cell) or suggestion(str(error))
    if text:
        sys.stderr.write(text + "\n")


def suggestion(refusal: str) -> str:
    """ "Did you mean %accel_init?" for IPython's message about an unknown magic; "" if no name is near."""
    found = _NOT_FOUND.search(refusal)
    if found and found[1] in CELL_MAGICS and f"%%{found[1]}" in found[0]:
        return f"%%{found[1]} must be the first line of its cell: nothing may stand above it, not even a comment."
    if found and found[1] in MAGICS and found[1] not in CELL_MAGICS:
        return f"%{found[1]} works in the notebook after %load_ext nbaccel, but not in a task."
    near = difflib.get_close_matches(found[1], MAGICS, n=1, cutoff=ALIKE) if found else []
    return f"Did you mean {'%%' if near[0] in CELL_MAGICS else '%'}{near[0]}?" if near else ""


def _manual(shell: InteractiveShell, refusal: str, cell: str) -> str:
    """Of `%%accel --help` without a body, which IPython refuses."""
    found = _EMPTY_BODY.search(refusal)
    magic = shell.find_cell_magic(found[1]) if found and found[1] in MAGICS else None  # type: ignore[no-untyped-call]
    return str(magic.__doc__) if magic is not None and asks_for_help(cell.lstrip().partition("\n")[0]) else ""
