"""The reading side of streaming tasks: the head pushes items in order, and they wait here for the reader.

Object index 0 of a streaming task is its end (None, or the error that ended it); item i has index i + 1.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import exceptions
from nbaccel.handles.remote import ObjectRef, ObjectRefGenerator
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.waits import interruptible

if TYPE_CHECKING:
    from nbaccel.local_engine.client.object_client import ObjectClient


class _ReadStream(msgspec.Struct):
    items: deque[bytes] = msgspec.field(default_factory=deque)
    taken: int = 0
    ended: bool = False
    closed: bool = False  # its reader has gone
    callbacks: list[Callable[[], None]] = []


class _ReaderEnd(weakref.ref[ObjectRefGenerator]):
    """A stream whose reader may have gone. Its `__del__` says so too, but Ctrl-C may come before it has begun."""

    __slots__ = ("task_id",)
    task_id: bytes


class StreamReaders:
    """All streams that this process reads."""

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._open: dict[bytes, _ReadStream] = {}
        self._changed = threading.Condition()
        self._waiting = 0  # threads that wait for an item
        self._taken: dict[bytes, int] = {}  # how many items, of the streams of which the head has to hear
        self._marks: set[_ReaderEnd] = set()
        client.link.before_write.append(self._report_taken)
        client.link.when_ended[_ReaderEnd] = self._readers_gone
        client.link.receivers[wire.StreamItem] = self._item_came
        client.link.receivers[wire.StreamItems] = self._items_came
        client.link.receivers[wire.StreamEnd] = self._end_came

    def open(self, task_id: bytes, cell: bytes) -> ObjectRefGenerator:
        end = return_id(task_id, 0)
        self._client.references.created(end)
        self._client.values.expect((end,))
        self._open[task_id] = stream = _ReadStream()
        if self._client.link.lost is not None:  # set before `lose_all` looks at what is open
            stream.ended = True
        handle = ObjectRefGenerator(task_id, self._client.engine, None, cell)
        mark = _ReaderEnd(handle, self._client.link.ended.put)
        mark.task_id = task_id
        self._marks.add(mark)
        return handle

    def _item_came(self, message: wire.StreamItem) -> None:
        id = return_id(message.task_id, message.index + 1)
        value = message.value if message.value is not None else wire.Value()  # there, in the arena
        self._came(message.task_id, {id: value})

    def _items_came(self, message: wire.StreamItems) -> None:
        task_id, after = message.task_id, message.first + 1
        ids = [return_id(task_id, index) for index in range(after, after + len(message.data))]
        self._came(task_id, {id: wire.Value(wire.OK, data) for id, data in zip(ids, message.data, strict=True)})

    def _came(self, task_id: bytes, values: dict[bytes, wire.Value]) -> None:
        ids = list(values)
        stream = self._open.get(task_id)
        if stream is None:
            self._client.link.send_later(wire.DropRef(ids))
            return
        self._client.references.created_all(ids)
        self._client.values.know_all(values)
        with self._changed:
            is_late = stream.closed
            if not is_late:
                stream.items.extend(ids)
            callbacks = stream.callbacks
            if callbacks:
                stream.callbacks = []
            if self._waiting:
                self._changed.notify_all()
        if is_late:
            for id in ids:
                self._client.references.gone(id)
        for callback in callbacks:
            callback()

    def _end_came(self, message: wire.StreamEnd) -> None:
        stream = self._open.get(message.task_id)
        if stream is None:
            return
        with self._changed:
            stream.ended = True
            callbacks, stream.callbacks = stream.callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def next_item(self, handle: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        stream = self._open.get(handle._task_id)
        if stream is None:
            return None
        if not stream.items and not stream.ended and not self._wait(stream, timeout_s):
            raise exceptions.GetTimeoutError(f"The stream had no next item within {timeout_s} s.")
        if not stream.items:
            self._client.link.raise_if_lost()
            return None
        id = stream.items.popleft()
        stream.taken += 1
        self._taken[handle._task_id] = stream.taken
        self._client.link.nudge()
        return ObjectRef(id, self._client.engine)

    def _report_taken(self) -> None:
        """Say how far each stream is read, once for all items that were taken since the last write."""
        while self._taken:
            self._client.link._outbox.append(wire.Consumed(*self._taken.popitem()))

    def _wait(self, stream: _ReadStream, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._client._let_go()
        with self._client.blocked(), self._changed:
            self._waiting += 1
            try:
                while not stream.items and not stream.ended:
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return False
                    self._changed.wait(interruptible.slice_of(left))
            finally:
                self._waiting -= 1
        return True

    def when_next_item(self, handle: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        stream = self._open.get(handle._task_id)
        with self._changed:
            if stream is not None and not stream.items and not stream.ended and self._client.link.lost is None:
                stream.callbacks.append(callback)
                return
        callback()

    def is_ready(self, handle: ObjectRefGenerator) -> bool:
        stream = self._open.get(handle._task_id)
        return stream is None or bool(stream.items) or stream.ended

    def end_ref(self, handle: ObjectRefGenerator) -> ObjectRef[Any]:
        end = return_id(handle._task_id, 0)
        self._client.references.created(end)
        return ObjectRef(end, self._client.engine)

    def _readers_gone(self, marks: list[_ReaderEnd]) -> None:
        self._marks.difference_update(marks)
        for mark in marks:
            self.close(mark.task_id)

    def close(self, task_id: bytes) -> None:
        """The reader has gone: release the items that it did not take, and tell the task to stop."""
        stream = self._open.pop(task_id, None)
        if stream is None:
            return
        with self._changed:  # the thread that reads messages may be adding an item
            stream.closed = True
            items, stream.items = stream.items, deque()
        for id in items:
            self._client.references.gone(id)
        self._client.references.gone(return_id(task_id, 0))
        if not stream.ended:
            self._client.link.send_later(wire.Consumed(task_id, -1))

    def lose_all(self) -> None:
        """End every stream, because the head is gone."""
        callbacks: list[Callable[[], None]] = []
        with self._changed:
            for stream in list(self._open.values()):  # others open and close streams meanwhile
                stream.ended = True
                callbacks += stream.callbacks
                stream.callbacks = []
            self._changed.notify_all()
        for callback in callbacks:
            callback()
