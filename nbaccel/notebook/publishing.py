"""Decides when a snapshot is sent to the pages: only while a view is visible, and only if the snapshot looks different.

```
  a page's view ── visible | hidden ──► Publisher ── watch, with as many rows as the views want ──► engine
  engine's news thread ── snapshot ──► Publisher ── JSON, if it shows anything new ──► the widget's trait
```
Messages of a widget count as activity of its kernel, and a hub stops idle kernels. A quiet cluster therefore sends
nothing, and other programs' use of its devices is no reason to send while nothing of this cluster runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol

from nbaccel.notebook import drawn
from nbaccel.notebook.drawn import Drawn, DrawnRows
from nbaccel.views.snapshot import OnSnapshot, Snapshot

_EXPECTED = "(expected)"  # a view that was displayed and has not answered yet


class Watched(Protocol):
    """The part of an engine that publishing needs."""

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0) -> None: ...


class Publisher:
    """Decides what is sent. `send` is called by the engine's thread alone while it watches, and so are `keep`, with
    every snapshot that comes, and `ended`, when no more will come.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        keep: Callable[[Snapshot], object] = lambda snapshot: None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        self._send = send
        self._keep = keep
        self._ended = ended
        self._engine: Watched | None = None
        self._views: dict[str, int] = {}  # visible views -> rows of tasks that each wants
        self._asked: int | None = None  # the number of rows asked of the engine; None if it is not watched
        self._last = b""
        self._rows, self._writer = DrawnRows(), drawn.SnapshotWriter()
        self._newest: Drawn | None = None
        self._lock = threading.Lock()
        self._sending = threading.Lock()  # keeps snapshots in the order in which they were taken

    def follow(self, engine: Watched, now: Snapshot) -> None:
        """Send `now` and then every change, for a view that is about to be displayed, until no view is visible."""
        with self._lock:
            live = self._engine is engine and self._asked is not None
            if self._engine is not engine:
                self._engine, self._asked = engine, None
            self._views = {_EXPECTED: 0, **self._views}
        if not live:  # otherwise the engine's thread publishes
            with self._sending:
                self._publish(drawn.of_snapshot(now, self._rows))
        self._watch()

    def seen(self, view: str, rows: int) -> None:
        """Take note of a visible view and of the number of task rows that it wants."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views[view] = rows
        self._watch()

    def hidden(self, view: str) -> None:
        """Take note that a view is hidden or gone."""
        with self._lock:
            self._views.pop(_EXPECTED, None)
            self._views.pop(view, None)
        self._watch()

    def _watch(self) -> None:
        """Ask the engine for what the visible views want, if that has changed."""
        with self._lock:
            engine = self._engine
            rows = max(self._views.values(), default=None)
            if engine is None or rows == self._asked:
                return
            self._asked = rows
            if rows is None:  # inside the lock: requests for two views must not overtake each other
                engine.watch(None)
            else:
                engine.watch(partial(self._came, engine), metrics=True, rows=rows)

    def end(self, engine: Watched, last: Snapshot | None, *, died: bool = False) -> None:
        """Send the engine's last snapshot (`last`, or the newest one), even if no view is visible."""
        with self._sending:
            if self._engine is not engine:
                return
            self._engine = self._asked = None
            snapshot = drawn.of_snapshot(last, self._rows) if last is not None else self._newest
            if snapshot is not None:
                snapshot.ended, snapshot.died = True, died
                self._publish(snapshot)

    def _came(self, engine: Watched, snapshot: Snapshot | None) -> None:
        """Handle a new snapshot or the end; called in the engine's thread."""
        if snapshot is None:
            self.end(engine, None, died=True)
            self._ended()
            return
        self._keep(snapshot)
        with self._sending:
            if self._engine is engine:  # it may have ended since this snapshot was taken
                self._publish(drawn.of_snapshot(snapshot, self._rows))

    def _publish(self, snapshot: Drawn) -> None:
        look = snapshot if drawn.is_busy(snapshot) else drawn.without_metrics(snapshot)
        key = drawn.difference_key(look)
        if key != self._last:
            self._last = key
            self._newest = snapshot
            self._send(self._writer.json(snapshot))
