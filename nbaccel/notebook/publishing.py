"""When a picture goes to the pages: only to those who look, only when it looks different, in one place for all of them.

```
  a page's view ── visible | hidden ──► Publisher ── watch, with as many rows as the views want ──► engine
  engine's news thread ── snapshot ──► Publisher ── JSON, if it shows anything new ──► the widget's trait
```
Messages of a widget count as activity of its kernel, and a hub stops kernels that are idle: so a quiet cluster sends
nothing, and what others do on its devices is no reason to send while nothing of this cluster runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from nbaccel.notebook import drawn
from nbaccel.notebook.drawn import Drawn
from nbaccel.snapshot import Snapshot

_EXPECTED = "(expected)"  # a view that was displayed and has not said anything yet


class Watched(Protocol):
    """What publishing needs of an engine."""

    def watch(
        self, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, rows: int = 0
    ) -> None: ...


class Publisher:
    """Decides what is sent. `send` is called by the engine's thread alone while it watches, and so is `keep`, with
    every picture that comes.
    """

    def __init__(self, send: Callable[[str], None], keep: Callable[[Snapshot], object] = lambda picture: None) -> None:
        self._send = send
        self._keep = keep
        self._engine: Watched | None = None
        self._views: dict[str, int] = {}  # visible views -> rows of tasks that each wants
        self._asked: int | None = None  # what the engine has been asked for: rows, or not to be watched
        self._last = b""
        self._newest: Drawn | None = None
        self._lock = threading.Lock()

    def follow(self, engine: Watched, now: Snapshot) -> None:
        """A view is about to be displayed: send `now`, then every change, until views say that none is seen."""
        with self._lock:
            live = self._engine is engine and self._asked is not None
            if self._engine is not engine:
                self._engine, self._asked = engine, None
            self._views = {_EXPECTED: 0, **self._views}
        if not live:  # while the engine's thread publishes, nobody else does
            self._publish(drawn.of_snapshot(now))
        self._watch()

    def seen(self, view: str, rows: int) -> None:
        """A view is on the screen, and wants so many rows of tasks."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views[view] = rows
        self._watch()

    def hidden(self, view: str) -> None:
        """A view is out of sight, or gone."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views.pop(view, None)
        self._watch()

    def _watch(self) -> None:
        """Ask the engine for what the visible views want, if that is something else than before."""
        with self._lock:
            engine = self._engine
            rows = max(self._views.values(), default=None)
            if engine is None or rows == self._asked:
                return
            self._asked = rows
            if rows is None:  # inside the lock: two views must not overtake each other
                engine.watch(None)
            else:
                engine.watch(self._came, metrics=True, rows=rows)

    def _came(self, snapshot: Snapshot | None) -> None:
        """The engine's thread: a new picture, or the end."""
        if snapshot is not None:
            self._keep(snapshot)
            self._publish(drawn.of_snapshot(snapshot))
            return
        self._engine = self._asked = None
        if self._newest is not None:
            self._newest.ended = True
            self._publish(self._newest)

    def _publish(self, picture: Drawn) -> None:
        look = picture if drawn.is_busy(picture) else drawn.without_metrics(picture)
        key = drawn.difference_key(look)
        if key != self._last:
            self._last = key
            self._newest = picture
            self._send(drawn.to_json(picture))
