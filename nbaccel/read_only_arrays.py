"""Writing to an array that came through the store read-only: numpy's error does not say why, so a note does."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

NOTE = (
    "An array that is itself the result of get() or an argument of a task is read-only, as in Ray: all processes of "
    "this machine read the same memory. Copy it before you write: array = array.copy()."
)


def hint(error: BaseException) -> str:
    """The note for this error; "" if it is about something else, or has the note."""
    about = isinstance(error, ValueError) and "read-only" in str(error.args[0] if error.args else "")
    return NOTE if about and NOTE not in getattr(error, "__notes__", ()) else ""


_before: Any = None  # the hook that this module's stands before


def hint_in_scripts() -> None:
    """Add the note also to an error that ends the program. IPython has a way of its own."""
    global _before
    if _before is None:
        _before, sys.excepthook = sys.excepthook, _last_words


def _last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if found := hint(error):
        error.add_note(found)
    _before(kind, error, trace)
