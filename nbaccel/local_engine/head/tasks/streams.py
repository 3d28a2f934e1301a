"""Streaming tasks: each item goes to the reader, and the reader tells the writer how many it has consumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.connections import Handler, Send, Together
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.delivery import Fill
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import CancelAsked
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task


class StreamRelay:
    """Passes items and the ends of streams on to readers."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: ObjectTables,
        peers: Mapping[int, Peer],
        workers: Mapping[bytes, WorkerProcess],
        send: Send,
        tell: Tell,
        *,
        fill: Fill,
        filled: Callable[[wire.Value, int], None],
        placed: Callable[[bytes, bytes], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._peers = peers
        self._workers = workers
        self._send = send
        self._tell = tell
        self._fill = fill
        self._filled = filled  # checks a process's statement about the arena
        self._placed = placed  # called with an object and the node where it was made

    def of_clients(self) -> dict[type, Handler]:
        """The messages that drivers and workers may send, with their handlers."""
        return {wire.Consumed: self._consumed}

    def of_workers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        return {wire.Item: self._item}

    def together(self) -> dict[type, Together]:
        """The messages of workers that are handled together: how many of them, and by what."""
        return {wire.Item: (self.alike, self.passed_on)}

    def alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are small items of one stream that its reader is to get, in their order."""
        task_id = messages[start].task_id
        record = self._scheduler.task_record(task_id)
        entry = entry_of(record.task) if record is not None else None
        if entry is None or entry.is_made_again or entry.client_id not in self._peers:
            return 0
        at = entry.items
        for m in islice(messages, start, None):
            if type(m) is not wire.Item or m.index != at or m.task_id != task_id or m.result.refs:
                break
            value = m.result.value
            if value.data is None or value.status != wire.OK:
                break
            at += 1
        return at - entry.items

    def passed_on(self, peer: Peer, messages: list[wire.Item]) -> None:
        """Pass on items that are alike in one message."""
        first = messages[0]
        record = self._scheduler.task_record(first.task_id)
        assert record is not None
        entry = entry_of(record.task)
        values = {return_id(m.task_id, m.index + 1): m.result.value for m in messages}
        entry.items += len(messages)
        ledger.fill_all(self._objects, values, entry.client_id)
        data = [m.result.value.data or b"" for m in messages]
        self._send(self._peers[entry.client_id], wire.StreamItems(first.task_id, first.index, data))

    def _item(self, peer: Peer, message: wire.Item) -> None:
        record = self._scheduler.task_record(message.task_id)
        value = message.result.value
        self._filled(value, peer.client_id)
        if record is None:
            ledger.drop(self._objects, value)
            return
        entry = entry_of(record.task)
        if message.index < entry.items or entry.is_made_again:
            self._item_again(peer, entry, message)
            return
        entry.items = message.index + 1
        reader = self._peers.get(entry.client_id)
        if reader is None:
            ledger.drop(self._objects, value)
            return
        id = return_id(message.task_id, message.index + 1)
        ledger.promise(self._objects, id, entry.client_id)
        ledger.fill(self._objects, id, value, message.result.refs)
        if peer.worker is not None:
            self._placed(id, peer.worker.node_id)
        shown = value if value.data is not None else None
        self._send(reader, wire.StreamItem(message.task_id, message.index, shown))

    def _item_again(self, peer: Peer, entry: TaskEntry, message: wire.Item) -> None:
        """Take an item of a task that runs again: it is needed only if the reader's copy was lost."""
        if entry.terms.backpressure is not None:
            self._send(peer, wire.Consumed(message.task_id, entry.consumed))  # this process does not know the count yet
        id = return_id(message.task_id, message.index + 1)
        record = self._objects.records.get(id)
        if record is None or record.value is not None:
            ledger.drop(self._objects, message.result.value)
            return
        self._fill(id, message.result.value, message.result.refs, record.owner)
        if peer.worker is not None:
            self._placed(id, peer.worker.node_id)

    def _consumed(self, peer: Peer, message: wire.Consumed) -> None:
        """Tell the writer of a stream how many items its reader has consumed; -1: the reader has gone."""
        record = self._scheduler.task_record(message.task_id)
        if record is None:
            return
        entry = entry_of(record.task)
        entry.consumed = max(entry.consumed, message.count)
        worker = self._workers.get(entry.worker_id)
        if worker is not None and not worker.ended:
            if entry.terms.backpressure is not None or message.count < 0:
                self._send(worker.peer, message)
        elif message.count < 0:
            self._tell(CancelAsked(message.task_id))

    def end(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        """End a stream: an error becomes the reader's last item. A second call does nothing."""
        peer = self._peers.get(entry.client_id)
        if peer is None or entry.is_made_again or entry.stream_over:
            return
        last = outcomes.last_item(task, entry.items, results)
        if last is not None:
            id, value = last
            ledger.promise(self._objects, id, entry.client_id)
            ledger.fill(self._objects, id, value, [])
            shown = value if value.data is not None else None
            self._send(peer, wire.StreamItem(task.task_id, entry.items, shown))
            entry.items += 1
        self._send(peer, wire.StreamEnd(task.task_id, entry.items))
        entry.stream_over = True
