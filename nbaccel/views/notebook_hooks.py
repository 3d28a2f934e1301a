"""What the API needs of the notebook folder. The API does not import it: the package connects the two.

```
  nbaccel/__init__ ── connect(…) ──► here ◄── connected() ── api: the card of init(), and attaching to IPython
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbaccel.views.snapshot import Snapshot


class NotebookHooks(Protocol):
    """Draws cards and attaches to IPython. Each method imports what it needs when it is called."""

    def attach(self) -> None:
        """Connect the running shell, so that cells are known and output reaches its cell."""

    def card_as_text(self, snapshot: Snapshot) -> str: ...

    def card(self, snapshot: Snapshot) -> dict[str, Any]:
        """The card as text and as HTML, by MIME type."""


_connected: list[NotebookHooks] = []


def connect(hooks: NotebookHooks) -> None:
    """Use these from now on."""
    _connected[:] = [hooks]


def connected() -> NotebookHooks:
    """Those of the notebook folder."""
    return _connected[0]
