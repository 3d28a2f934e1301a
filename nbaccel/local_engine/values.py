"""What this process knows of objects' values, who waits for which, and its mappings of the arena.

```
  head ── ObjectValue / ObjectReady ──► reader thread ──► values, ready ──► waiters' callbacks
  get ── arrived? ── payload(id) ──► bytes, or a read-only mapping of the arena (shared while anyone uses it)
```
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.arena import pages
from nbaccel.local_engine.holdings import Holdings
from nbaccel.local_engine.link import Link

Callback = Callable[[bytes], None]


class Values:
    """The object table of one process."""

    def __init__(self, link: Link, holdings: Holdings, arena_fd: int) -> None:
        self._link = link
        self._holdings = holdings
        self._arena_fd = arena_fd
        self._lock = threading.Lock()
        self._known: dict[bytes, wire.Value] = {}
        self._ready: set[bytes] = set()  # there, but only in the arena: to be asked for
        self._coming: set[bytes] = set()  # the head will say so by itself: results of tasks submitted here
        self._asked: set[bytes] = set()
        self._asked_ready: set[bytes] = set()
        self._for_value: dict[bytes, list[Callback]] = {}
        self._for_ready: dict[bytes, list[Callback]] = {}
        self._raised: set[bytes] = set()  # stored in the arena, and an error
        self._mappings: weakref.WeakValueDictionary[bytes, mmap.mmap] = weakref.WeakValueDictionary()
        holdings.on_released = self._released
        link.receivers[wire.ObjectValue] = self._value_came
        link.receivers[wire.ObjectReady] = self._ready_came

    def expect(self, ids: Iterable[bytes]) -> None:
        """Results of a task submitted here: the head pushes them."""
        self._coming.update(ids)

    def know(self, id: bytes, value: wire.Value) -> None:
        """A value made here."""
        if value.data is not None:
            self._known[id] = value
        else:
            self._ready.add(id)

    # ---- waiting

    def when_known(self, ids: list[bytes], callback: Callback) -> int:
        """Call back once for each of the ids whose value is not here yet; return how many those are."""
        ask: list[bytes] = []
        missing = 0
        with self._lock:
            for id in ids:
                if id in self._known or id in self._mappings:
                    continue
                missing += 1
                self._for_value.setdefault(id, []).append(callback)
                if id not in self._coming and id not in self._asked:
                    self._asked.add(id)
                    ask.append(id)
        if ask:
            self._link.say(wire.Want(ask))
        return missing

    def when_ready(self, ids: list[bytes], callback: Callback) -> list[bytes]:
        """Call back once for each of the ids that is not there yet; return those that are."""
        ask: list[bytes] = []
        there: list[bytes] = []
        with self._lock:
            for id in ids:
                if id in self._known or id in self._ready or id in self._mappings:
                    there.append(id)
                    continue
                self._for_ready.setdefault(id, []).append(callback)
                if id not in self._coming and id not in self._asked and id not in self._asked_ready:
                    self._asked_ready.add(id)
                    ask.append(id)
        if ask:
            self._link.say(wire.WantReady(ask))
        return there

    def forget_callback(self, ids: list[bytes], callback: Callback) -> None:
        """The waiter has gone: it timed out or was interrupted."""
        with self._lock:
            for id in ids:
                for table in (self._for_value, self._for_ready):
                    callbacks = table.get(id)
                    if callbacks is not None and callback in callbacks:
                        callbacks.remove(callback)
                        if not callbacks:
                            del table[id]

    # ---- the reader thread

    def _value_came(self, message: wire.ObjectValue) -> None:
        id = message.object_id
        with self._lock:
            self._coming.discard(id)
            self._asked.discard(id)
            self._asked_ready.discard(id)
            self._ready.discard(id)
            callbacks = self._for_value.pop(id, [])
            waiting = self._for_ready.pop(id, None)
            if callbacks or self._holdings.holds(id):
                self._known[id] = message.value
            elif message.value.data is None:
                self._link.say_later(wire.Unmapped([id]))
        for callback in callbacks:
            callback(id)
        for callback in waiting or ():
            callback(id)

    def _ready_came(self, message: wire.ObjectReady) -> None:
        ask = []
        called: list[tuple[Callback, bytes]] = []
        with self._lock:
            for id in message.object_ids:
                self._coming.discard(id)
                self._asked_ready.discard(id)
                if self._holdings.holds(id):
                    self._ready.add(id)
                if id in self._for_value and id not in self._asked:
                    self._asked.add(id)
                    ask.append(id)
                called += [(callback, id) for callback in self._for_ready.pop(id, ())]
        if ask:
            self._link.say(wire.Want(ask))
        for callback, id in called:
            callback(id)

    def _released(self, ids: list[bytes]) -> None:
        """The last refs went: drop what we know."""
        unmapped = []
        with self._lock:
            for id in ids:
                value = self._known.pop(id, None)
                if value is not None and value.data is None:
                    unmapped.append(id)
                self._coming.discard(id)
                self._ready.discard(id)
        if unmapped:
            self._link._outbox.append(wire.Unmapped(unmapped))

    # ---- payloads

    def payload(self, id: bytes) -> tuple[int, Any] | None:
        """(status, bytes or a mapping) of a value that is here; None when it has to be asked for again."""
        value = self._known.get(id)
        if value is not None and value.data is not None:
            return value.status, value.data
        with self._lock:
            mapping = self._mappings.get(id)
            if mapping is not None:
                return (wire.RAISED if id in self._raised else wire.OK), mapping
            value = self._known.pop(id, None)
            if value is None:
                return None
            if value.data is not None:
                self._known[id] = value
                return value.status, value.data
            self._ready.add(id)
            return value.status, self._map(id, value)

    def payload_of(self, id: bytes, value: wire.Value) -> tuple[int, Any]:
        """The payload of a value that came with a task."""
        if value.data is not None:
            return value.status, value.data
        with self._lock:
            mapping = self._mappings.get(id)
            if mapping is None:
                return value.status, self._map(id, value)
        self._link.say_later(wire.Unmapped([id]))  # the head counted a mapping that we do not need
        return value.status, mapping

    def _map(self, id: bytes, value: wire.Value) -> Any:
        mapping = mmap.mmap(
            self._arena_fd, pages(value.size), flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=value.offset
        )
        weakref.finalize(mapping, self._link.say_later, wire.Unmapped([id])).atexit = False
        self._mappings[id] = mapping
        if value.status != wire.OK:
            self._raised.add(id)
        return mapping

    def lose_all(self, failure: wire.Value) -> None:
        """The head is gone: every wait ends with this error."""
        with self._lock:
            waiting = [*self._for_value.items(), *self._for_ready.items()]
            for id, _callbacks in waiting:
                self._known[id] = failure
            self._for_value = {}
            self._for_ready = {}
        for id, callbacks in waiting:
            for callback in callbacks:
                callback(id)
