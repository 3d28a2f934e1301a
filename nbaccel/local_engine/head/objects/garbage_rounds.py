"""When the store fills up, all processes collect cycles: a ref that only a cycle keeps alive still keeps its object.

```
  store more than FILLED full ──► CollectGarbage to all drivers and workers, at most every PAUSE_S
  a store that cannot give room ──► the same at once; who asked waits until all have answered ──► spill, refuse
  work that waits for what actors hold ──► the same, for at most SHARE of the time
```
Python itself looks when many objects were made, and a notebook that holds three large ones has made few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views.question import Row

FILLED = 0.7  # of the store; as in Ray
PAUSE_S = 30.0  # between two looks, as in Ray: one at a large program's objects takes a second
SHARE = 0.05
PATIENCE_S = 2.0  # for the answers; a process that is busy in native code cannot look


class GarbageRounds:
    """When processes are asked to look, and which of them have."""

    def __init__(self, timers: LoopTimers, peers: Mapping[int, Peer], send: Send) -> None:
        self._timers = timers
        self._peers = peers
        self._send = send
        self.on_over: Callable[[], None] = lambda: None  # called when all have looked
        self._waiting: set[int] = set()  # clients that have not answered
        self._round = 0
        self._begun_at = -PAUSE_S
        self._took_s = 0.0  # the last round

    def filled(self, used: int, capacity: int) -> None:
        """So much of the store is taken, or asked for."""
        if used > FILLED * capacity and self._timers.now() - self._begun_at >= PAUSE_S:
            self._begin()

    def work_waits(self) -> None:
        """Work waits for what actors hold, whose last handles may be in cycles."""
        if not self._waiting and self._timers.now() - self._begun_at >= self._took_s / SHARE:
            self._begin()

    def is_awaited(self, asked_at: float) -> bool:
        """Whether a collection may still free space for a request of that time. Begins one if there was none since."""
        if self._begun_at < asked_at:
            self._begin()
        return bool(self._waiting)

    def _begin(self) -> None:
        self._begun_at = self._timers.now()
        self._round = number = self._round + 1
        asked = [peer for peer in self._peers.values() if peer.role == "driver" or _has_run(peer)]
        self._waiting = {peer.client_id for peer in asked}
        for peer in asked:
            self._send(peer, wire.CollectGarbage(number))
        self._wait(number, StallTimer(PATIENCE_S, self._begun_at, lambda: None))

    def _wait(self, number: int, quiet: StallTimer) -> None:
        """Give up who has not answered in time: a machine that stands still uses up none of it."""
        if number != self._round or not self._waiting:
            return
        if quiet.is_over(self._timers.now()):
            self._over(number)
        else:
            self._timers.after(LONGEST_LOOK_S, lambda: self._wait(number, quiet))

    def answered(self, client_id: int, number: int) -> None:
        """A process has collected for this round, and has reported its released refs before.

        What it has collected for an earlier round says nothing: it may have made more since.
        """
        if number == self._round:
            self.has_ended(client_id)

    def answer(self) -> Row[Peer]:
        """The row of what processes say when they have collected."""
        return asks.GarbageCollected.answered_by(lambda peer, asked: self.answered(peer.client_id, asked.number))

    def has_ended(self, client_id: int) -> None:
        """Nothing more is to be waited for from this process."""
        if client_id in self._waiting:
            self._waiting.discard(client_id)
            if not self._waiting:
                self._over(self._round)

    def _over(self, number: int) -> None:
        if number == self._round:
            self._waiting.clear()
            self._took_s = self._timers.now() - self._begun_at
            self.on_over()


def _has_run(peer: Peer) -> bool:
    return peer.role == "worker" and peer.worker is not None and bool(peer.worker.used)
