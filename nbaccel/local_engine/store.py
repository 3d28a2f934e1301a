"""Room for large objects: hands out offsets of the arena, and sends objects to disk and back when it is full."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from nbaccel.local_engine import mover, wire
from nbaccel.local_engine.arena import Arena
from nbaccel.local_engine.objects import Objects

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head
    from nbaccel.local_engine.peers import Peer

GIB = 1 << 30
Grant = Callable[[int, str], None]  # (offset or -1, why not)


class Store:
    """The arena of one head."""

    def __init__(self, head: Head, objects: Objects, capacity: int) -> None:
        self._head = head
        self._objects = objects
        self.arena = Arena(capacity)
        self._waiting: list[tuple[int, Grant]] = []
        self._spilling = 0
        self._returning: dict[bytes, list[Callable[[], None]]] = {}
        self._directory = os.path.join(head.config.directory, "spilled")
        self.granted: dict[int, int] = {}  # offset -> client that has not filled it yet
        self.spilled_bytes = 0

    def allocate(self, peer: Peer, request: int, size: int) -> None:
        """Answer with an offset, now or once something has been spilled."""

        def grant(offset: int, why: str) -> None:
            if offset >= 0:
                self.granted[offset] = peer.client_id
            self._head.send(peer, wire.Allocated(request, offset, why))

        self._take(size, grant)

    def _take(self, size: int, grant: Grant) -> None:
        if size > self.arena.capacity:
            grant(
                -1,
                f"An object of {size / GIB:.2f} GiB does not fit into the object store of "
                f"{self.arena.capacity / GIB:.2f} GiB. Start with a larger one: init(object_store_memory=…), in bytes.",
            )
            return
        offset = self.arena.take(size) if not self._waiting else None
        if offset is not None:
            grant(offset, "")
            return
        self._waiting.append((size, grant))
        self._make_room()

    def _make_room(self) -> None:
        """Spill until the first in line fits; refuse it when nothing can be spilled."""
        while self._waiting:
            size, grant = self._waiting[0]
            offset = self.arena.take(size)
            if offset is not None:
                del self._waiting[0]
                grant(offset, "")
                continue
            if self._spilling:
                return
            victims = self._objects.victims(size)
            if not victims:
                del self._waiting[0]
                grant(-1, self._full(size))
                continue
            for id in victims:
                self._spill(id)
            return

    def _full(self, size: int) -> str:
        return (
            f"The object store is full: {size / GIB:.2f} GiB were asked for, {self.arena.used / GIB:.2f} of "
            f"{self.arena.capacity / GIB:.2f} GiB are taken by objects that processes are using, so they cannot "
            "be moved to disk. "
            "Let go of arrays that you no longer need, or start with a larger store: init(object_store_memory=…)."
        )

    def _spill(self, id: bytes) -> None:
        record = self._objects.records[id]
        value = record.value
        assert value is not None
        record.spilling = True
        self._spilling += 1
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = os.path.join(self._directory, id.hex())
        self._head.mover.say(mover.encode(mover.Spill(id, value.offset, value.size, path)))

    def moved(self, report: mover.Moved) -> None:
        """The mover has finished one object."""
        if report.restored:
            self._restored(report)
            return
        self._spilling -= 1
        record = self._objects.records.get(report.object_id)
        if record is None or record.value is None or record.mappers:  # it went, or was wanted meanwhile
            if not report.error:
                os.unlink(report.path)
            if record is not None:
                record.spilling = False
        elif report.error:
            record.spilling = False
            self._refuse_all(
                f"The object store is full, and moving objects to disk failed: {report.error}. Free some disk space, "
                "let go of large objects, or start with a larger store."
            )
            return
        else:
            record.spilling = False
            record.spilled = report.path
            self._objects.stored.pop(record.value.offset)
            self.arena.give(record.value.offset)
            self.spilled_bytes += record.value.size
            record.value = wire.Value(record.value.status, None, -1, record.value.size)
        self._make_room()

    def _refuse_all(self, why: str) -> None:
        waiting, self._waiting = self._waiting, []
        for _size, grant in waiting:
            grant(-1, why)

    def when_here(self, id: bytes, then: Callable[[], None]) -> None:
        """Bring a spilled object back, then call."""
        waiting = self._returning.get(id)
        if waiting is not None:
            waiting.append(then)
            return
        self._returning[id] = [then]
        record = self._objects.records[id]
        value = record.value
        assert value is not None

        def grant(offset: int, why: str) -> None:
            if offset < 0:
                self._lost(id, why)
            else:
                self._head.mover.say(mover.encode(mover.Restore(id, offset, value.size, record.spilled)))

        self._take(value.size, grant)

    def _restored(self, report: mover.Moved) -> None:
        record = self._objects.records.get(report.object_id)
        if record is None or record.value is None:
            self.arena.give(report.offset)
            self._returning.pop(report.object_id, None)
            return
        if report.error:
            self.arena.give(report.offset)
            self._lost(report.object_id, f"reading it back from disk failed: {report.error}")
            return
        os.unlink(record.spilled)
        self.spilled_bytes -= record.value.size
        record.spilled = ""
        record.value = wire.Value(record.value.status, None, report.offset, record.value.size)
        self._objects.stored[report.offset] = report.object_id
        for then in self._returning.pop(report.object_id, []):
            then()

    def _lost(self, id: bytes, why: str) -> None:
        from nbaccel.local_engine.failures import failed

        record = self._objects.records.get(id)
        if record is not None:
            record.value = failed(
                "ObjectLostError", f"Object {id.hex()} was moved to disk and cannot be brought back: {why}"
            )
        for then in self._returning.pop(id, []):
            then()

    def collect(self) -> None:
        """Give freed offsets back to the arena and remove freed files."""
        freed = self._objects.take_freed()
        if freed is None:
            return
        for offset in freed.offsets:
            self.arena.give(offset)
        for path in freed.files:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass  # the session's directory went with everything in it
        for actor_id in freed.actors:
            self._head.actor_out_of_scope(actor_id)
        if freed.offsets and self._waiting:
            self._make_room()

    def client_gone(self, client_id: int) -> None:
        """What it was given and had not filled is free again."""
        for offset, owner in list(self.granted.items()):
            if owner == client_id:
                del self.granted[offset]
                self.arena.give(offset)
