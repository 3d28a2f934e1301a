"""The functions and classes that clients have exported, as bytes: workers get each with the first task that needs it.

```
  DefineFunction ──► kept, and what it has captured is pinned
  ReleasesCode, or the client's end ──► nobody has it ── no living task names it ──► forgotten here and in workers
  something may still name it ──► looked for again, more and more rarely
```
Looking costs a walk over the living tasks, once for all functions that were released; a task itself costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.scheduling.terms import Terms

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 30.0  # between two looks at who names what was released
SHARE = 0.05  # of the time that looking may take: a walk over a million waiting tasks takes 0.36 s


class FunctionRecord(msgspec.Struct):
    """One function or class. `holders`: the clients that have a remote function or actor class with this code."""

    message: wire.DefineFunction
    pinned: list[bytes]  # the objects and actors to which it refers, as far as they were there
    holders: set[int]


class Functions:
    """The code of all functions and classes, by key. `timers` is None where looking waits for nothing."""

    def __init__(
        self, objects: ObjectTables, peers: Mapping[int, Peer], send: Send, timers: LoopTimers | None = None
    ) -> None:
        self._objects = objects
        self._peers = peers
        self._send = send
        self._timers = timers
        self.named_by: list[Callable[[], Iterable[Terms]]] = []  # the terms of all that may still run
        self.on_forgotten: Callable[[list[bytes]], object] = self._forget_in_workers
        self._by_key: dict[bytes, FunctionRecord] = {}
        self._of_client: dict[int, set[bytes]] = {}
        self._released: set[bytes] = set()  # held by no client
        self._is_timed = False
        self._not_before = 0.0
        self._pause_s = FIRST_PAUSE_S

    def define(self, peer: Peer, message: wire.DefineFunction) -> None:
        record = self._by_key.get(message.key)
        if record is None:
            pinned = [id for id in message.refs if id in self._objects.records]
            ledger.pin(self._objects, pinned)
            record = self._by_key[message.key] = FunctionRecord(message, pinned, set())
        record.holders.add(peer.client_id)
        self._of_client.setdefault(peer.client_id, set()).add(message.key)
        self._released.discard(message.key)

    def teach(self, peer: Peer, terms: Terms) -> None:
        """Send the terms and their functions to a worker that does not know them."""
        if terms.number in peer.defined:
            return
        for key in terms.functions:
            if key not in peer.functions:
                peer.functions.add(key)
                peer.out.append(self._by_key[key].message)
        peer.defined.add(terms.number)
        peer.out.append(wire.DefineTemplate(terms.number, terms))

    def captured(self, terms: Terms) -> list[bytes]:
        """The objects and actors to which the functions of these terms refer."""
        return [id for key in terms.functions if key in self._by_key for id in self._by_key[key].pinned]

    # ---- the end of a function

    def released(self, peer: Peer, message: wire.ReleasesCode) -> None:
        """A client has no remote function or actor class with this code any more."""
        self._release(peer.client_id, message.keys)

    def client_gone(self, client_id: int) -> None:
        """A driver or worker has ended."""
        self._release(client_id, list(self._of_client.pop(client_id, ())))

    def _release(self, client_id: int, keys: list[bytes]) -> None:
        for key in keys:
            self._of_client.get(client_id, set()).discard(key)
            record = self._by_key.get(key)
            if record is not None:
                record.holders.discard(client_id)
                if not record.holders:
                    self._released.add(key)
                    self._pause_s = FIRST_PAUSE_S
        self.look_soon()

    def look_soon(self) -> None:
        """Look whether something still names what was released."""
        if not self._released or self._is_timed:
            return
        if self._timers is None:
            self.look()
            return
        self._is_timed = True
        self._timers.at(max(self._timers.now(), self._not_before), self._look_in_time)

    def _look_in_time(self) -> None:
        assert self._timers is not None
        self._is_timed = False
        began = self._timers.now()
        self.look()
        took_s = self._timers.now() - began
        self._not_before = began + max(self._pause_s, took_s / SHARE)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        self.look_soon()

    def look(self) -> None:
        """Forget what was released and nothing names."""
        gone = set(self._released)
        for named in self.named_by:
            for terms in named():
                gone.difference_update(terms.functions)
        if gone:
            self._forget(list(gone))

    def _forget(self, keys: list[bytes]) -> None:
        self._released.difference_update(keys)
        self.on_forgotten(keys)
        for key in keys:
            ledger.unpin_later(self._objects, self._by_key.pop(key).pinned)

    def _forget_in_workers(self, keys: list[bytes]) -> None:
        for peer in self._peers.values():
            known = peer.functions.intersection(keys)
            if known:
                peer.functions -= known
                peer.defined.clear()  # templates that name them among others: they are few, and are sent again
                self._send(peer, wire.ForgetFunctions(list(known)))
