"""The reading side of streams: an item is made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbaccel.debug_engine.workers import PausedStream
from nbaccel.handles.remote import ObjectRef, ObjectRefGenerator
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.ids import return_id

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine


class DebugStreams:
    """All streams that are read."""

    def __init__(self, engine: DebugEngine) -> None:
        self._engine = engine
        self._made: dict[bytes, list[bytes]] = {}  # task -> items made and not taken
        self._counts: dict[bytes, int] = {}  # task -> items made in all
        self._errors: dict[bytes, tuple[wire.Value, BaseException | None]] = {}  # task -> what its last item raises

    def open(self, task_id: bytes) -> ObjectRefGenerator:
        self._made[task_id] = []
        self._counts[task_id] = 0
        self._engine.values.hold(return_id(task_id, 0))
        return ObjectRefGenerator(task_id, self._engine)

    def next_item(self, handle: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        made = self._made.get(handle._task_id)
        if made is None:
            return None
        while not made:  # an attempt that ends without an item may be followed by another one
            stream = self._begun(handle._task_id, timeout_s)
            if made:
                break  # it was made while its beginning was waited for
            if stream is None:
                return self._end_error(handle._task_id)
            with self._engine.stage.waiting():
                self.read_on(stream)
        return ObjectRef(made.pop(0), self._engine)  # it has been held since it was made

    def _begun(self, task_id: bytes, timeout_s: float | None) -> PausedStream | None:
        """The stream once it has begun; None when it is over."""
        if (stream := self._engine.stage.streams.get(task_id)) is not None:
            return stream
        end = return_id(task_id, 0)
        self._engine.await_object(end, timeout_s)
        stream = self._engine.stage.streams.get(task_id)
        if stream is None and end not in self._engine.values:
            raise self._engine.never(end, timeout_s)
        return stream

    def made(self, task_id: bytes) -> int:
        """How many items all attempts of the task have made."""
        return self._counts.get(task_id, 0)

    def read_on(self, stream: PausedStream) -> None:
        """Make one more item."""
        id = self._engine.stage.step(stream)
        made = self._made.get(stream.running.task_id)
        if id is not None and made is not None:
            made.append(id)
            self._counts[stream.running.task_id] += 1

    def _end_error(self, task_id: bytes) -> ObjectRef[Any] | None:
        """The last item of a stream that failed raises its error; then it is over."""
        self._made.pop(task_id)
        count, error = self._counts.pop(task_id), self._errors.pop(task_id, None)
        if error is None:
            return None
        id = return_id(task_id, count + 1)
        self._engine.values.fill(id, *error)
        return self._engine.ref(id)

    def failed(self, task_id: bytes, value: wire.Value, raised: BaseException | None) -> None:
        """The stream ends with an error: its reader gets it as the last item."""
        self._errors[task_id] = (value, raised)

    def close(self, handle: ObjectRefGenerator) -> None:
        """Nobody reads on."""
        task_id = handle._task_id
        for id in (return_id(task_id, 0), *self._made.pop(task_id, ())):
            self._engine.values.gone(id)
        self._counts.pop(task_id, None)
        self._errors.pop(task_id, None)
        stream = self._engine.stage.streams.get(task_id)
        if stream is not None:
            self._engine.stage.abandon(stream)
