"""What components of a head are given in tests: a clock that jumps, peers without processes, helpers that are we."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbaccel.local_engine.head.connections import Peer


class Clock:
    """`Timers` that a test turns by hand."""

    def __init__(self) -> None:
        self._now = 100.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    def at(self, when: float, call: Callable[[], None]) -> None:
        self._timers.append((when, next(self._order), call))

    def after(self, pause_s: float, call: Callable[[], None]) -> None:
        self.at(self._now + pause_s, call)

    def jump(self, seconds: float = 0.0) -> None:
        """Let so much time pass, and call what is due in its order."""
        end = self._now + seconds
        while due := sorted((timer for timer in self._timers if timer[0] <= end), key=lambda timer: timer[:2]):
            self._timers.remove(due[0])
            self._now = max(self._now, due[0][0])
            due[0][2]()
        self._now = end

    def stand_still(self, seconds: float) -> None:
        """The whole machine stands still for so long: what was due meanwhile is called once, and late."""
        self._now += seconds
        self.jump()


class MadeHelper:
    """A helper process that never runs; `said` is what it would have been told."""

    def __init__(self, on_report: Callable[[Any], None]) -> None:
        self.said: list[bytes] = []
        self.report = on_report
        self.on_restart: Callable[[], None] | None = None
        self.is_alive = False

    def send(self, body: bytes, fds: tuple[int, ...] = ()) -> None:
        self.is_alive = True
        self.said.append(body)

    def close(self) -> None:
        self.is_alive = False


class MadeHelpers:
    """`Helpers` that starts no process."""

    def __init__(self) -> None:
        self.by_name: dict[str, MadeHelper] = {}

    def make(
        self, name: str, argument: str, *, decode: Callable[[bytes], Any], on_report: Callable[[Any], None]
    ) -> MadeHelper:
        self.by_name[name] = MadeHelper(on_report)
        return self.by_name[name]


class Outbox:
    """Peers, and what each of them was sent."""

    def __init__(self) -> None:
        self.peers: dict[int, Peer] = {}
        self._sent: dict[int, list[Any]] = {}

    def add(self, client_id: int, role: str = "driver") -> Peer:
        ours, theirs = socket.socketpair()
        theirs.close()
        peer = self.peers[client_id] = Peer(ours, role, client_id)
        return peer

    def send(self, peer: Peer, message: Any) -> None:
        self._sent.setdefault(peer.client_id, []).append(message)

    def taken(self, client_id: int) -> list[Any]:
        """What this peer was sent since the last look."""
        return self._sent.pop(client_id, [])

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close()


@contextmanager
def outbox() -> Iterator[Outbox]:
    made = Outbox()
    try:
        yield made
    finally:
        made.close()
