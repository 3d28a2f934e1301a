"""The part of the notebook room that the API needs. The API does not import that room: the package connects the two.

```
  nbaccel/__init__ ── connect(…) ──► here ◄── room() ── api: the card of init(), and attaching to IPython
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbaccel.views.snapshot import Snapshot


class NotebookRoom(Protocol):
    """Draws cards and attaches to IPython. Each method imports what it needs when it is called."""

    def attach(self) -> None:
        """Connect the running shell, so that cells are known and output reaches its cell."""

    def card_as_text(self, snapshot: Snapshot) -> str: ...

    def card(self, snapshot: Snapshot) -> dict[str, Any]:
        """The card as text and as HTML, by MIME type."""


_connected: list[NotebookRoom] = []


def connect(notebook: NotebookRoom) -> None:
    """Use this room from now on."""
    _connected[:] = [notebook]


def room() -> NotebookRoom:
    """The notebook room."""
    return _connected[0]
