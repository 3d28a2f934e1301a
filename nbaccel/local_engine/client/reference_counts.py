"""Counts this process's refs to each object, and tells the head what it needs to know.

The head keeps one bit for each process and object. A first ref sends `AddRef`, the end of the last one `DropRef`; both
go through the same outbox in the order in which they happened. The end of a ref only puts its id into the link's queue:
it may come at any moment, in any thread, even inside the code below.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link


class ReferenceCounts:
    """The ref counts of one process."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._counts: dict[bytes, int] = {}
        self.gone: Callable[[bytes], None] = link.ended.put  # a ref has ended; a builtin, so that none is missed
        self._lock = threading.Lock()
        self._private: set[bytes] = set()  # objects of which the head does not know
        self.before_release: Callable[[list[bytes]], None] | None = None  # called with what the head will hear of
        self.on_released: Callable[[list[bytes]], None] | None = None
        link.when_ended[bytes] = self._count

    def created(self, id: bytes) -> None:
        """Count a ref to an object made here: the head knows of it from the message that made it."""
        with self._lock:
            self._counts[id] = self._counts.get(id, 0) + 1

    def created_all(self, ids: list[bytes]) -> None:
        """The same for several objects."""
        with self._lock:
            counts = self._counts
            for id in ids:
                counts[id] = counts.get(id, 0) + 1

    def created_privately(self, id: bytes) -> None:
        """Count the first ref to a new object of which the head does not know, until `publish`.

        Nobody else has its id yet, so each of the two steps needs no lock.
        """
        self._private.add(id)
        self._counts[id] = 1

    def is_private(self, id: bytes) -> bool:
        return id in self._private

    def publish(self, id: bytes) -> None:
        """The head knows of this object, and believes that it is held here."""
        with self._lock:
            self._private.discard(id)
            if id not in self._counts:
                self._link.say_later(wire.DropRef([id]))

    def received(self, id: bytes) -> None:
        """Count a ref from another process, and tell the head if it is the first ref to its object here."""
        with self._lock:
            count = self._counts.get(id, 0)
            self._counts[id] = count + 1
            if count == 0:
                self._link.say(wire.AddRef([id]))

    def keep(self, ids: list[bytes]) -> list[bytes]:
        """Count one more ref, until `gone`, to each of these objects that has a ref here. Returns those objects."""
        with self._lock:
            kept = [id for id in ids if id in self._counts]
            for id in kept:
                self._counts[id] += 1
        return kept

    def _count(self, gone: list[bytes]) -> None:
        """Refs have ended; the writer calls this before it writes."""
        released: list[bytes] = []
        private: list[bytes] = []
        with self._lock:
            counts = self._counts
            for id in gone:
                left = counts.get(id, 0) - 1
                if left > 0:
                    counts[id] = left
                elif left == 0:
                    del counts[id]
                    if id in self._private:
                        self._private.discard(id)
                        private.append(id)
                    else:
                        released.append(id)
            if released:
                if self.before_release is not None:
                    self.before_release(released)
                self._link._outbox.append(wire.DropRef(released))
        if (released or private) and self.on_released is not None:
            self.on_released(released + private)

    def is_changing(self) -> bool:
        """Whether code that must not be entered twice is under way."""
        return self._lock.locked()

    def holds(self, id: bytes) -> bool:
        return id in self._counts

    def held(self, ids: list[bytes]) -> set[bytes]:
        """Those of the ids that have a ref here."""
        return self._counts.keys() & ids

    def not_held(self, ids: Iterable[bytes]) -> list[bytes]:
        """Those of the ids to which there is no ref here."""
        counts = self._counts
        return [id for id in ids if id not in counts]

    def counts(self) -> dict[bytes, int]:
        """A copy, for tests and for `nbaccel.util.state`."""
        with self._lock:
            return dict(self._counts)
