"""The traceback of a failed task for its log: the frames of the user's code first, then all of them."""

from __future__ import annotations

import re

import IPython

from nbaccel.notebook.tracebacks import FRAME, with_cell_lines, without_ours

_LIBRARY = re.compile(r"[/\\\\](?:site|dist)-packages[/\\\\]|[/\\\\]lib[/\\\\]python3|^<frozen ")


def readable(failure: str) -> tuple[str, str]:
    """(the error with the frames of the user's code alone, "" without such frames; the whole traceback)."""
    shell = IPython.get_ipython()
    text = without_ours(failure)
    yours, has_users = _users(text.splitlines())
    return with_cell_lines(yours, shell) if has_users else "", with_cell_lines(text, shell)


def _users(lines: list[str]) -> tuple[str, bool]:
    """A traceback without the frames of libraries, and whether a frame is left."""
    kept: list[str] = []
    library = ""
    has_users = False
    for line in lines:
        match = FRAME.match(line)
        if match is not None:
            library = match["indent"] + "  " if _LIBRARY.search(match["file"]) else ""
            has_users = has_users or not library
        elif not (library and line.startswith(library)):
            library = ""
        if not library:
            kept.append(line)
    return "\n".join(kept), has_users
