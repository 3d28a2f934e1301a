"""Shows a run to all viewers: publishes its picture, and draws it under its cell, when it has changed.

```
  the run's thread ──► RunFacts ──► draw ──┬── publish("run", …) ──► pictures of the cluster
                                           └── sinks.run ──► the card of the cell, or a line in a terminal
```
At most PICTURES_PER_S pictures leave; the first and the last always do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from nbaccel import api, exceptions
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.picture import RunFacts, draw
from nbaccel.train.retention import Kept
from nbaccel.views import sinks
from nbaccel.views.run_snapshot import KIND, RunSnapshot

PICTURES_PER_S = 4
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

    def picture(self) -> RunSnapshot:
        """The current picture, for any thread; it may show a report that is only half noted."""
        return draw(self.facts, list(self._kept()), self._config)

    def changed(self) -> None:
        """Show the run soon, because something has happened."""
        if self.due is None:
            self.due = max(time.monotonic(), self._shown_at + 1 / PICTURES_PER_S)

    def show_if_due(self) -> None:
        if self.due is not None and time.monotonic() >= self.due:
            self.show()

    def show(self) -> None:
        """Show the current picture, if it differs from the last one."""
        self.due = None
        picture = self.picture()
        encoded = msgspec.json.encode(picture)
        if encoded == self._last:
            return
        self._last, self._shown_at = encoded, time.monotonic()
        sinks.installed.run(picture)
        try:
            api.publish(KIND, picture.id, msgspec.to_builtins(picture), self._asked)
        except exceptions.RayError:
            pass  # the cluster has ended, of which the run learns in another way

    def end(self, how: str, why: str) -> None:
        """Show how the run ended, while this process lives and few other runs have ended since."""
        self.facts.ended(how, why, time.time())
        self.show()
        _ended.append(self.facts.id)
        while len(_ended) > MOST_ENDED:
            try:
                api.publish(KIND, _ended.pop(0), None)
            except exceptions.RayError:
                pass  # the cluster has ended, and its pictures with it
