"""Shows a run to all viewers: publishes its snapshot, and draws it under its cell, after each change.

```
  the run's thread ──► RunFacts ──► snapshot_of ──┬── publish("run", …) ──► snapshots of the cluster
                                                  └── sinks.run ──► the card of the cell, or a line in a terminal
```
At most SNAPSHOTS_PER_S snapshots leave; the first and the last always do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from nbaccel import api, exceptions
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.retention import Kept
from nbaccel.train.run_facts import RunFacts, snapshot_of
from nbaccel.views import sinks
from nbaccel.views.record_book import nobody_asked
from nbaccel.views.run_snapshot import KIND, RunSnapshot

SNAPSHOTS_PER_S = 4
MOST_ENDED = 4  # runs of this process that views still show when they have ended
_ended: list[str] = []  # their ids, oldest first


class Live:
    """The views of one run, for the run's thread. `asked` is called in another thread with a request such as "stop"."""

    def __init__(
        self,
        facts: RunFacts,
        kept: Callable[[], Sequence[Kept]],
        config: CheckpointConfig,
        asked: Callable[[str], object] = lambda what: None,
    ) -> None:
        self.facts = facts
        self.due: float | None = None  # on the monotonic clock: when to show the changes
        self._kept = kept
        self._config = config
        self._asked = asked
        self._last = b""
        self._shown_at = float("-inf")

    def snapshot(self) -> RunSnapshot:
        """The current snapshot, for any thread; it may show a report that is only half noted."""
        return snapshot_of(self.facts, list(self._kept()), self._config)

    def changed(self) -> None:
        """Show the run soon, because something has happened."""
        if self.due is None:
            self.due = max(time.monotonic(), self._shown_at + 1 / SNAPSHOTS_PER_S)

    def show_if_due(self) -> None:
        if self.due is not None and time.monotonic() >= self.due:
            self.show()

    def show(self) -> None:
        """Show the current snapshot, if it differs from the last one."""
        self.due = None
        snapshot = self.snapshot()
        encoded = msgspec.json.encode(snapshot)
        if encoded == self._last:
            return
        self._last, self._shown_at = encoded, time.monotonic()
        sinks.installed.run(snapshot)
        try:
            api.publish(KIND, snapshot.id, msgspec.to_builtins(snapshot), self._asked)
        except exceptions.RayError:
            pass  # the cluster has ended, of which the run learns in another way

    def end(self, how: str, why: str) -> None:
        """Show how the run ended, while this process lives and few other runs have ended since."""
        self._asked = nobody_asked  # a published record keeps whom it asks
        self.facts.ended(how, why, time.time())
        self.show()
        _ended.append(self.facts.id)
        while len(_ended) > MOST_ENDED:
            try:
                api.publish(KIND, _ended.pop(0), None)
            except exceptions.RayError:
                pass  # the cluster has ended, and its snapshots with it
