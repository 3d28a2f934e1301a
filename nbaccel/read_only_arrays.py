"""Writing to an array that came through the store read-only: numpy's error does not say why, so a note does."""

from __future__ import annotations

NOTE = (
    "An array that is itself the result of get() or an argument of a task is read-only, as in Ray: all processes of "
    "this machine read the same memory. Copy it before you write: array = array.copy()."
)


def hint(error: BaseException) -> str:
    """The note for this error; "" if it is about something else, or has the note."""
    about = isinstance(error, ValueError) and "read-only" in str(error.args[0] if error.args else "")
    return NOTE if about and NOTE not in getattr(error, "__notes__", ()) else ""
