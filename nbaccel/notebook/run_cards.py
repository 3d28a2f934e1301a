"""Shows the cards of runs: each card has its own id, by which the front end updates all its copies."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nbaccel.notebook import run_card
from nbaccel.views.run_snapshot import RunSnapshot

RUNS_REMEMBERED = 100
Send = Callable[[str, dict[str, Any], dict[str, Any]], None]  # message type, content, parent


class RunCards:
    """The run cards of one kernel. `send` publishes for a cell, from any thread.

    `parent_now` gives the parent of the running cell.
    """

    def __init__(self, send: Send, parent_now: Callable[[], bytes], clock: Callable[[], float] = time.time) -> None:
        self._send = send
        self._parent_now = parent_now
        self._clock = clock
        self._parents: OrderedDict[str, dict[str, Any]] = OrderedDict()  # run's id -> the cell in which it began

    def run(self, snapshot: RunSnapshot) -> None:
        """Show a run under the running cell, or update its cards."""
        parent = self._parents.get(snapshot.id)
        if parent is None:
            self.show(snapshot)
        else:
            self._send("update_display_data", self._content(snapshot), parent)

    def show(self, snapshot: RunSnapshot) -> None:
        """Show a run under the running cell, even if it is shown elsewhere."""
        parent = self._parent_now()
        place = json.loads(parent) if parent else {}
        self._parents.setdefault(snapshot.id, place)
        if len(self._parents) > RUNS_REMEMBERED:
            self._parents.popitem(last=False)
        self._send("display_data", self._content(snapshot), place)

    def _content(self, snapshot: RunSnapshot) -> dict[str, Any]:
        data = run_card.mimebundle(snapshot, self._clock())
        return {"data": data, "metadata": {}, "transient": {"display_id": f"nbaccel-{snapshot.id}"}}
