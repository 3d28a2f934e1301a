"""The values of objects that this process knows, its refs to them, and the threads that wait for values.

```
  head ── ObjectValue / ObjectReady ──► reader thread ──► values, ready ──► waiters' callbacks
  get ── arrived? ── payload(id) ──► bytes, or a range of the arena, which is mapped when it is read
```
The head counts a mapper for each value of the arena that it sends; the end of the range, and so of every mapping of it,
gives the count back. It keeps one bit for each process and object: a first ref sends `AddRef`, the end of the last one
`DropRef`, in the order in which they happened.

A ref or a range may end at any moment, in any thread, and Ctrl-C may come just then. Its end is therefore one step into
which no interrupt can come: it puts an id into the link's queue. Only the nudge for the writer may be lost.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.memory import Range


class _Mark(weakref.ref[Range]):
    """A range that may have ended, by the id of its object."""

    __slots__ = ("id",)
    id: bytes


class RangeEnds:
    """Tells the head of them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._marks: set[_Mark] = set()
        link.when_ended[_Mark] = self._send

    def watch(self, range: Range) -> None:
        """Tell the head when this range ends."""
        mark = _Mark(range, self._link.ended.put)
        mark.id = range.id
        self._marks.add(mark)
        self._link.nudge_at_end_of(range)

    def _send(self, ended: list[_Mark]) -> None:
        self._marks.difference_update(ended)
        self._link._outbox.append(wire.Unmapped([mark.id for mark in ended]))


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
                self._link.send_later(wire.DropRef([id]))

    def received(self, id: bytes) -> None:
        """Count a ref from another process, and tell the head if it is the first ref to its object here."""
        with self._lock:
            count = self._counts.get(id, 0)
            self._counts[id] = count + 1
            if count == 0:
                self._link.send(wire.AddRef([id]))

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


Callback = Callable[[bytes], None]


class Values:
    """The object table of one process."""

    def __init__(self, link: Link, references: ReferenceCounts, arena_fd: int) -> None:
        self._link = link
        self._references = references
        self._arena_fd = arena_fd
        self._lock = threading.Lock()
        self._known: dict[bytes, wire.Value] = {}  # inline ones
        self._arrived: dict[bytes, Range] = {}  # for a get that has not taken them yet
        self._ready: set[bytes] = set()  # there, but only in the arena: to be asked for
        self._coming: set[bytes] = set()  # the head sends these by itself: results of tasks submitted here
        self._asked: set[bytes] = set()
        self._asked_ready: set[bytes] = set()
        self._for_value: dict[bytes, list[Callback]] = {}
        self._for_ready: dict[bytes, list[Callback]] = {}
        self._lost: wire.Value | None = None  # the head has gone: the error of every wait
        self.others_wait: Callable[[], None] | None = None  # called before somebody is noted who is to be called
        self._raised: set[bytes] = set()  # stored in the arena, and an error
        self._ranges: weakref.WeakValueDictionary[bytes, Range] = weakref.WeakValueDictionary()
        self._range_ends = RangeEnds(link)
        references.on_released = self._released
        link.receivers[wire.ObjectValue] = self._value_came
        link.receivers[wire.ObjectValues] = self._values_came
        link.receivers[wire.ObjectReady] = self._ready_came

    def expect(self, ids: Iterable[bytes]) -> None:
        """Expect the results of a task submitted here: the head sends them without a request."""
        self._coming.update(ids)

    def expect_one(self, id: bytes) -> bool:
        """The same for one result. Returns whether no other is expected: then somebody will wait for this one."""
        coming = self._coming
        coming.add(id)
        return len(coming) == 1

    def expects_only_one(self) -> bool:
        """Whether no other result is expected: then somebody will wait for this one."""
        return len(self._coming) == 1

    def are_coming(self, ids: list[bytes]) -> bool:
        """Whether one of them is an expected result that has not arrived."""
        return not self._coming.isdisjoint(ids)

    def know(self, id: bytes, value: wire.Value) -> None:
        """Add a value made here."""
        if value.data is not None:
            self._known[id] = value
        else:
            self._ready.add(id)

    def know_all(self, values: dict[bytes, wire.Value]) -> None:
        """Add values of which nobody here has known before."""
        if any(value.data is None for value in values.values()):
            for id, value in values.items():
                self.know(id, value)
        else:
            self._known.update(values)

    def has_large(self) -> bool:
        """Whether this process knows of values in the arena: the end of a ref may then free much."""
        return bool(self._ready or self._ranges)

    def is_awaited(self, id: bytes) -> bool:
        """Whether somebody is to be called when this one is there."""
        return id in self._for_value or id in self._for_ready

    def note(self, id: bytes, value: wire.Value) -> None:
        """Know a value before `_value_came` is called with it."""
        self._known[id] = value
        self._coming.discard(id)

    def note_all(self, results: list[tuple[bytes, wire.Value]]) -> None:
        """Know small values before `all_came` is called with them."""
        self._known.update(results)

    def known_here(self, id: bytes) -> wire.Value | None:
        """A small value that is in this process."""
        return self._known.get(id)

    def forget(self, id: bytes) -> None:
        """Forget a value that has come for nobody."""
        self._known.pop(id, None)

    def is_changing(self) -> bool:
        """Whether code that must not be entered twice is under way."""
        return self._lock.locked()

    # ---- waiting

    def when_known(self, ids: list[bytes], callback: Callback) -> int:
        """Call back once for each of the ids whose value is not here yet. Returns their number."""
        ask: list[bytes] = []
        missing = 0
        if self.others_wait is not None:
            self.others_wait()
        with self._lock:
            for id in ids:
                if id in self._known or id in self._ranges:
                    continue
                if self._lost is not None:
                    self._known[id] = self._lost
                    continue
                missing += 1
                self._for_value.setdefault(id, []).append(callback)
                if id not in self._coming and id not in self._asked:
                    ask.append(id)
        if ask:
            self._link.send_at_once(wire.Want(ask))
            self._note_asked(ask, self._for_value, self._asked)
        return missing

    def _note_asked(self, ids: list[bytes], waiting: dict[bytes, list[Callback]], asked: set[bytes]) -> None:
        """Note that these values were asked for; after an interrupt before this, the next waiter asks again."""
        with self._lock:
            asked.update(id for id in ids if id in waiting)

    def first_ready(self, ids: list[bytes], most: int) -> list[bytes]:
        """The first of the ids that are ready, at most `most`. Stops searching as soon as possible."""
        there: list[bytes] = []
        with self._lock:
            for id in ids:
                if self._is_ready(id):
                    there.append(id)
                    if len(there) == most:
                        break
        return there

    def _is_ready(self, id: bytes) -> bool:
        return id in self._known or id in self._ready or id in self._ranges or self._lost is not None

    def when_ready(self, ids: list[bytes], callback: Callback) -> list[bytes]:
        """Call back once for each of the ids that is not ready yet. Returns the ready ones."""
        ask: list[bytes] = []
        there: list[bytes] = []
        if self.others_wait is not None:
            self.others_wait()
        with self._lock:
            for id in ids:
                if self._is_ready(id):
                    there.append(id)
                    continue
                self._for_ready.setdefault(id, []).append(callback)
                if id not in self._coming and id not in self._asked and id not in self._asked_ready:
                    ask.append(id)
        if ask:
            self._link.send(wire.WantReady(ask))
            self._note_asked(ask, self._for_ready, self._asked_ready)
        return there

    def forget_callback(self, ids: list[bytes], callback: Callback) -> None:
        """Forget a waiter that timed out or was interrupted."""
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
            if callbacks or self._references.holds(id):
                self._keep(id, message.value)
            elif message.value.data is None:
                self._link.send_later(wire.Unmapped([id]))
        for callback in callbacks:
            callback(id)
        for callback in waiting or ():
            callback(id)

    def _values_came(self, message: wire.ObjectValues) -> None:
        ids = message.object_ids
        called: list[tuple[Callback, bytes]] = []
        with self._lock:
            for there in (self._coming, self._asked, self._asked_ready, self._ready):
                there.difference_update(ids)
            held = self._references.held(ids)
            for id, data in zip(ids, message.data, strict=True):
                callbacks = self._for_value.pop(id, ())
                if callbacks or id in held:
                    self._known[id] = wire.Value(wire.OK, data)
                called += [(callback, id) for callback in (*callbacks, *self._for_ready.pop(id, ()))]
        for callback, id in called:
            callback(id)

    def all_came(self, ids: list[bytes]) -> None:
        """Small values that `note_all` has noted have come from an actor, for whoever waits or has a ref."""
        called: list[tuple[Callback, bytes]] = []
        with self._lock:
            self._coming.difference_update(ids)
            for waiting in (self._for_value, self._for_ready):
                if waiting:
                    called += [(callback, id) for id in ids for callback in waiting.pop(id, ())]
        for callback, id in called:
            callback(id)
        for id in self._references.not_held(ids):
            self._known.pop(id, None)

    def _keep(self, id: bytes, value: wire.Value) -> None:
        if value.data is not None:
            self._known[id] = value
        elif id in self._ranges:
            self._link.send_later(wire.Unmapped([id]))  # asked for twice, counted twice
        else:
            self._arrived[id] = self._range(id, value)

    def _ready_came(self, message: wire.ObjectReady) -> None:
        ask = []
        called: list[tuple[Callback, bytes]] = []
        with self._lock:
            for id in message.object_ids:
                self._coming.discard(id)
                self._asked_ready.discard(id)
                if self._references.holds(id):
                    self._ready.add(id)
                if id in self._for_value and id not in self._asked:
                    self._asked.add(id)
                    ask.append(id)
                called += [(callback, id) for callback in self._for_ready.pop(id, ())]
        if ask:
            self._link.send(wire.Want(ask))
        for callback, id in called:
            callback(id)

    def _released(self, ids: list[bytes]) -> None:
        """Forget values whose last refs are gone."""
        dropped: list[Range | None] = []
        with self._lock:
            for id in ids:
                self._known.pop(id, None)
            for of in (self._coming, self._ready, self._raised):
                if of:
                    of.difference_update(ids)
            if self._arrived:
                dropped = [self._arrived.pop(id, None) for id in ids]
        del dropped  # only now: the end of a range says something

    # ---- payloads

    def were_requested(self, ids: list[bytes]) -> None:
        """Note that code asked for these objects: their errors, even later ones, count as read."""
        self._link.send_later(wire.ValuesRequested(ids))

    def is_error(self, id: bytes) -> bool:
        """Whether a value is here and is an error."""
        value = self._known.get(id)
        return id in self._raised if value is None else value.status != wire.OK

    def payload(self, id: bytes) -> tuple[int, Any] | None:
        """(status, bytes or a Range) of a value that is here; None when it has to be asked for again."""
        value = self._known.get(id)
        if value is not None:
            if value.status != wire.OK:
                self.were_requested([id])
            return value.status, value.data
        with self._lock:
            range = self._ranges.get(id)
            if range is None:
                return None
            self._ready.add(id)
            self._arrived.pop(id, None)  # from here on it lives as long as the objects made from it
            return (wire.RAISED if id in self._raised else wire.OK), range

    def payload_of(self, id: bytes, value: wire.Value) -> tuple[int, Any]:
        """The payload of a value that came with a task."""
        if value.data is not None:
            return value.status, value.data
        with self._lock:
            range = self._ranges.get(id)
            if range is None:
                return value.status, self._range(id, value)
        self._link.send_later(wire.Unmapped([id]))  # the head counted us twice
        return value.status, range

    def _range(self, id: bytes, value: wire.Value) -> Range:
        range = Range(self._arena_fd, id, value.offset, value.size)
        self._range_ends.watch(range)
        self._ranges[id] = range
        if value.status != wire.OK:
            self._raised.add(id)
        return range

    def lose_all(self, failure: wire.Value) -> None:
        """End every wait with this error, because the head is gone."""
        with self._lock:
            self._lost = failure
            waiting = [*self._for_value.items(), *self._for_ready.items()]
            for id, _callbacks in waiting:
                self._known[id] = failure
            self._for_value = {}
            self._for_ready = {}
        for id, callbacks in waiting:
            for callback in callbacks:
                callback(id)
