"""Notes on errors: where in the engine's work the user's code has raised them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any


class saying:
    """Whatever is raised inside says where that was."""

    def __init__(self, note: str) -> None:
        self._note = note

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception):
            add_note(error, self._note)


def add_note(error: Exception, note: str) -> None:
    """Say something more with an error."""
    with suppress(Exception):  # the user's class may refuse notes
        error.add_note(note)
