"""Room for large objects: offsets of the arena, objects on disk and back, and the tasks that wait for those.

`page_keeper` looks after the memory of what is free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.arena import Arena
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.page_keeper import Memory, PageKeeper
from nbaccel.local_engine.head.objects.tables import Freed, Grant, ObjectTables, Refused
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.head.side_process import Helpers
from nbaccel.local_engine.side_processes import mover
from nbaccel.scheduling.commands import SendTasks

GIB = 1 << 30
NOBODY = -1
FULL_PATIENCE_S = 10.0  # others may release their objects


class _SpaceRequest(Struct):
    """Somebody who waits for room."""

    size: int
    client: int
    grant: Grant
    asked_at: float
    until: float
    for_new_value: bool  # else to bring one back, which others may wait for as well


class CycleSearches(Protocol):
    """Looks of all processes for objects that only cycles hold."""

    def filled(self, used: int, capacity: int) -> None: ...
    def is_awaited(self, asked_at: float) -> bool: ...


class Store:
    """The arena of one head. `make_room` is called when looks for garbage are over."""

    def __init__(
        self,
        timers: LoopTimers,
        objects: ObjectTables,
        helpers: Helpers,
        looks: CycleSearches,
        *,
        capacity: int,
        directory: str,
        let_go: Callable[[Freed], None],
        memory: Memory,
        notify_driver: Callable[[int, wire.PagesReady], None],
    ) -> None:
        self._timers = timers
        self._objects = objects
        self._looks = looks
        self._let_go = let_go  # called with objects that nobody holds any more
        self.arena = Arena(capacity)
        self.waiting: list[_SpaceRequest] = []
        self._returning: dict[bytes, list[tuple[Callable[[], None], Refused]]] = {}
        self._directory = os.path.join(directory, "spilled")
        self._moving: dict[bytes, mover.Spill | mover.Restore] = {}  # moves that the mover has not reported
        self._mover = helpers.make("mover", "", decode=mover.decode_report, on_report=self._reported)
        self._mover.on_restart = self._move_again
        self.pages = PageKeeper(
            timers,
            self.arena,
            memory,
            order=lambda order: self._mover.send(mover.encode(order)),
            rest=self._rest,
            notify_driver=notify_driver,
        )
        self.granted: dict[int, tuple[int, int]] = {}  # offset -> (client that has not filled it yet, its request)
        self.spilled_bytes = 0

    def allocate(self, client: int, request: int, size: int, answer: Grant) -> None:
        """Answer with an offset, now or once something has been spilled."""

        def grant(offset: int, why: str) -> None:
            if offset >= 0:
                self.granted[offset] = (client, request)
            answer(offset, why)

        self._take(size, client, grant, for_new_value=True)

    @property
    def times_given_back(self) -> int:
        """How often memory of the arena was given back to the system."""
        return self.pages.times_given_back

    def close(self) -> None:
        self._mover.close()

    def _rest(self) -> None:
        """The mover ends while there is nothing for it to do; the next order starts another."""
        if not self._moving:
            self._mover.close()

    def _take(self, size: int, client: int, grant: Grant, *, for_new_value: bool = False) -> None:
        if size > self.arena.capacity:
            grant(
                -1,
                f"An object of {size / GIB:.2f} GiB does not fit into the object store of "
                f"{self.arena.capacity / GIB:.2f} GiB. Start with a larger one: init(object_store_memory=…), in bytes.",
            )
            return
        now = self._timers.now()
        self._looks.filled(self.arena.used + size, self.arena.capacity)
        offset = self.arena.take(size) if not self.waiting else None
        if offset is not None:
            self.pages.taken(offset, client if for_new_value else None)
            grant(offset, "")
            return
        until = now + FULL_PATIENCE_S
        self.waiting.append(_SpaceRequest(size, client, grant, now, until, for_new_value))
        self._timers.at(until, self.make_room)
        self.make_room()

    def give_up(self, offset: int, client: int, request: int) -> None:
        """It will not be filled; unless it has been, and was given to somebody else since."""
        if self.granted.get(offset) == (client, request):
            del self.granted[offset]
            self._objects.freed.offsets.append(offset)

    def filled(self, value: wire.Value, client: int) -> None:
        """The client has written a value where it was granted room. Raises ValueError for any other place.

        A place that it never had would be given out twice: what a process says of the arena is not believed unseen.
        """
        if value.data is not None:
            return
        if self.granted.get(value.offset, (NOBODY, 0))[0] != client:
            raise ValueError(f"a value at offset {value.offset}, where its writer was given no range")
        if not 0 <= value.size <= self.arena.size_at(value.offset):
            raise ValueError(f"a value of {value.size} bytes at offset {value.offset}, where the range is smaller")
        del self.granted[value.offset]
        self.pages.filled()

    def make_room(self) -> None:
        """Spill until the first in line fits; refuse it when nobody else could make room."""
        self.give_back()
        while self.waiting:
            first = self.waiting[0]
            offset = self.arena.take(first.size)
            if offset is not None:
                del self.waiting[0]
                self.pages.taken(offset, first.client if first.for_new_value else None)
                first.grant(offset, "")
                continue
            if self.pages.is_giving_back or any(type(order) is mover.Spill for order in self._moving.values()):
                return
            victims = ledger.victims(self._objects, first.size)
            for id in victims:
                self._spill(id)
            if victims or self._looks.is_awaited(first.asked_at):
                return
            if self._timers.now() < first.until and self._others_use_room(first.client):
                return
            del self.waiting[0]
            first.grant(-1, self._full(first.size))

    def _others_use_room(self, client: int) -> bool:
        """Whether somebody but this client fills or maps a part of the arena, and so may let go of it."""
        filling = any(owner != client for owner, _request in self.granted.values())
        return filling or bool(self._moving) or ledger.mapped_by_others(self._objects, client)

    def _full(self, size: int) -> str:
        return (
            f"The object store is full: {size / GIB:.2f} GiB were asked for, {self.arena.used / GIB:.2f} of "
            f"{self.arena.capacity / GIB:.2f} GiB are taken by objects that processes are using, so they cannot "
            "be moved to disk. "
            "Let go of arrays that you no longer need, or start with a larger store: init(object_store_memory=…)."
        )

    # ---- to disk

    def _move(self, order: mover.Spill | mover.Restore) -> None:
        self._moving[order.object_id] = order
        self._mover.send(mover.encode(order))

    def _move_again(self) -> None:
        """The mover died: its successor begins anew what has not been reported."""
        for order in self._moving.values():
            self._mover.send(mover.encode(order))
        self.pages.send_again()

    def _spill(self, id: bytes) -> None:
        record = self._objects.records[id]
        assert record.value is not None
        record.spilling = True
        self._move(mover.Spill(id, record.value.offset, record.value.size, os.path.join(self._directory, id.hex())))

    def _reported(self, report: mover.Moved | mover.PagesDone) -> None:
        if isinstance(report, mover.Moved):
            self._moved(report)
            return
        self.pages.done(report)
        if self.waiting:
            self.make_room()

    def _moved(self, report: mover.Moved) -> None:
        """The mover has finished one object."""
        self._moving.pop(report.object_id, None)
        if report.restored:
            self._restored(report)
        else:
            self._spilled(report)
        self.make_room()

    def _spilled(self, report: mover.Moved) -> None:
        record = self._objects.records.get(report.object_id)
        if record is not None:
            record.spilling = False
        if report.error:
            self._refuse_all(
                f"The object store is full, and moving objects to disk failed: {report.error}. Free some disk space, "
                "let go of large objects, or start with a larger store."
            )
        elif record is None or record.value is None or record.mappers or record.kept:  # it went, or is wanted again
            _remove(report.path)
        else:
            record.spilled = report.path
            self._objects.stored.pop(record.value.offset)
            self._give(record.value.offset)
            self.spilled_bytes += record.value.size
            record.value = wire.Value(record.value.status, None, -1, record.value.size)

    def _refuse_all(self, why: str) -> None:
        waiting, self.waiting = self.waiting, []
        for asked in waiting:
            asked.grant(-1, why)

    # ---- and back

    def when_here(self, id: bytes, client: int, then: Callable[[], None], refused: Refused) -> None:
        """Bring a spilled object back, then call; or say why it has to stay on disk for now.

        `client` is who waits for it, and so cannot make room meanwhile; NOBODY when everyone can.
        """
        waiting = self._returning.get(id)
        if waiting is not None:
            waiting.append((then, refused))
            return
        self._returning[id] = [(then, refused)]
        record = self._objects.records[id]
        value, path = record.value, record.spilled
        assert value is not None

        def grant(offset: int, why: str) -> None:
            if offset < 0:
                self._refuse_return(id, f"Object {id.hex()} is on disk and cannot be brought back now. {why}")
            else:
                self._move(mover.Restore(id, offset, value.size, path))

        self._take(value.size, client, grant)

    def _refuse_return(self, id: bytes, why: str) -> None:
        for _then, refused in self._returning.pop(id, []):
            refused(why)

    def _restored(self, report: mover.Moved) -> None:
        record = self._objects.records.get(report.object_id)
        if record is None or record.value is None:
            self._give(report.offset)
            self._refuse_return(report.object_id, f"Object {report.object_id.hex()} was released.")
            return
        if report.error:
            self._give(report.offset)
            self._refuse_return(
                report.object_id,
                f"Object {report.object_id.hex()} was moved to disk and cannot be read back: {report.error}",
            )
            return
        _remove(record.spilled)
        self.spilled_bytes -= record.value.size
        record.spilled = ""
        record.value = wire.Value(record.value.status, None, report.offset, record.value.size)
        record.last_used = self._timers.now()
        self._objects.stored[report.offset] = report.object_id
        for then, _refused in self._returning.pop(report.object_id, []):
            then()

    # ---- freed memory

    def collect(self) -> None:
        """Give freed offsets back to the arena and remove freed files."""
        freed = ledger.take_freed(self._objects)
        if freed is not None:
            self._put_back(freed)
        if self.waiting:
            self.make_room()

    def give_back(self) -> None:
        """What nobody holds any more goes where it belongs."""
        freed = ledger.take_freed(self._objects)
        if freed is not None:
            self._put_back(freed)

    def _put_back(self, freed: Freed) -> None:
        for offset in freed.offsets:
            self._give(offset)
        for path in freed.files:
            _remove(path)
        self._let_go(freed)

    def _give(self, offset: int) -> None:
        self.pages.given(offset, self.arena.give(offset))

    def client_gone(self, client_id: int) -> None:
        """What it was given and had not filled is free again; what it waited for is not given."""
        self.waiting = [asked for asked in self.waiting if asked.client != client_id or not asked.for_new_value]
        for offset, (owner, _request) in list(self.granted.items()):
            if owner == client_id:
                del self.granted[offset]
                self._give(offset)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the session's directory went with everything in it


WhenHere = Callable[[bytes, int, Callable[[], None], Refused], None]  # Store.when_here


class DelayedSends:
    """`transmit` sends a task; `answer` answers a task that could not be sent."""

    def __init__(
        self,
        timers: LoopTimers,
        objects: ObjectTables,
        when_here: WhenHere,
        workers: Mapping[bytes, WorkerProcess],
        *,
        transmit: Callable[[SendTasks, WorkerProcess, TaskEntry], None],
        answer: Callable[[SendTasks, Exception], None],
    ) -> None:
        self._timers = timers
        self._objects = objects
        self._when_here = when_here
        self._workers = workers
        self._transmit = transmit
        self._answer = answer

    def holds_back(self, command: SendTasks, worker: WorkerProcess, entry: TaskEntry) -> bool:
        """Whether the task has to wait for its arguments or behind others. If so, it is sent from here later."""
        if not worker.held and (not entry.submit.slots or self._on_disk(entry.submit) is None):
            return False
        worker.held.append(command)  # behind others whatever it needs: calls keep their order
        if len(worker.held) == 1:
            self._keep_for(worker, entry.submit)
            self._send(worker)
        return True

    def forget(self, command: SendTasks) -> None:
        """Do not send this task any more; send the tasks behind it."""
        worker = self._workers.get(command.worker_id)
        if worker is not None and any(held is command for held in worker.held):
            worker.held = [held for held in worker.held if held is not command]
            self._keep_for_first(worker)
            self._timers.after(0, lambda: self._send(worker))

    def _send(self, worker: WorkerProcess) -> None:
        """Send, in order, what waits for nothing more."""
        while worker.held:
            command = worker.held[0]
            try:
                if not self._sent_or_gone(worker, command):
                    return
            except Exception as error:
                self._answer(command, error)  # which forgets it
                return
            del worker.held[0]
            self._keep_for_first(worker)

    def _sent_or_gone(self, worker: WorkerProcess, command: SendTasks) -> bool:
        """False while an argument of it is on its way back."""
        entry = entry_of(command.task)
        if entry.pinned and not worker.ended:
            if self._bring_back(worker, entry.submit):
                return False
            self._transmit(command, worker, entry)
        return True

    def _on_disk(self, submit: wire.Submit) -> bytes | None:
        """An argument that is not in the arena."""
        for _place, id in submit.slots:
            record = self._objects.records.get(id)
            if record is not None and record.spilled:
                return id
        return None

    def _keep_for_first(self, worker: WorkerProcess) -> None:
        self._keep_for(worker, entry_of(worker.held[0].task).submit if worker.held else None)

    def _keep_for(self, worker: WorkerProcess, submit: wire.Submit | None) -> None:
        """What this task asks for, and is in the arena, stays there until all has come."""
        for change, of in ((-1, worker.keeps), (1, submit)):
            for _place, id in of.slots if of is not None else ():
                record = ledger.own(self._objects, id)
                if record is not None:
                    record.kept += change
        worker.keeps = submit

    def _bring_back(self, worker: WorkerProcess, submit: wire.Submit) -> bool:
        """Whether an argument is on its way back from disk."""
        id = self._on_disk(submit)
        if id is None or id in worker.refused:
            return False

        def refused(why: str) -> None:
            worker.refused[id] = why
            self._send(worker)

        self._when_here(id, NOBODY, lambda: self._send(worker), refused)
        return True
