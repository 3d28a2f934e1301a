"""What a driver and a worker have in common: submitting, putting, getting, waiting.

Everything goes through one Link to the head; a worker is a driver of the tasks that its task submits.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles import (
    ActorClass,
    ActorHandle,
    ActorMethod,
    MethodSpec,
    ObjectRef,
    ObjectRefGenerator,
    RemoteFunction,
)
from nbaccel.local_engine import codec, failures, interruptible, templates, wire
from nbaccel.local_engine.exports import Exports
from nbaccel.local_engine.environment_spec import Environment
from nbaccel.local_engine.holdings import Holdings
from nbaccel.local_engine.ids import IdMaker, return_id, task_of
from nbaccel.local_engine.link import Link
from nbaccel.local_engine.pending_calls import PendingCalls
from nbaccel.local_engine.rooms import Room, Rooms
from nbaccel.local_engine.streams import Streams
from nbaccel.local_engine.values import Values
from nbaccel.options import ActorOptions, MethodOptions, TaskOptions
from nbaccel.placement_group_handle import PlacementGroup

if TYPE_CHECKING:
    from concurrent.futures import Future

INLINE_BYTES = (
    100_000  # larger values go through the arena: below, a copy through the socket is quicker than asking for room
)
_WRITE_PIECES = 512  # of one pwritev; the system takes at most 1024


class Client:
    """One process's part of the engine's promise: tasks, actors and objects."""

    name = "local"

    def __init__(self, link: Link, job: int, arena_fd: int, namespace: str) -> None:
        self.link = link
        self.job = job
        self.namespace = namespace
        self.ids = IdMaker(job)
        self.holdings = Holdings(link)
        self.values = Values(link, self.holdings, arena_fd)
        self.rooms = Rooms(link)
        self.streams = Streams(self)
        self._pending_calls = PendingCalls(self.values)
        self._arena_fd = arena_fd
        self.exports = Exports(link)
        self._templates: dict[bytes, int] = {}
        self._template_numbers = itertools.count(1)
        self.ref_gone = self.holdings.gone

    # What a worker answers differently.

    def running_task(self) -> bytes:
        """The task that submits, b"" in a driver."""
        return b""

    def cell(self) -> tuple[str, bytes]:
        """The notebook cell on whose behalf this code runs."""
        return engines.cell_source() if engines.cell_source is not None else ("", b"")

    def captured_group(self) -> PlacementGroup | None:
        """The placement group that this code's tasks run in unless they say where; the same object each time."""
        return None

    def base_environment(self) -> Environment:
        """The runtime environment that what is submitted here starts from."""
        return {}

    def blocked(self) -> AbstractContextManager[Any]:
        """Entered while this process's code waits for others."""
        return nullcontext()

    # ---- tasks and actors

    def submit(
        self, function: RemoteFunction, options: TaskOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        cell, group = self.cell(), self.captured_group()
        cached = function._cache.get(self)
        if cached is None or cached[0] is not options or cached[1] != cell or cached[4] is not group:
            cached = function._cache[self] = self._task_template(function, options, cell, group)
        return self._send(cached[2], cached[3], args, kwargs, b"", cell[1], function)

    def _task_template(
        self, function: RemoteFunction, options: TaskOptions, cell: tuple[str, bytes], group: PlacementGroup | None
    ) -> tuple[Any, ...]:
        name = function._short_name
        key = self.exports.key_of(function._function, name, function._cache, cell[1])
        fallback = [self.exports.key_of(function._fallback, name, {}, cell[1])] if function._fallback else []
        placed = templates.inheriting(options, self.base_environment(), group)
        template = templates.task_template(function, placed, key, fallback, cell=cell[0], parent=cell[1])
        return options, cell, self._define(template), template.num_returns, group

    def _define(self, template: wire.Template) -> int:
        """The number of this template; the head learns equal ones once."""
        if self.exports.generation and template.kind != 2:
            template.environment += f"+{self.exports.generation}"
        body = wire.encode_body(template)
        number = self._templates.get(body)
        if number is None:
            number = next(self._template_numbers)
            self.link.say(wire.DefineTemplate(number, template))
            self._templates[body] = number  # last: an interrupt before leaves nothing that the head does not know
        return number

    def _send(
        self,
        number: int,
        returns: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        actor_id: bytes,
        cell: bytes,
        code: Any,
    ) -> Any:
        task_id = self.ids.task_id()
        if args or kwargs:
            payload, slots, refs, keep = self._arguments(args, kwargs, code)
        else:
            payload, slots, refs, keep = codec.EMPTY, [], [], None
        message = wire.Submit(task_id, number, payload, slots, refs, actor_id, self.running_task())
        if returns != 1:
            return self._send_many(task_id, returns, message, cell)
        id = return_id(task_id, 0)
        ref: ObjectRef[Any] = ObjectRef(id, self, None, cell)  # first: whatever interrupts us, its end is noted
        self.holdings.created(id)
        self.values.expect((id,))
        self.link.say(message)
        del keep  # the refs to large arguments: from here on the head holds the objects for the task
        return ref

    def _send_many(self, task_id: bytes, returns: int, message: wire.Submit, cell: bytes) -> Any:
        if returns == wire.STREAMING:
            stream = self.streams.open(task_id, cell)
            self.link.say(message)
            return stream
        ids = [return_id(task_id, index) for index in range(max(returns, 1))]  # index 0 of a dynamic one: the generator
        refs = []
        for id in ids:
            refs.append(ObjectRef[Any](id, self, None, cell))
            self.holdings.created(id)
        self.values.expect(ids)
        self.link.say(message)
        if returns == 0:
            return None
        return refs[0] if returns == wire.DYNAMIC else refs

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], code: Any
    ) -> tuple[bytes, list[tuple[int | str, bytes]], list[bytes], Any]:
        """(payload, slots of top-level refs, refs inside, what must live until the message is on its way)."""
        slots: list[tuple[int | str, bytes]] = []
        plain: list[Any] = list(args)
        for index, value in enumerate(args):
            if isinstance(value, ObjectRef):
                slots.append((index, value._id))
                plain[index] = None
        named = dict(kwargs)
        for name, value in kwargs.items():
            if isinstance(value, ObjectRef):
                slots.append((name, value._id))
                named[name] = None
        refs: list[bytes] = []
        keep = None
        payload = self._dump_arguments(plain, named, refs, code)
        if not isinstance(payload, bytes):
            if payload.size > INLINE_BYTES:
                keep = self._put_large(plain, named, slots, code)
                refs.clear()
                payload = self._dump_arguments(plain, named, refs, code)
            payload = payload if isinstance(payload, bytes) else payload.joined()
        return payload, slots, refs, keep

    def _put_large(
        self, plain: list[Any], named: dict[str, Any], slots: list[tuple[int | str, bytes]], code: Any
    ) -> list[ObjectRef[Any]]:
        """Replace the arguments that are too large for a message by refs."""
        kept = []
        places: list[tuple[Any, Any]] = [*enumerate(plain), *named.items()]
        for place, value in places:
            refs: list[bytes] = []
            payload = self._dump(value, refs, f"an argument of {code._short_name}")
            if isinstance(payload, bytes) or payload.size <= INLINE_BYTES // 4:
                continue
            ref = self._put(payload, refs)
            kept.append(ref)
            slots.append((place, ref._id))
            if isinstance(place, int):
                plain[place] = None
            else:
                named[place] = None
        return kept

    def _dump_arguments(
        self, plain: list[Any], named: dict[str, Any], refs: list[bytes], code: Any
    ) -> bytes | codec.Parts:
        try:
            return codec.dump((plain, named), refs)
        except Exception as error:  # whatever a user's __reduce__ raises
            places = [(f"argument {index}", value) for index, value in enumerate(plain)]
            places += [(f"argument {key!r}", value) for key, value in named.items()]
            what, value = next(((what, value) for what, value in places if not codec.can_pickle(value)), places[0])
            raise _cannot_serialize(f"{what} of {code._short_name}", value, error) from error

    def _dump(self, value: Any, refs: list[bytes], what: str) -> bytes | codec.Parts:
        try:
            return codec.dump(value, refs)
        except Exception as error:  # whatever a user's __reduce__ raises
            raise _cannot_serialize(what, value, error) from error

    def create_actor(
        self, actor_class: ActorClass, options: ActorOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ActorHandle:
        namespace = options.namespace or self.namespace
        number = self._actor_template(actor_class, options, namespace)
        actor_id = self.ids.actor_id()
        while options.name and not self.link.ask("reserve_name", [options.name, namespace, actor_id]):
            there = self._named_already(options.name, namespace) if options.get_if_exists else None
            if there is not None:
                return there
            if not options.get_if_exists:
                raise exceptions.ActorAlreadyExistsError(
                    f"The name {options.name} (namespace={namespace!r}) is already taken. Use another name, get the "
                    f"existing actor with get_actor({options.name!r}), kill it, or pass get_if_exists=True."
                )
        self.holdings.created(actor_id)
        methods = templates.methods_with_limit(actor_class, options)
        handle = ActorHandle(actor_id, actor_class._name, methods, self, counted=True)
        try:
            self._send(number, 0, args, kwargs, actor_id, b"", actor_class)
        except BaseException:
            if options.name:
                self.link.ask("release_name", actor_id)
            raise
        return handle

    def _named_already(self, name: str, namespace: str) -> ActorHandle | None:
        try:
            return self.get_actor(name, namespace)
        except ValueError:
            return None  # it has died in this moment

    def _actor_template(self, actor_class: ActorClass, options: ActorOptions, namespace: str) -> int:
        cell, parent = self.cell()
        name = actor_class._name
        key = self.exports.key_of(actor_class._class, name, actor_class._cache, parent)
        fallback = [self.exports.key_of(actor_class._fallback, name, {}, parent)] if actor_class._fallback else []
        options = templates.inheriting(options, self.base_environment(), self.captured_group())
        return self._define(
            templates.actor_template(actor_class, options, key, fallback, cell=cell, parent=parent, namespace=namespace)
        )

    def call(self, method: ActorMethod, options: MethodOptions, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        cell = self.cell()
        cache = method.handle._cache
        where = (method._spec.name, cell)
        cached = cache.get(where)
        if cached is None or cached[2] is not options:
            template = templates.method_template(method, options, cell=cell[0], parent=cell[1])
            cached = cache[where] = (self._define(template), template.num_returns, options)
        if method._spec.max_pending < 0:
            return self._send(cached[0], cached[1], args, kwargs, method.handle._actor_id_bytes, cell[1], method)
        self._pending_calls.check(method)
        returned = self._send(cached[0], cached[1], args, kwargs, method.handle._actor_id_bytes, cell[1], method)
        self._pending_calls.count(method, returned)
        return returned

    def cancel(self, ref: Any, *, force: bool, recursive: bool) -> None:
        task_id = ref._task_id if isinstance(ref, ObjectRefGenerator) else task_of(ref._id)
        if force and self.link.ask("is_actor_task", task_id):
            raise ValueError("force=True is not supported for actor tasks: kill the actor instead.")
        self.link.say(wire.Cancel(task_id, force, recursive))

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None:
        self.link.say(wire.KillActor(actor._actor_id_bytes, no_restart))

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        actor_id, class_name, methods = self.link.ask("get_actor", [name, namespace or self.namespace])
        return self.actor_handle(actor_id, class_name, codec.load_code(methods))

    def actor_handle(self, actor_id: bytes, class_name: str, methods: dict[str, MethodSpec]) -> ActorHandle:
        """A handle that came from elsewhere."""
        self.holdings.received(actor_id)
        return ActorHandle(actor_id, class_name, methods, self, counted=True)

    def list_named_actors(self, all_namespaces: bool) -> list[Any]:
        rows = self.link.ask("list_named_actors", None if all_namespaces else self.namespace)
        return [{"name": n, "namespace": s} for n, s in rows] if all_namespaces else [n for n, _s in rows]

    # ---- objects

    def put(self, value: Any) -> ObjectRef[Any]:
        refs: list[bytes] = []
        return self._put(self._dump(value, refs, "the value"), refs)

    def _put(self, payload: bytes | codec.Parts, refs: list[bytes]) -> ObjectRef[Any]:
        id = self.ids.put_id()
        value, room = self.store(payload)
        ref: ObjectRef[Any] = ObjectRef(id, self)
        self.holdings.created(id)
        self.values.know(id, value)
        self.link.say(wire.Put(id, value, refs))
        if room is not None:
            room.used = True
        return ref

    def store(self, payload: bytes | codec.Parts, status: int = wire.OK) -> tuple[wire.Value, Room | None]:
        """A value for the wire; what is large is written into the arena, whose room is used once the head knows."""
        if isinstance(payload, bytes):
            return wire.Value(status, payload), None
        if payload.size <= INLINE_BYTES:
            return wire.Value(status, payload.joined()), None
        room = self.rooms.take(payload.size)
        self._write(payload.pieces, room.offset)
        return wire.Value(status, None, room.offset, payload.size), room

    def _write(self, pieces: list[Any], offset: int) -> None:
        """Write into the arena. pwritev copies into existing pages without mapping them first."""
        rest = [memoryview(piece).cast("B") for piece in pieces if len(memoryview(piece).cast("B"))]
        while rest:
            done = os.pwritev(self._arena_fd, rest[:_WRITE_PIECES], offset)
            offset += done
            while rest and done >= rest[0].nbytes:
                done -= rest.pop(0).nbytes
            if done:
                rest[0] = rest[0][done:]

    def get(self, refs: Sequence[ObjectRef[Any]], timeout_s: float | None) -> list[Any]:
        ids = [ref._id for ref in refs]
        payloads = self.payloads(ids, timeout_s)
        return [self._loaded(id, *payload) for id, payload in zip(ids, payloads, strict=True)]

    def _loaded(self, id: bytes, status: int, data: Any) -> Any:
        """The value, or raise the error that it is."""
        try:
            value = codec.load(data) if status == wire.OK else failures.error_of(status, data)
        except Exception as error:  # whatever a user's class raises while it is unpickled
            raise exceptions.RaySystemError(
                f"Object {id.hex()} was computed, but unpickling it here raised {type(error).__name__}: {error}. "
                "Its class is imported and rebuilt in this process: return plain data if it cannot be."
            ) from error
        if status != wire.OK:
            raise value
        return value

    def payloads(self, ids: list[bytes], timeout_s: float | None) -> list[tuple[int, Any]]:
        """(status, payload) of each, waiting for those that are not there."""
        found = [self.values.payload(id) for id in ids]
        while None in found:
            missing = list(dict.fromkeys(id for id, payload in zip(ids, found, strict=True) if payload is None))
            if not self._wait_for(missing, timeout_s):
                raise exceptions.GetTimeoutError(
                    f"Get timed out: {len(missing)} of {len(ids)} objects were not ready within {timeout_s} s. "
                    "Their tasks go on; "
                    "nbaccel.explain(ref) says why one waits."
                )
            found = [payload or self.values.payload(id) for id, payload in zip(ids, found, strict=True)]
        return found  # type: ignore[return-value]

    def _wait_for(self, ids: list[bytes], timeout_s: float | None) -> bool:
        """Wait until each value has come; False after the timeout."""
        if self.link.lost is not None:
            raise exceptions.HeadDiedError(self.link.lost)
        waiter = Waiter()
        try:
            missing = self.values.when_known(ids, waiter.arrived)
            if missing == 0:
                return True
            with self.blocked():
                return waiter.wait(missing, timeout_s)
        finally:
            if not waiter.complete:
                self.values.forget_callback(ids, waiter.arrived)

    def value_of(self, payload: tuple[int, Any]) -> Any:
        """The value of a task's argument, or raise the error that it is."""
        status, data = payload
        if status == wire.OK:
            return codec.load(data)
        raise failures.error_of(status, data)

    def wait(
        self, refs: Sequence[ObjectRef[Any]], num_returns: int, timeout_s: float | None, fetch: bool
    ) -> tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]:
        ids = [ref._id for ref in refs]
        waiter = Waiter()
        ready = set(self.values.when_ready(ids, waiter.arrived))
        try:
            if len(ready) < num_returns and timeout_s != 0:
                with self.blocked():
                    waiter.wait(num_returns - len(ready), timeout_s)
        finally:
            self.values.forget_callback(ids, waiter.arrived)
        if timeout_s == 0 and len(ready) < num_returns and not waiter.ids:
            self.link.ask("sync")  # one round trip: what the head knows now is known here
        ready |= waiter.ids
        chosen = [ref for ref in refs if ref._id in ready][:num_returns]
        taken = {ref._id for ref in chosen}
        return chosen, [ref for ref in refs if ref._id not in taken]

    def call_when_ready(self, ref: ObjectRef[Any], callback: Callable[[], None]) -> None:
        id = ref._id

        def arrived(_id: bytes, keep: ObjectRef[Any] = ref) -> None:
            callback()

        if self.link.lost is not None or self.values.when_known([id], arrived) == 0:
            callback()

    def future(self, ref: ObjectRef[Any]) -> Future[Any]:
        from concurrent.futures import Future

        future: Future[Any] = Future()
        self.call_when_ready(ref, lambda: self._finishers.put((future, ref)))
        return future

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
            future, ref = finishers.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self.get([ref], 0)[0])
            except BaseException as error:  # the user's own exception, whatever it is, belongs to the future
                future.set_exception(error)
            del future, ref

    # ---- refs

    def reduce_ref(self, ref: ObjectRef[Any]) -> tuple[Any, ...]:
        if not codec.note_ref(ref._id):
            self.link.say(wire.Ask(0, "pin", wire.pack(ref._id)))  # pickled by hand: it may come back at any time
        return received_ref, (ref._id,)

    def reduce_actor(self, actor: ActorHandle) -> tuple[Any, ...]:
        if not codec.note_ref(actor._actor_id_bytes):
            self.link.say(wire.Ask(0, "pin", wire.pack(actor._actor_id_bytes)))
        return received_actor, (actor._actor_id_bytes, actor._class_name, actor._method_specs)

    # ---- streams

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        return self.streams.next_item(stream, timeout_s)

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        self.streams.when_next_item(stream, callback)

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        self.streams.close(stream)

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        return self.streams.is_ready(stream)

    def stream_end(self, stream: ObjectRefGenerator) -> ObjectRef[Any]:
        return self.streams.end_ref(stream)


def _cannot_serialize(what: str, value: Any, error: Exception) -> TypeError:
    culprit = codec.find_unpicklable(value, "it")
    return TypeError(f"Could not serialize {what}: {culprit} cannot be pickled ({type(error).__name__}: {error}).")


def codec_queue() -> Any:
    from queue import SimpleQueue

    return SimpleQueue()


def received_ref(id: bytes) -> ObjectRef[Any]:
    """Unpickle a ref: this process holds it from now on."""
    client: Any = engines.current()
    client.holdings.received(id)
    return ObjectRef(id, client)


def received_actor(actor_id: bytes, class_name: str, methods: dict[str, MethodSpec]) -> ActorHandle:
    client: Any = engines.current()
    return client.actor_handle(actor_id, class_name, methods)  # type: ignore[no-any-return]


class Waiter:
    """One waiting thread: counts arrivals and is woken by the last that it needs."""

    __slots__ = ("_lock", "_needed", "complete", "ids")

    def __init__(self) -> None:
        self.ids: set[bytes] = set()
        self._needed = 1 << 60
        self._lock = threading.Lock()
        self._lock.acquire()
        self.complete = False

    def arrived(self, id: bytes) -> None:
        """Called by the reader thread, once for each id."""
        self.ids.add(id)
        if len(self.ids) >= self._needed:
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
        if len(self.ids) >= needed:
            self.complete = True
            return True
        return interruptible.acquire(self._lock, timeout_s)
