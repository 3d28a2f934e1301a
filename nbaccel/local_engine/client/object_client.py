"""Objects for drivers and workers: putting, getting, waiting, refs; and what the head asks of their process.

Everything goes through one Link to the head; a worker is a driver of the tasks that its task submits.

Collects cycles when the head asks for it: a ref that only a cycle keeps alive still keeps its object.

The collection runs in a thread of its own: finalisers are user code and may take long. A request that comes meanwhile
has a collection of its own after it, since the program goes on and makes new cycles.
"""

from __future__ import annotations

import gc
import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import msgspec

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.refs import check_pickled_by_hand
from nbaccel.handles.remote import ActorHandle, ActorMethod, MethodSpec, ObjectRef, ObjectRefGenerator
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.arena_writer import ArenaRange, ArenaRanges, ArenaWriter
from nbaccel.local_engine.client.direct_calls import ActorClient
from nbaccel.local_engine.client.exports import Exports
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.submitter import Submitter
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.memory import arena_trouble
from nbaccel.local_engine.wire import codec, failures
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.driver_questions import GarbageCollected, Publish, notified
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.views import explanations, record_book
from nbaccel.views.explanations import EXPLAINED_AFTER_S
from nbaccel.views.observer_lines import Explain
from nbaccel.views.record_book import Asked, Rows, check
from nbaccel.waits import interruptible

if TYPE_CHECKING:
    from concurrent.futures import Future


class _Values(Protocol):
    """Tells when an object is there."""

    def when_ready(self, ids: list[bytes], callback: Callable[[bytes], None]) -> list[bytes]: ...

    def first_ready(self, ids: list[bytes], most: int) -> list[bytes]: ...


class PendingCalls:
    """Open calls of the actors that have a limit."""

    def __init__(self, values: _Values) -> None:
        self._values = values
        self._open: dict[bytes, set[bytes]] = {}  # actor -> the first result of each open call
        self._lock = threading.Lock()

    def check(self, method: ActorMethod) -> None:
        """Raises PendingCallsLimitExceeded if the actor has reached its limit."""
        limit, handle = method._spec.max_pending, method.handle
        actor_id = handle._actor_id_bytes
        pending = self._number(actor_id)
        if pending >= limit:  # a result can be read a moment before the thread that reads has said so here
            with self._lock:
                ids = list(self._open.get(actor_id, ()))
            for id in self._values.first_ready(ids, len(ids)):
                self._answered(actor_id, id)
            pending = self._number(actor_id)
        if pending >= limit:
            raise exceptions.PendingCallsLimitExceeded(
                f"The task {method._spec.name} could not be submitted to {handle!r} because {pending} calls are "
                f"pending there and its max_pending_calls is {limit}. Wait for some of them, or raise the limit."
            )

    def count(self, method: ActorMethod, returned: Any) -> None:
        """A call was submitted; it is pending until its first result is ready."""
        ref = returned[0] if isinstance(returned, list) and returned else returned
        if not isinstance(ref, ObjectRef):
            return
        actor_id = method.handle._actor_id_bytes
        with self._lock:
            self._open.setdefault(actor_id, set()).add(ref._id)

        def answered(id: bytes, keep: ObjectRef[Any] = ref) -> None:  # kept, or nobody would learn of the result
            self._answered(actor_id, id)

        if self._values.when_ready([ref._id], answered):
            self._answered(actor_id, ref._id)

    def _number(self, actor_id: bytes) -> int:
        with self._lock:
            return len(self._open.get(actor_id, ()))

    def _answered(self, actor_id: bytes, id: bytes) -> None:
        with self._lock:
            ids = self._open.get(actor_id, set())
            ids.discard(id)
            if not ids:
                self._open.pop(actor_id, None)


class GarbageCollector:
    """Answers CollectGarbage."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._newest: int | None = None  # the request that was made last, until it is answered
        self._is_busy = False
        link.receivers[wire.CollectGarbage] = self._asked

    def _asked(self, message: wire.CollectGarbage) -> None:
        with self._lock:
            self._newest = message.number
            if self._is_busy:
                return
            self._is_busy = True
        threading.Thread(target=self._collect, name="nbaccel-garbage", daemon=True).start()

    def _collect(self) -> None:
        while (number := self._next()) is not None:
            began_at = time.thread_time()
            try:
                gc.collect()
            finally:
                self._link.flush()  # the released refs are sent before the answer
                self._link.send(notified(GarbageCollected(number, time.thread_time() - began_at)))

    def _next(self) -> int | None:
        """The request to be answered next; None: there is none, and the next one starts another thread."""
        with self._lock:
            number, self._newest = self._newest, None
            self._is_busy = number is not None
            return number


class PublishedRecords:
    """The records of one driver or worker."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._asked: dict[str, Asked] = {}
        link.receivers[wire.PublisherRequest] = self._was_asked

    def publish(
        self, kind: str, id: str, record: Mapping[str, Any] | None, asked: Asked | None, rows: Rows | None
    ) -> None:
        """Publish a record, as the engine promises."""
        if record is None:
            self._link.ask(Publish(kind, id))
            self._asked.pop(id, None)
            return
        check(kind, id, record)
        record_book.check_rows(rows or {})
        if asked is not None:
            self._asked[id] = asked
        sent = {key: dict(row) for key, row in (rows or {}).items()}
        self._link.ask(Publish(kind, id, dict(record), sent))

    def _was_asked(self, message: wire.PublisherRequest) -> None:
        """Handle a request; called in the reader thread."""
        asked = self._asked.get(message.id)
        if asked is not None:
            asked(message.what)


# Larger values go through the arena; below, a copy through the socket is quicker than asking for a range.
INLINE_BYTES = 100_000


class ObjectClient:
    """The objects of one process, as the engine promises."""

    name = "local"

    def __init__(
        self, engine: engines.Engine, link: Link, submitter: Submitter, job: int, arena_fd: int, namespace: str
    ) -> None:
        self.engine = engine  # to which refs and handles belong: the driver, or the worker
        self.link = link
        self.submitter = submitter
        self.job = job
        self.namespace = namespace
        self.ids = IdMaker(job)
        self.references = ReferenceCounts(link)
        self.values = Values(link, self.references, arena_fd)
        self.ranges = ArenaRanges(link)
        self._collector = GarbageCollector(link)
        self.published = PublishedRecords(link)
        self.streams = StreamReaders(self)
        self._pending_calls = PendingCalls(self.values)
        self.direct: ActorClient | None = None  # of a driver
        self._arena_fd = arena_fd
        self._writer = ArenaWriter(arena_fd)
        self.exports = Exports(link)
        self._templates: dict[bytes, int] = {}
        self._template_numbers = itertools.count(1)
        self.ref_gone: Callable[[bytes], None] = self.references.gone

    def forget_in_child(self) -> None:
        """In a child that a task has forked: the connection and its threads are the parent's.

        What a thread held at that moment, nobody would ever let go of here.
        """
        for owner in (self, *vars(self).values()):
            for name, held in list(getattr(owner, "__dict__", {}).items()):
                if isinstance(held, _LOCK):
                    setattr(owner, name, threading.Lock())
        self.link.forget()
        self.__dict__.pop("_finisher_queue", None)

    # What a worker answers differently.

    def lends_cpu(self) -> bool:
        """Whether other tasks get this code's CPU while it waits."""
        return False

    def prepare_to_store(self, running: Any) -> None:
        """A task's code has ended, and its result is stored next."""

    def blocked(self) -> AbstractContextManager[Any]:
        """Entered while this process's code waits for others."""
        return nullcontext()

    # ---- values

    def put(self, value: Any) -> ObjectRef[Any]:
        refs: list[bytes] = []
        return self._put(self._dump(value, refs, "the value"), refs)

    def _put(self, payload: bytes | codec.PayloadPieces, refs: list[bytes]) -> ObjectRef[Any]:
        value, arena_range = self.store(payload)
        return self._put_value(value, arena_range, refs)

    def put_raised(self, value: wire.Value, refs: list[bytes]) -> ObjectRef[Any]:
        """A ref to an error: `get` of it raises."""
        return self._put_value(value, None, refs)

    def _put_value(self, value: wire.Value, arena_range: ArenaRange | None, refs: list[bytes]) -> ObjectRef[Any]:
        self.link.raise_if_lost()
        id = self.ids.put_id()
        ref: ObjectRef[Any] = ObjectRef(id, self.engine)
        self.references.created(id)
        self.values.know(id, value)
        self.link.send(wire.Put(id, value, refs))
        if arena_range is not None:
            arena_range.use()
            self.link.nudge_at_end_of(ref)
        return ref

    def store(
        self, payload: bytes | codec.PayloadPieces, status: int = wire.OK
    ) -> tuple[wire.Value, ArenaRange | None]:
        """A value for the wire; what is large is written into the arena, whose range is used once the head knows."""
        if isinstance(payload, bytes):
            return wire.Value(status, payload), None
        if payload.size <= INLINE_BYTES:
            return wire.Value(status, payload.joined()), None
        arena_range = self.ranges.take(payload.size)
        try:
            given_back = arena_range.times_given_back
            self._writer.write(payload.pieces(), arena_range.offset, payload.size, given_back)
        except OSError as error:
            why = arena_trouble(error)
            raise exceptions.RaySystemError(
                f"{payload.size} bytes cannot be written to shared memory: {why}"
            ) from error
        return wire.Value(status, None, arena_range.offset, payload.size), arena_range

    def get(self, refs: Sequence[ObjectRef[Any]], timeout_s: float | None) -> list[Any]:
        if len(refs) == 1:
            id = refs[0]._id
            return [self._loaded(id, *self.payloads([id], timeout_s)[0])]
        ids = [ref._id for ref in refs]
        payloads = self.payloads(ids, timeout_s)
        return [self._loaded(id, *payload) for id, payload in zip(ids, payloads, strict=True)]

    def _loaded(self, id: bytes, status: int, data: Any) -> Any:
        """Return the value, or raise it if it is an error."""
        if status != wire.OK:
            engines.end_daemon_thread()
        try:
            value = codec.load(data) if status == wire.OK else failures.error_of(status, data)
        except exceptions.RaySystemError:
            raise  # it cannot be mapped: that has nothing to do with its class
        except Exception as error:  # whatever a user's class raises while it is unpickled
            if status != wire.OK:
                raise exceptions.UnserializableException(
                    f"The task of object {id.hex()} raised an exception that cannot be rebuilt in this process, where "
                    f"unpickling it raised {type(error).__name__}: {error}."
                ) from error
            raise exceptions.RaySystemError(
                f"Object {id.hex()} was computed, but unpickling it here raised {type(error).__name__}: {error}. "
                "Its class must be importable in this process; otherwise return plain data."
            ) from error
        if status != wire.OK:
            raise value
        return value

    def payloads(self, ids: list[bytes], timeout_s: float | None) -> list[tuple[int, Any]]:
        """Wait for the values and return (status, payload) of each. Raises the first error that arrives."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if len(ids) == 1:
            while (here := self.values.payload(ids[0])) is None:
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                if not self._wait_for(ids, left) and self.values.payload(ids[0]) is None:
                    self._timed_out(ids, [None], timeout_s)
            return [here]
        found = [self.values.payload(id) for id in ids]
        while None in found:
            for id, payload in zip(ids, found, strict=True):
                if payload is not None and payload[0] != wire.OK:
                    self.values.were_requested(ids)
                    self._loaded(id, *payload)
            missing = list(dict.fromkeys(id for id, payload in zip(ids, found, strict=True) if payload is None))
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            in_time = self._wait_for(missing, left)
            found = [payload or self.values.payload(id) for id, payload in zip(ids, found, strict=True)]
            if not in_time and None in found:
                self._timed_out(ids, found, timeout_s)
        return found  # type: ignore[return-value]

    def _timed_out(self, ids: list[bytes], found: list[Any], timeout_s: float | None) -> NoReturn:
        why = self._why_waits(ids, found, timeout_s)
        raise exceptions.GetTimeoutError(
            f"Get timed out: {found.count(None)} of {len(ids)} objects were not ready within {timeout_s} s. "
            f"Their tasks go on; nbaccel.explain(ref) says why one waits.{why}"
        )

    def _why_waits(self, ids: list[bytes], found: list[Any], timeout_s: float | None) -> str:
        """Why the first of those that are not there waits, with a space before it; "" where that is not known.

        Whoever asks with a short timeout asks often, and is not told.
        """
        if not timeout_s or timeout_s < EXPLAINED_AFTER_S:
            return ""
        try:
            rows = self.link.ask(Explain(ids[found.index(None)].hex()))
        except (exceptions.RayError, OSError):
            return ""
        return f" {explanations.name_holders([rows[0].sentence])[0]}" if rows and rows[0].sentence else ""

    def _wait_for(self, ids: list[bytes], timeout_s: float | None) -> bool:
        """Wait until each value has come, or one that is an error; False after the timeout."""
        self.link.raise_if_lost()
        if self.direct is not None and len(ids) == 1 and self.direct.calls.by_task:
            is_here, timeout_s = self.direct.read_inline(ids[0], timeout_s)
            if is_here:
                return True
        waiter = Waiter(self.values.is_error)
        try:
            missing = self.values.when_known(ids, waiter.arrived)
            if missing == 0:
                return True
            if self._may_be_there(ids):
                self.link.ask(asks.Synchronise())  # what is there comes before this answer
                if waiter.wait(missing, 0):
                    return True
            self._let_go()
            with self.blocked():
                return self._pause(waiter, missing, ids, timeout_s)
        finally:
            if len(waiter.ids) < len(ids):
                self.values.forget_callback(ids, waiter.arrived)

    def _let_go(self) -> None:
        """Before a wait: have the head hear soon of the ends of refs, if these may hold much."""
        if self.values.has_large():
            self.link.nudge_if_any_ended()

    def _pause(self, waiter: Waiter, needed: int, ids: list[bytes], timeout_s: float | None) -> bool:
        """Wait until so many of the ids have arrived; False after the timeout."""
        return waiter.wait(needed, timeout_s)

    def _may_be_there(self, ids: list[bytes]) -> bool:
        """Whether the values may be ready already: then asking the head first keeps the task's CPU."""
        return self.lends_cpu() and not self.values.are_coming(ids)

    def value_of(self, payload: tuple[int, Any]) -> Any:
        """Return the value of a task's argument, or raise it if it is an error."""
        status, data = payload
        if status == wire.OK:
            return codec.load(data)
        raise failures.error_of(status, data)

    def wait(
        self, refs: Sequence[ObjectRef[Any]], num_returns: int, timeout_s: float | None, fetch: bool
    ) -> tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]:
        ids = [ref._id for ref in refs]
        ready = set(self.values.first_ready(ids, num_returns))
        if len(ready) < num_returns:
            ready = self._wait_until_ready(ids, num_returns, timeout_s)
        chosen = [ref for ref in refs if ref._id in ready][:num_returns]
        taken = {ref._id for ref in chosen}
        return chosen, [ref for ref in refs if ref._id not in taken]

    def _wait_until_ready(self, ids: list[bytes], num_returns: int, timeout_s: float | None) -> set[bytes]:
        """Wait until so many are ready, or for the timeout. Returns the ready ones."""
        waiter = Waiter()
        ready = set(self.values.when_ready(ids, waiter.arrived))
        try:
            if len(ready) < num_returns and self._may_be_there(ids):
                self.link.ask(asks.Synchronise())
            if len(ready | waiter.ids) < num_returns and timeout_s != 0:
                self._let_go()
                with self.blocked():
                    self._pause(waiter, num_returns - len(ready), ids, timeout_s)
        finally:
            self.values.forget_callback(ids, waiter.arrived)
        if timeout_s == 0 and len(ready) < num_returns and not waiter.ids:
            with self.blocked():  # a task that only looks, again and again, must not keep what it waits for from a CPU
                self.link.ask(asks.Synchronise())  # one round trip: what the head knows now is known here
        return ready | waiter.ids

    def call_when_ready(self, ref: ObjectRef[Any], callback: Callable[[], None]) -> None:
        id = ref._id

        def arrived(_id: bytes, keep: ObjectRef[Any] = ref) -> None:
            callback()

        if self.link.lost is not None or self.values.when_known([id], arrived) == 0:
            callback()

    def fill(self, future: Future[Any], ref: ObjectRef[Any]) -> None:
        self.call_when_ready(ref, lambda: self._finish_soon(future, ref))

    def _finish_soon(self, future: Future[Any], ref: ObjectRef[Any]) -> None:
        self._finishers.put((future, ref))

    def was_awaited(self, ref: ObjectRef[Any]) -> None:
        self.values.were_requested([ref._id])

    @property
    def _finishers(self) -> Any:
        """The queue of a thread that turns arrived values into futures' results: unpickling may run user code."""
        finishers = self.__dict__.get("_finisher_queue")
        if finishers is None:
            finishers = self.__dict__["_finisher_queue"] = codec_queue()
            threading.Thread(
                target=self._finish_futures, args=(finishers,), name="nbaccel-futures", daemon=True
            ).start()
        return finishers

    def _finish_futures(self, finishers: Any) -> None:
        while True:
            self._finish(*finishers.get())

    def _finish(self, future: Future[Any], ref: ObjectRef[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            self.was_awaited(ref)
            return
        try:
            future.set_result(self.get([ref], 0)[0])
        except BaseException as error:  # the user's own exception, whatever it is, belongs to the future
            future.set_exception(error.with_traceback(None))  # its frames hold the future and the ref: a cycle

    # ---- refs

    def hand_over(self, refs: Sequence[ObjectRef[Any]]) -> None:
        """Refs leave this process: the head has to know of their objects."""
        if self.direct is not None:
            self.direct.hand_over([ref._id for ref in refs])

    def reduce_ref(self, ref: ObjectRef[Any]) -> tuple[Any, ...]:
        self.hand_over([ref])
        if not codec.note_ref(ref._id) and self.link.lost is None:
            check_pickled_by_hand(ref._id)
            self.link.send(asks.notified(asks.Pin(ref._id)))  # pickled by hand: it may come back at any time
        return received_ref, (ref._id,)

    def reduce_actor(self, actor: ActorHandle) -> tuple[Any, ...]:
        if actor._counted and not codec.note_ref(actor._actor_id_bytes) and self.link.lost is None:
            self.link.send(asks.notified(asks.Pin(actor._actor_id_bytes)))
        return _reduced_actor(actor)

    # ---- streams

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        return self.streams.next_item(stream, timeout_s)

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        self.streams.when_next_item(stream, callback)

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        self.streams.close(stream._task_id)

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        return self.streams.is_ready(stream)

    def stream_end(self, stream: ObjectRefGenerator) -> ObjectRef[Any]:
        return self.streams.end_ref(stream)

    def _dump(self, value: Any, refs: list[bytes], what: str) -> bytes | codec.PayloadPieces:
        try:
            return codec.dump(value, refs)
        except Exception as error:  # whatever a user's __reduce__ raises
            codec.refuse_to_serialize(what, value, error)


def codec_queue() -> Any:
    from queue import SimpleQueue

    return SimpleQueue()


def received_ref(id: bytes) -> ObjectRef[Any]:
    """Unpickle a ref; it counts for this process from now on. Where there is no engine, each use of it is refused."""
    client: Any = engines.started()
    if client is None:
        return ObjectRef(id, engines.out_of_reach(**REDUCERS))
    client.references.received(id)
    return ObjectRef(id, client)


def received_actor(actor_id: bytes, class_name: str, methods: dict[str, MethodSpec], counted: bool) -> ActorHandle:
    client: Any = engines.started()
    if client is None:
        return ActorHandle(actor_id, class_name, methods, engines.out_of_reach(**REDUCERS), counted=counted)
    return client.actor_handle(actor_id, class_name, methods, counted=counted)  # type: ignore[no-any-return]


def _reduced_actor(actor: ActorHandle) -> tuple[Any, ...]:
    return received_actor, (actor._actor_id_bytes, actor._class_name, actor._method_specs, actor._counted)


_LOCK = type(threading.Lock())
# How refs and handles are pickled in a process that cannot use their cluster: they may go back to one that can.
REDUCERS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "reduce_ref": lambda ref: (received_ref, (ref._id,)),
    "reduce_actor": _reduced_actor,
}


class Waiter:
    """One waiting thread: it counts arrivals, and the last one that it needs, or one that is `enough`, wakes it."""

    __slots__ = ("_enough", "_lock", "_needed", "complete", "ids")

    def __init__(self, enough: Callable[[bytes], bool] | None = None) -> None:
        self.ids: set[bytes] = set()
        self._enough = enough
        self._needed = 1 << 60
        self._lock = threading.Lock()
        self._lock.acquire()
        self.complete = False

    def arrived(self, id: bytes) -> None:
        """Called by the reader thread, once for each id."""
        self.ids.add(id)
        if len(self.ids) >= self._needed or (self._enough is not None and self._enough(id)):
            self._wake()

    def _wake(self) -> None:
        self.complete = True
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it is awake already

    def wait(self, needed: int, timeout_s: float | None) -> bool:
        """Wait for so many arrivals; False after the timeout."""
        self._needed = needed
        if self.complete or len(self.ids) >= needed:
            self.complete = True
            return True
        return interruptible.acquire(self._lock, timeout_s)


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
    """All streams that this process reads: the head pushes items in order, and they wait here for the reader.

    Object index 0 of a streaming task is its end (None, or the error that ended it); item i has index i + 1.
    """

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
