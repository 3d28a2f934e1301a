"""Shows the cards of runs and of experiments: a card has an id, by which the front end updates its copies."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

RUNS_REMEMBERED = 100
Send = Callable[[str, dict[str, Any], dict[str, Any]], None]  # message type, content, parent


class _HasId(Protocol):
    """What has a card."""

    id: str


Shown = TypeVar("Shown", bound=_HasId)


class RunCards(Generic[Shown]):
    """The cards of the runs of one kernel, or of its experiments. `send` publishes for a cell, from any thread.

    `parent_now` gives the parent of the running cell; `draw` makes a card at a time.
    """

    def __init__(
        self,
        send: Send,
        parent_now: Callable[[], bytes],
        draw: Callable[[Shown, float], dict[str, str]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._send = send
        self._parent_now = parent_now
        self._draw = draw
        self._clock = clock
        self._parents: OrderedDict[str, dict[str, Any]] = OrderedDict()  # run's id -> the cell in which it began

    def run(self, snapshot: Shown) -> None:
        """Show a run under the running cell, or update its cards."""
        parent = self._parents.get(snapshot.id)
        if parent is None:
            self.show(snapshot)
        else:
            self._send("update_display_data", self._content(snapshot), parent)

    def show(self, snapshot: Shown) -> None:
        """Show a run under the running cell, even if it is shown elsewhere."""
        parent = self._parent_now()
        place = json.loads(parent) if parent else {}
        self._parents.setdefault(snapshot.id, place)
        if len(self._parents) > RUNS_REMEMBERED:
            self._parents.popitem(last=False)
        self._send("display_data", self._content(snapshot), place)

    def _content(self, snapshot: Shown) -> dict[str, Any]:
        data = self._draw(snapshot, self._clock())
        return {"data": data, "metadata": {}, "transient": {"display_id": f"nbaccel-{snapshot.id}"}}
