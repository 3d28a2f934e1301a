"""The objects of this process: pickled values, and how many refs there are to each."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import codec, failures

Callback = Callable[[], None]
OBJECT_ID_BYTES = 28  # actors, which are counted too, have shorter ones


class DebugValues:
    """id -> value. What is referred to by nobody is forgotten."""

    def __init__(self, on_last: Callable[[bytes], None]) -> None:
        self._on_last = on_last  # called with what the last ref or handle of has gone
        self._known: dict[bytes, wire.Value] = {}
        self._raised: dict[bytes, Any] = {}  # what the task raised, with its traceback: for a debugger
        self._counts: dict[bytes, int] = {}
        self._kept: set[bytes] = set()  # pickled once: a ref may come back at any time
        self._gone: deque[bytes] = deque()
        self._callbacks: dict[bytes, list[Callback]] = {}

    def hold(self, id: bytes) -> None:
        self._counts[id] = self._counts.get(id, 0) + 1

    def keep(self, ids: Iterable[bytes]) -> None:
        self._kept.update(ids)

    def gone(self, id: bytes) -> None:
        """A ref was finalised; this may happen at any moment, so it is only noted."""
        self._gone.append(id)

    def sweep(self) -> None:
        """Forget what nobody refers to."""
        while self._gone:
            id = self._gone.popleft()
            left = self._counts.get(id, 0) - 1
            if left > 0:
                self._counts[id] = left
                continue
            self._counts.pop(id, None)
            if id not in self._kept:
                self._known.pop(id, None)
                self._raised.pop(id, None)
                self._on_last(id)

    def fill(self, id: bytes, value: wire.Value, raised: BaseException | None = None) -> None:
        self._known[id] = value
        if raised is not None:
            self._raised[id] = raised
        for callback in self._callbacks.pop(id, ()):
            callback()

    def value(self, id: bytes) -> wire.Value | None:
        return self._known.get(id)

    def __contains__(self, id: bytes) -> bool:
        return id in self._known

    def when_known(self, id: bytes, callback: Callback) -> None:
        if id in self._known:
            callback()
        else:
            self._callbacks.setdefault(id, []).append(callback)

    def when_ready(self, ids: list[bytes], callback: Callable[[bytes], None]) -> list[bytes]:
        """Call back once for each of the ids that is not there yet; return those that are."""
        there = [id for id in ids if id in self._known]
        for id in ids:
            if id not in there:
                self.when_known(id, partial(callback, id))
        return there

    def got(self, id: bytes) -> Any:
        """The value, or raise its error; the traceback goes on into the task, where a debugger will stop."""
        value = self._known[id]
        if value.status == wire.OK:
            return codec.load(value.data)
        error = failures.error_of(value.status, value.data)
        raised = self._raised.get(id)
        raise error.with_traceback(raised.__traceback__) if raised is not None else error

    def rows(self) -> list[dict[str, Any]]:
        """For `nbaccel.util.state`: what there is, and what is to come."""
        self.sweep()
        to_come = [id for id in self._counts if id not in self._known and len(id) == OBJECT_ID_BYTES]
        return [_row(id, value) for id, value in self._known.items()] + [_row(id, None) for id in to_come]


def _row(id: bytes, value: wire.Value | None) -> dict[str, Any]:
    return {
        "object_id": id.hex(),
        "object_size": None if value is None else len(value.data or b""),
        "place": "pending" if value is None else "inline",
        "task_status": "NIL" if value is None else "FINISHED",
        "reference_type": "LOCAL_REFERENCE",
        "holders": 1,
        "type": "Driver",
        "pid": os.getpid(),
    }
