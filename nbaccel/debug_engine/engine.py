"""The debug engine as users see it: what they submit runs before `.remote()` returns."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from msgspec.structs import replace

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.debug_engine.actors import DebugActors
from nbaccel.debug_engine.inside import Inside
from nbaccel.debug_engine.machine import DebugMachine
from nbaccel.debug_engine.picture import DebugPicture
from nbaccel.debug_engine.reader import DebugStreams
from nbaccel.debug_engine.stage import Stage, deadlock
from nbaccel.debug_engine.values import DebugValues
from nbaccel.debug_engine.workers import Entry
from nbaccel.handles.ids import PlacementGroupID
from nbaccel.handles.options import ActorOptions, InitOptions, MethodOptions, TaskOptions
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.refs import check_pickled_by_hand
from nbaccel.handles.remote import ActorClass, ActorHandle, ActorMethod, ObjectRef, ObjectRefGenerator, RemoteFunction
from nbaccel.local_engine import wire
from nbaccel.local_engine.client import environment_spec
from nbaccel.local_engine.client.pending_calls import PendingCalls
from nbaccel.local_engine.client.task_terms import actor_terms, inheriting, method_terms, methods_with_limit, task_terms
from nbaccel.local_engine.head.groups import GroupNameTaken, Groups
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire.driver_questions import CreateGroup
from nbaccel.local_engine.wire.ids import IdMaker, return_id, task_of
from nbaccel.local_engine.worker.execution import Running, current_run
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Task, TaskKind, Terms
from nbaccel.views.record_book import OwnRecords

JOB = 1


class DebugEngine:
    """Keeps the promise of an engine in one process and one thread."""

    name = "debug"

    def __init__(self, options: InitOptions) -> None:
        self.options = options
        self.namespace = options.namespace or os.urandom(16).hex()
        self.ended = False
        published = OwnRecords(JOB)
        self.publish, self.ask = published.publish, published.ask
        self.ids = IdMaker(JOB)
        self.values = DebugValues(lambda id: self.actors.out_of_scope(id))
        self._pending_calls = PendingCalls(self.values)
        self.actors = DebugActors(self)
        self.streams = DebugStreams(self)
        self._environment = environment_spec.spelled_out(options.runtime_env)
        self._keys: dict[int, tuple[bytes, Any]] = {}  # id of a function or class -> (its key, itself, to keep the id)
        machine = DebugMachine(options)
        self.stage = Stage(self, machine)
        scheduler = self.stage.scheduler
        self.groups: Groups[bytes | None] = Groups(
            scheduler, self.stage.tell, lambda id, owner, value: self.values.fill(id, value)
        )
        self.stage.begin()
        self.ref_gone = self.values.gone
        self._show(DebugPicture(scheduler, machine, self.actors, self.groups, self.values, published))
        inside = Inside(self.stage, self.actors, machine.node_id, self.namespace)
        self.context, self.actor_devices = inside.context, inside.actor_devices
        self.current_actor, self.exit_actor = inside.current_actor, inside.exit_actor

    def _show(self, picture: DebugPicture) -> None:
        self.nodes, self.cluster_resources = picture.nodes, picture.cluster_resources
        self.available_resources, self.timeline = picture.available_resources, picture.timeline
        self.snapshot, self.tasks, self.state = picture.snapshot, picture.tasks, picture.state
        self.explain, self.probe = picture.explain, picture.probe

    # ---- submitting

    def submit(
        self, function: RemoteFunction, options: TaskOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        inherited = self._inheriting(options)
        key = self._key_of(function._function)
        fallback = self._key_of(function._fallback) if function._fallback else b""
        cell, parent = self.cell()
        terms = task_terms(function, inherited, key, fallback, cell=cell, parent=parent)
        return self._send(terms, inherited, args, kwargs, b"")

    def create_actor(
        self, actor_class: ActorClass, options: ActorOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ActorHandle:
        inherited = self._inheriting(options)
        namespace = options.namespace or self.namespace
        key = self._key_of(actor_class._class)
        fallback = self._key_of(actor_class._fallback) if actor_class._fallback else b""
        cell, parent = self.cell()
        terms = actor_terms(actor_class, inherited, namespace, key, fallback, cell=cell, parent=parent)
        actor_id = self.ids.actor_id()
        there = self.actors.take_name(options, namespace, actor_id)
        if there is not None:
            return there
        methods = methods_with_limit(actor_class, inherited)
        handle = self.actors.handle(actor_id, actor_class._name, methods)
        try:
            self._send(terms, inherited, args, kwargs, actor_id)
        except BaseException:
            self.actors.free_name(actor_id)
            raise
        return handle

    def call(self, method: ActorMethod, options: MethodOptions, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        cell, parent = self.cell()
        terms = method_terms(method, options, cell=cell, parent=parent)
        actor_id = method.handle._actor_id_bytes
        self.actors.check_group(actor_id, terms.concurrency_group)
        if method._spec.max_pending < 0:
            return self._send(terms, None, args, kwargs, actor_id)
        self._pending_calls.check(method)
        returned = self._send(terms, None, args, kwargs, actor_id)
        self._pending_calls.count(method, returned)
        return returned

    def _inheriting(self, options: Any) -> Any:
        running = current_run.get()
        outer = self._environment if running is None else running.environment or {}
        return inheriting(options, outer, self._captured(running))

    def _captured(self, running: Running | None) -> PlacementGroup | None:
        """The group that what this code submits runs in, unless it says where."""
        if running is None or not running.terms.capture or not running.terms.choices:
            return None
        group_id = running.terms.choices[running.run.choice].placement.group_id
        if group_id is not None and running.captured is None:
            running.captured = PlacementGroup(PlacementGroupID(group_id))
        return running.captured

    def _key_of(self, code: Any) -> bytes:
        known = self._keys.get(id(code))
        if known is None:
            _check_pickles(code)
            key = os.urandom(16)
            known = self._keys[id(code)] = (key, code)
        self.stage.execution.learn(*known)
        return known[0]

    def _send(self, terms: Terms, options: Any, args: tuple[Any, ...], kwargs: dict[str, Any], actor_id: bytes) -> Any:
        self.values.sweep()
        payload, slots, refs = self._arguments(args, kwargs)
        running = current_run.get()
        parent = running.task_id if running is not None else b""
        submit = wire.Submit(self.ids.task_id(), 0, payload, slots, refs, actor_id, parent)
        entry = Entry(submit, self._of_job(terms), JOB, time.time())
        entry.environment = (options.runtime_env if options is not None else None) or {}
        returned = self._returned(submit.task_id, terms)
        task = self._task(entry, actor_id)
        if terms.kind is TaskKind.ACTOR_CREATION:
            self.actors.add(task)
        self._begin(task, slots)
        return returned

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bytes, list[tuple[int | str, bytes]], list[bytes]]:
        """Arguments are pickled, as they would be on their way to a worker; refs at the top become values."""
        places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        slots = [(place, value._id) for place, value in places if isinstance(value, ObjectRef)]
        plain = [None if isinstance(value, ObjectRef) else value for value in args]
        named = {name: None if isinstance(value, ObjectRef) else value for name, value in kwargs.items()}
        refs: list[bytes] = []
        payload = codec.dump((plain, named), refs)
        self.values.keep([*refs, *(id for _place, id in slots)])
        return payload if isinstance(payload, bytes) else payload.joined(), slots, refs

    def _returned(self, task_id: bytes, terms: Terms) -> Any:
        returns = terms.num_returns
        if returns == wire.STREAMING:
            return self.streams.open(task_id)
        refs = [self.ref(return_id(task_id, index)) for index in range(terms.returns)]
        if terms.kind is TaskKind.ACTOR_CREATION or returns == 0:
            return None
        return refs if returns > 1 else refs[0]

    def ref(self, id: bytes) -> ObjectRef[Any]:
        """A new ref to an object."""
        self.values.hold(id)
        return ObjectRef(id, self)

    def _of_job(self, terms: Terms) -> Terms:
        """The scheduler's form; in one process nothing is fresh, and no worker is replaced."""
        refuses = self.options.infeasible == "raise"
        return replace(terms.of_job(JOB, refuse_infeasible=refuses), fresh=False, max_calls=0)

    def _task(self, entry: Entry, actor_id: bytes) -> Task:
        submit = entry.submit
        return Task(
            entry.terms, submit.task_id, entry, actor_id=actor_id or None, parent_task_id=submit.parent or None,
            caller=b"driver", owner_worker=self.stage.worker_of(submit.parent), submitted_at=entry.submitted_at,
            retries_left=entry.terms.max_retries or 0,
        )  # fmt: skip

    def _begin(self, task: Task, slots: list[tuple[int | str, bytes]]) -> None:
        """Hand it to the scheduler: it runs now, or waits for what it lacks."""
        values = {id: self.values.value(id) for _place, id in slots}
        broken = next(((id, value) for id, value in values.items() if value and value.status != wire.OK), None)
        if broken is not None and task.kind is not TaskKind.ACTOR_CREATION:
            self.stage.fail_for_argument(task, *broken)
            return
        task.missing = {id for id, value in values.items() if value is None} or None
        with self.stage.waiting():
            self.stage.tell(ev.TaskSubmitted(task))

    def cell(self) -> tuple[str, bytes]:
        running = current_run.get()
        if running is not None:
            return running.terms.cell, running.terms.parent
        return engines.cell_source() if engines.cell_source is not None else ("", b"")

    def cancel(self, ref: ObjectRef[Any] | ObjectRefGenerator, *, force: bool, recursive: bool) -> None:
        task_id = ref._task_id if isinstance(ref, ObjectRefGenerator) else task_of(ref._id)
        record = self.stage.scheduler.task_record(task_id)
        if force and record is not None and record.task.kind is TaskKind.ACTOR_CALL:
            raise ValueError("force=True is not supported for actor tasks: kill the actor instead.")
        self.stage.tell(ev.CancelAsked(task_id, False, recursive))

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None:
        self.stage.tell(ev.ActorKillAsked(actor._actor_id_bytes, no_restart))

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        return self.actors.named(name, namespace or self.namespace)

    def list_named_actors(self, all_namespaces: bool) -> list[Any]:
        return self.actors.names(None if all_namespaces else self.namespace)

    # ---- objects

    def put(self, value: Any) -> ObjectRef[Any]:
        refs: list[bytes] = []
        payload = codec.dump(value, refs)
        id = self.ids.put_id()
        self.values.keep(refs)
        self.values.fill(id, wire.Value(wire.OK, payload if isinstance(payload, bytes) else payload.joined()))
        return self.ref(id)

    def put_raised(self, value: wire.Value, refs: list[bytes]) -> ObjectRef[Any]:
        """A ref to an error (asked by Execution)."""
        id = self.ids.put_id()
        self.values.keep(refs)
        self.values.fill(id, value)
        return self.ref(id)

    def prepare_to_store(self, running: object) -> None:
        """Nothing has to be put back first: this process is the user's own (asked by Execution)."""

    def store(self, payload: Any, status: int = wire.OK) -> tuple[wire.Value, None]:
        """A result on its way into the objects (asked by Execution)."""
        return wire.Value(status, payload if isinstance(payload, bytes) else payload.joined()), None

    def value_of(self, payload: tuple[int, Any]) -> Any:
        """The value of an argument, or raise the error that it is (asked by Execution)."""
        from nbaccel.local_engine.wire import failures

        if payload[0] == wire.OK:
            return codec.load(payload[1])
        raise failures.error_of(*payload)

    def get(self, refs: Sequence[ObjectRef[Any]], timeout_s: float | None) -> list[Any]:
        self.values.sweep()
        for ref in refs:
            if ref._id not in self.values and not self.await_object(ref._id, timeout_s):
                raise self.never(ref._id, timeout_s)
        return [self.values.got(ref._id) for ref in refs]

    def await_object(self, id: bytes, timeout_s: float | None = None) -> bool:
        """Let everything go on that can, until the object is there; False when it will never be, or not in time."""
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        with self.stage.waiting():
            while id not in self.values:
                stream = self.stage.streams.get(task_of(id))
                if stream is not None:
                    self.streams.read_on(stream)
                elif not self.stage.advance(until):
                    return False
        return True

    def never(self, id: bytes, timeout_s: float | None) -> Exception:
        """What to raise for an object that nothing makes any more, or not in time."""
        if timeout_s is not None:
            return exceptions.GetTimeoutError(f"Get timed out: 1 object was not ready within {timeout_s} s.")
        rows = self.explain(task_of(id).hex())
        return deadlock(rows[0].sentence if rows else f"object {id.hex()} does not exist any more.")

    def wait(
        self, refs: Sequence[ObjectRef[Any]], num_returns: int, timeout_s: float | None, fetch: bool
    ) -> tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]:
        if timeout_s != 0:
            for ref in refs:
                if sum(each._id in self.values for each in refs) >= num_returns:
                    break
                self.await_object(ref._id, timeout_s)
        ready = [ref for ref in refs if ref._id in self.values][:num_returns]
        if len(ready) < num_returns and timeout_s is None:
            missing = next(ref for ref in refs if ref not in ready)
            raise self.never(missing._id, None)
        return ready, [ref for ref in refs if ref not in ready]

    def was_awaited(self, ref: ObjectRef[Any]) -> None:
        """Nothing to note: errors of unread results are not told on this engine."""

    def call_when_ready(self, ref: ObjectRef[Any], callback: Callable[[], None]) -> None:
        self.values.when_known(ref._id, callback)

    def future(self, ref: ObjectRef[Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def finish() -> None:
            try:
                future.set_result(self.values.got(ref._id))
            except BaseException as error:  # the user's own exception belongs to the future
                future.set_exception(error)

        self.values.when_known(ref._id, finish)
        return future

    def reduce_ref(self, ref: ObjectRef[Any]) -> tuple[Any, ...]:
        if not codec.note_ref(ref._id):
            check_pickled_by_hand(ref._id)
        self.values.keep((ref._id,))
        return received_ref, (ref._id,)

    def reduce_actor(self, actor: ActorHandle) -> tuple[Any, ...]:
        if actor._counted:
            codec.note_ref(actor._actor_id_bytes)
            self.values.keep((actor._actor_id_bytes,))
        return received_actor, (actor._actor_id_bytes, actor._class_name, actor._method_specs, actor._counted)

    # ---- streams

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        return self.streams.next_item(stream, timeout_s)

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        callback()

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        self.streams.close(stream)

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        return True

    def stream_end(self, stream: ObjectRefGenerator) -> ObjectRef[Any]:
        return self.ref(return_id(stream._task_id, 0))

    # ---- placement groups

    def create_group(
        self,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: list[dict[str, str]] | None,
        soft_node: str,
    ) -> bytes:
        group_id = os.urandom(18)
        asked = CreateGroup(group_id, bundles, strategy, name, detached, bundle_labels)
        try:
            self.groups.create(asked, JOB, refuses=self.options.infeasible == "raise")
        except GroupNameTaken as error:
            raise exceptions.RaySystemError(str(error)) from None
        return group_id

    def group_ready(self, group_id: bytes, value: Any) -> ObjectRef[Any]:
        id, running = return_id(self.ids.task_id(), 0), current_run.get()
        owner = self.stage.worker_of(running.task_id) if running is not None else None
        self.groups.ready(group_id, id, owner, self.store(codec.dump(value, []))[0])
        return self.ref(id)

    def find_group(self, name: str) -> dict[str, Any] | None:
        return self.groups.find(name, "")

    def remove_group(self, group_id: bytes) -> None:
        self.groups.remove(group_id)

    def group_table(self, group_id: bytes | None) -> dict[str, Any]:
        return self.groups.table(group_id)

    # ---- what views ask

    def request_resources(
        self,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        return False

    def object_locations(self, refs: Sequence[ObjectRef[Any]]) -> list[dict[str, Any]]:
        sizes = {row["object_id"]: row["object_size"] for row in self.values.rows()}
        return [{"node_ids": [], "object_size": sizes.get(ref.hex()), "did_spill": False} for ref in refs]

    def report_progress(self, done: float, total: float) -> None:
        """Whoever debugs sees where the code is."""

    def recycle(self) -> int:
        return 0

    def watch(self, callback: Callable[[Any], None] | None, *, metrics: bool = True, rows: int = 0) -> None:
        """One picture: while somebody looks, nothing runs, and while something runs, nobody looks."""
        if callback is not None:
            callback(None if self.ended else self.snapshot())

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        """What a picture shows is over: a task runs while the picture waits."""

    def kill_by_id(self, actor_id: str) -> None:
        self.stage.tell(ev.ActorKillAsked(bytes.fromhex(actor_id)))

    def only_in_history(self, ids: list[bytes]) -> None:
        """Nothing is ever moved to disk here."""

    def logs(self, task_id: str | None, *, tail: int) -> str:
        return ""

    # ---- the end

    def shutdown(self) -> None:
        self.ended = True
        self.stage.tell(ev.JobEnded(JOB))
        engines.adopt(None)


_PROMISE: type[engines.Engine] = DebugEngine  # mypy compares them


def _check_pickles(code: Any) -> None:
    """What could not travel to a worker is refused here too. Raises TypeError, naming the part."""
    name = getattr(code, "__name__", type(code).__name__)
    try:
        codec.dump_code(code)
    except Exception as error:  # whatever a captured object's pickling raises
        raise TypeError(
            f"Could not serialize {name}: {codec.find_unpicklable(code, name)} cannot be pickled ({error}). Create it "
            "inside the function, or pass what is needed to make it."
        ) from error


def received_ref(id: bytes) -> ObjectRef[Any]:
    engine: Any = engines.current()
    return engine.ref(id)  # type: ignore[no-any-return]


def received_actor(actor_id: bytes, class_name: str, methods: Any, counted: bool) -> ActorHandle:
    engine: Any = engines.current()
    return engine.actors.handle(actor_id, class_name, methods, counted=counted)  # type: ignore[no-any-return]
