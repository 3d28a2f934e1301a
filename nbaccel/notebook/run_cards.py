"""Shows the cards of runs and of experiments: a card has an id, by which the front end updates its copies.

Where a page puts live views into places, the card of what is under way is such a place: the cockpit's module draws it
there, with Stop. Below the live view is the card as a picture, which the notebook's file keeps. It is sent when the
state changes, and else every `PICTURE_S`, so that a saved or reloaded notebook does not show the state before the work.
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

RUNS_REMEMBERED = 100
PICTURE_S = 10.0  # how old the picture below a live view may become while something changes
_NAME = re.compile(r"[\w-]+")
Send = Callable[[str, dict[str, Any], dict[str, Any]], None]  # message type, content, parent


class _HasId(Protocol):
    """What has a card."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def is_under_way(self) -> bool: ...


Shown = TypeVar("Shown", bound=_HasId)


class RunCards(Generic[Shown]):
    """The cards of the runs of one kernel, or of its experiments. `send` publishes for a cell, from any thread.

    `parent_now` gives the parent of the running cell; `draw` makes a card at a time; `place_now` gives the CSS class of
    the page's places for live views, "" if it has none.
    """

    def __init__(
        self,
        send: Send,
        parent_now: Callable[[], bytes],
        draw: Callable[[Shown, float], dict[str, str]],
        clock: Callable[[], float] = time.time,
        place_now: Callable[[], str] = str,
    ) -> None:
        self._send = send
        self._parent_now = parent_now
        self._draw = draw
        self._clock = clock
        self._place_now = place_now
        self._sent: dict[str, tuple[str, str, float]] = {}  # run's id -> the state, the place and when it was sent
        self._parents: OrderedDict[str, dict[str, Any]] = OrderedDict()  # run's id -> the cell in which it began

    def run(self, snapshot: Shown) -> None:
        """Show a run under the running cell, or update its cards."""
        parent = self._parents.get(snapshot.id)
        place = self._place_of(snapshot)
        state, sent_to, sent_at = self._sent.get(snapshot.id, ("", "", 0.0))
        if place and (state, sent_to) == (snapshot.state, place) and self._clock() < sent_at + PICTURE_S:
            return  # the page draws it
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
            self._sent.pop(self._parents.popitem(last=False)[0], None)
        self._send("display_data", self._content(snapshot), place)

    def is_known(self, id: str) -> bool:
        """Whether it is shown under some cell."""
        return id in self._parents

    def is_here(self, id: str) -> bool:
        """Whether a run has its first card under the running cell."""
        parent = self._parent_now()
        return bool(parent) and self._parents.get(id) == json.loads(parent)

    def _content(self, snapshot: Shown) -> dict[str, Any]:
        now = self._clock()
        data = self._draw(snapshot, now)
        place = self._place_of(snapshot)
        self._sent[snapshot.id] = snapshot.state, place, now
        if place:
            data = live_bundle(place, data, details=False, of=snapshot.id, at=snapshot.id)
        return {"data": data, "metadata": {}, "transient": {"display_id": f"nbaccel-{snapshot.id}"}}

    def _place_of(self, snapshot: Shown) -> str:
        """The class of its place; "" if it is no live view."""
        return self._place_now() if snapshot.is_under_way else ""


# ---- the output that is a place for a live view: plain HTML whose classes tell the page what to draw over it


def live_bundle(key: str, card: dict[str, str], *, details: bool, of: str = "", at: str = "") -> dict[str, str]:
    """The output that reserves a place for views of the model with this key: `of` one run or experiment, or of all.

    `at` names the output: if its picture is drawn anew, the page's live view stays.
    """
    opens = (" nbaccel-details" if details else "") + (f" nbaccel-of-{of}" if of else "")
    named = f" nbaccel-at-{at}" if at else ""
    return {**card, "text/html": f'<div class="nbaccel-place {key}{opens}{named}">{card["text/html"]}</div>'}


def place_key(model: str, session: str) -> str:
    """The classes of a place: of the model that draws there, and of the head, which the Jupyter server can ask too."""
    return f"{model} nbaccel-head-{session}" if _NAME.fullmatch(session) else model
