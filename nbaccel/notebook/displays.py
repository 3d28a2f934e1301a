"""The place of a live view in a notebook: an output of plain HTML, whose saved form is the card.

```
  kernel ── display_data: text/html ──► output: <div class="nbaccel-place …"> the card </div> ──► the .ipynb file
  kernel ── comm: the widget's model ──► page: the view covers the card in every place of its kernel, while there is one
```
The output names no widget. A notebook that is opened without its kernel, untrusted, or by a program shows the card,
where an output with the widget's mime type shows "Error displaying widget: model not found".
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from nbaccel.notebook import cells
from nbaccel.notebook.output import sender

MOST_PLACES = 200  # the most places of one kernel that are drawn a last time at the end


def can_be_used(shell: Any) -> bool:
    """Whether the page creates models of widgets without an output that shows one: JupyterLab and Notebook do.

    These name the cell of an execution by an id, VS Code by an address. Others name none and get the widget itself.
    """
    parent = cells.install(shell).parent()
    cell_id = json.loads(parent).get("cell_id", "") if parent else ""
    return bool(cell_id) and ":" not in cell_id


class Displays:
    """The outputs of one kernel that hold a live view, each with a name, so that it can be drawn again.

    Of more than `most` outputs, the oldest stay as they are.
    """

    def __init__(self, shell: Any, most: int = MOST_PLACES) -> None:
        self._most = most
        self._send = sender(shell.kernel)
        self._parents: dict[str, bytes] = {}
        self._last: dict[str, bytes] = {}  # those that were drawn for good last
        self._watch = cells.install(shell)

    @staticmethod
    def new_name() -> str:
        return f"nbaccel-place-{uuid.uuid4().hex}"

    def show(self, data: dict[str, Any], metadata: dict[str, Any], name: str = "") -> None:
        """Show a new output under the running cell."""
        name = name or self.new_name()
        self._last.clear()
        self._parents[name] = parent = self._watch.parent()
        while len(self._parents) > self._most:
            del self._parents[next(iter(self._parents))]
        self._publish("display_data", name, parent, data, metadata)

    def draw(self, data: dict[str, Any]) -> None:
        """Replace all outputs by this one, for now."""
        for name, parent in list(self._parents.items()):
            self._publish("update_display_data", name, parent, data, {})

    def draw_one(self, name: str, data: dict[str, Any]) -> None:
        """Replace one output for now, unless it has been drawn for good."""
        parent = self._parents.get(name)
        if parent is not None:
            self._publish("update_display_data", name, parent, data, {})

    def draw_last(self, data: dict[str, Any]) -> None:
        """Replace all outputs by this one for good. Two threads may call this at once: a cell that shuts down, and the
        engine's, which hears that the head has died.
        """
        for name in list(self._parents):
            parent = self._parents.pop(name, None)
            if parent is not None:
                self._last[name] = parent
                self._publish("update_display_data", name, parent, data, {})

    def draw_last_again(self, data: dict[str, Any]) -> None:
        """Replace what was drawn for good last, because its pictures have come."""
        for name, parent in self._last.items():
            self._publish("update_display_data", name, parent, data, {})

    def _publish(self, kind: str, name: str, parent: bytes, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        content = {"data": data, "metadata": metadata, "transient": {"display_id": name}}
        self._send(kind, content, json.loads(parent) if parent else {})
