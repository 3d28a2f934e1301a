"""The part of the engine that drivers and workers share: submitting tasks, starting and calling actors.

Everything goes through one Link to the head; a worker is a driver of the tasks that its task submits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec.structs import asdict, replace

from nbaccel import exceptions
from nbaccel.engine import Engine, ListedRow
from nbaccel.handles import unpicklable
from nbaccel.handles.ids import id_of
from nbaccel.handles.options import ActorOptions, MethodOptions, TaskOptions
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.remote import (
    ActorClass,
    ActorHandle,
    ActorMethod,
    MethodSpec,
    ObjectRef,
    ObjectRefGenerator,
    RemoteFunction,
)
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.direct_calls import ActorClient, ActorConnection
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.object_client import INLINE_BYTES, ObjectClient, PublishedRecords
from nbaccel.local_engine.client.submitter import Submitter
from nbaccel.local_engine.client.task_terms import (
    actor_terms,
    asked,
    inheriting,
    method_terms,
    methods_with_limit,
    task_terms,
)
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import IdMaker, return_id, task_of
from nbaccel.scheduling.terms import TaskKind, Terms
from nbaccel.views.explanations import ExpectedGrowth, Explanation, Probe
from nbaccel.views.observer_lines import (
    Explain,
    FindTasks,
    QueryPublisher,
    Question,
    ReadLogs,
    Recycle,
    RetryTask,
    TakeSnapshot,
)
from nbaccel.views.record_book import Rows
from nbaccel.views.snapshot import ObjectPlaces, Snapshot, decoder
from nbaccel.views.task_filter import FoundTasks, TaskFilter


class Client(ObjectClient):
    """The tasks, actors and objects of one process, as the engine promises; `cluster` keeps the rest of the promise."""

    def __init__(
        self, engine: Engine, link: Link, submitter: Submitter, job: int, arena_fd: int, namespace: str
    ) -> None:
        super().__init__(engine, link, submitter, job, arena_fd, namespace)
        self.cluster = cluster = ClusterView(engine, self)
        self.nodes, self.request_resources = cluster.nodes, cluster.request_resources
        self.hold_resources, self.expected_growth = cluster.hold_resources, cluster.expected_growth
        self.move_objects = cluster.move_objects
        self.lost = cluster.lost
        self.cluster_resources, self.available_resources = cluster.cluster_resources, cluster.available_resources
        self.create_group, self.remove_group = cluster.create_group, cluster.remove_group
        self.why_never_placed = cluster.why_never_placed
        self.group_ready, self.find_group, self.group_table = (
            cluster.group_ready,
            cluster.find_group,
            cluster.group_table,
        )
        self.snapshot, self.tasks = cluster.snapshot, cluster.tasks
        self.explain, self.probe, self.recycle = cluster.explain, cluster.probe, cluster.recycle
        self.cancel_by_id, self.kill_by_id = cluster.cancel_by_id, cluster.kill_by_id
        self.retry, self.ref_of = cluster.retry, cluster.ref_of
        self.publish, self.ask, self.history = cluster.publish, cluster.ask, cluster.history
        self.logs, self.timeline, self.state = cluster.logs, cluster.timeline, cluster.state
        self.object_locations, self.only_in_history = cluster.object_locations, cluster.only_in_history
        self.expect_imports, self.await_output = cluster.expect_imports, cluster.await_output

    def submit(
        self, function: RemoteFunction, options: TaskOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        cell, group = self.submitter.cell(), self.submitter.captured_group()
        cached = function._cache.get(self)
        if cached is None or cached[0] is not options or cached[1] != cell or cached[4] is not group:
            cached = function._cache[self] = self._task_template(function, options, cell, group)
        return self._send(cached[2], cached[3], args, kwargs, b"", cell[1], function)

    def _task_template(
        self, function: RemoteFunction, options: TaskOptions, cell: tuple[str, bytes], group: PlacementGroup | None
    ) -> tuple[Any, ...]:
        name = function._short_name
        key = self.exports.key_of(function._function, name, function._cache, cell[1])
        fallback = self._fallback_key(function, cell[1])
        placed = inheriting(options, self.submitter.base_environment(), group)
        terms = task_terms(function, placed, key, fallback, cell=cell[0], parent=cell[1])
        number = self._define(terms)
        return options, cell, number, terms.num_returns, group

    def _fallback_key(self, code: RemoteFunction | ActorClass, cell: bytes) -> bytes:
        if code._fallback is None:
            return b""
        cache = code._cache.setdefault((self, "fallback"), {})
        return self.exports.key_of(code._fallback, code._short_name, cache, cell)

    def _define(self, terms: Terms) -> int:
        """The number of the template with these terms. Equal terms are sent to the head once."""
        exports = self.exports
        if exports.generation and terms.kind is not TaskKind.ACTOR_CALL:
            terms = replace(terms, environment=f"{terms.environment}+{exports.generation}")
        if exports.surroundings and terms.kind is not TaskKind.ACTOR_CALL:
            terms = replace(terms, surroundings=exports.surroundings)
        body = wire.encode_body(terms)
        number = self._templates.get(body)
        if number is None:
            number = next(self._template_numbers)
            self.link.send(wire.DefineTemplate(number, terms))
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
        message, keep = self._message(number, args, kwargs, actor_id, code)
        ref = self._submit_message(message, returns, cell)
        del keep  # the refs to large arguments: from here on the head holds the objects for the task
        return ref

    def _message(
        self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any], actor_id: bytes, code: Any
    ) -> tuple[wire.Submit, Any]:
        """The message of a submission, and what must live until it is sent."""
        task_id = self.ids.task_id()
        slots: list[tuple[int | str, bytes]] = []
        refs: list[bytes] = []
        keep = None
        payload = None if kwargs else codec.dump_call(args) if args else codec.EMPTY
        if payload is None:
            payload, slots, refs, keep = self._arguments(args, kwargs, code)
        return wire.Submit(task_id, number, payload, slots, refs, actor_id, self.submitter.running_task()), keep

    def _submit_message(self, message: wire.Submit, returns: int, cell: bytes) -> Any:
        task_id = message.task_id
        if returns != 1:
            return self._send_many(task_id, returns, message, cell)
        id = return_id(task_id, 0)
        ref: ObjectRef[Any] = ObjectRef(id, self.engine, None, cell)  # first: whatever interrupts us, its end is noted
        self.references.created(id)
        if self.values.expect_one(id):
            self.link.send_at_once(message)
        else:
            self.link.send(message)
        return ref

    def _send_in_order(
        self,
        connection: ActorConnection,
        terms: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        cell: bytes,
        method: ActorMethod,
    ) -> Any:
        """Send a call on one of the two ways to its actor: directly where that is possible now."""
        direct = self.direct
        assert direct is not None
        number, returns, _options, may, template = terms
        payload = codec.dump_simple(args) if may and not kwargs else None
        message = None
        if payload is None:
            message, _keep = self._message(number, args, kwargs, connection.actor_id, method)
            payload = message.args
            may = may and not message.slots and not message.refs
        with connection.lock:
            if may and connection.is_free(number) and self.link.lost is None:
                task_id = message.task_id if message is not None else self.ids.task_id()
                id = return_id(task_id, 0)
                ref: Any = ObjectRef(id, self.engine, None, cell)
                self.references.created_privately(id)
                direct.call(connection, task_id, number, template, payload)
                watch = None
            else:
                if message is None:
                    message = self._simple_message(number, payload, connection.actor_id)
                ref, watch = self._through_head(direct, connection, message, number, returns, cell)
        if watch is not None:
            watch()
        direct.hold_back(connection)
        return ref

    def _simple_message(self, number: int, payload: bytes, actor_id: bytes) -> wire.Submit:
        return wire.Submit(self.ids.task_id(), number, payload, actor_id=actor_id, parent=self.submitter.running_task())

    def _through_head(
        self,
        direct: ActorClient,
        connection: ActorConnection,
        message: wire.Submit,
        number: int,
        returns: int,
        cell: bytes,
    ) -> tuple[Any, Callable[[], None]]:
        """Send a call through the head, after all direct ones. Returns its ref, and what is to be called next."""
        if connection.sent:
            message.after = connection.sent
            direct.calls.report()  # the head has the calls in their order
        ref = self._submit_message(message, returns, cell)
        return ref, direct.follow(connection, ref, number)

    def _send_many(self, task_id: bytes, returns: int, message: wire.Submit, cell: bytes) -> Any:
        if returns == wire.STREAMING:
            stream = self.streams.open(task_id, cell)
            self.link.send(message)
            return stream
        ids = [return_id(task_id, index) for index in range(max(returns, 1))]  # index 0 of a dynamic one: the generator
        refs = []
        for id in ids:
            refs.append(ObjectRef[Any](id, self.engine, None, cell))
            self.references.created(id)
        self.values.expect(ids)
        self.link.send(message)
        if returns == 0:
            return None
        return refs[0] if returns == wire.DYNAMIC else refs

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], code: Any
    ) -> tuple[bytes, list[tuple[int | str, bytes]], list[bytes], Any]:
        """Pack arguments: (payload, slots of top-level refs, refs inside, what must live until the message is sent)."""
        slots: list[tuple[int | str, bytes]] = []
        plain: list[Any] = list(args)
        for index, value in enumerate(args):
            if isinstance(value, ObjectRef):
                self.hand_over([value])
                slots.append((index, value._id))
                plain[index] = None
        named = dict(kwargs)
        for name, value in kwargs.items():
            if isinstance(value, ObjectRef):
                self.hand_over([value])
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
    ) -> bytes | codec.PayloadPieces:
        try:
            return codec.dump_arguments(plain, named, refs)
        except Exception as error:  # whatever a user's __reduce__ raises
            unpicklable.refuse_argument(code._short_name, plain, named, error, codec.can_pickle)
            raise

    def create_actor(
        self, actor_class: ActorClass, options: ActorOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ActorHandle:
        namespace = options.namespace or self.namespace
        number, terms = self._actor_template(actor_class, options, namespace)
        actor_id = self.ids.actor_id()
        if options.name:
            self.link.flush_ended()  # the last handle of the name's former owner may just have gone
        while options.name and not self.link.ask(asks.ReserveName(options.name, namespace, actor_id)):
            there = self._named_already(options.name, namespace) if options.get_if_exists else None
            if there is not None:
                return there
            if not options.get_if_exists:
                raise exceptions.ActorAlreadyExistsError(
                    f"The name {options.name} (namespace={namespace!r}) is already taken. Use another name, get the "
                    f"existing actor with get_actor({options.name!r}), kill it, or pass get_if_exists=True."
                )
        self.references.created(actor_id)
        methods = methods_with_limit(actor_class, options)
        handle = ActorHandle(actor_id, actor_class._name, methods, self.engine, counted=True)
        self.link.nudge_at_end_of(handle)
        if self.direct is not None:
            self.direct.learn(actor_id, terms)
        try:
            self._send(number, 0, args, kwargs, actor_id, b"", actor_class)
        except BaseException:
            if options.name:
                self.link.ask(asks.ReleaseName(actor_id))
            raise
        return handle

    def _named_already(self, name: str, namespace: str) -> ActorHandle | None:
        """The existing actor, for get_if_exists. The handle is counted: a repeated cell does not end the actor."""
        try:
            return self._named(name, namespace, counted=True)
        except ValueError:
            return None  # it has died in this moment

    def _actor_template(self, actor_class: ActorClass, options: ActorOptions, namespace: str) -> tuple[int, Terms]:
        cell, parent = self.submitter.cell()
        name = actor_class._name
        key = self.exports.key_of(actor_class._class, name, actor_class._cache, parent)
        fallback = self._fallback_key(actor_class, parent)
        options = inheriting(options, self.submitter.base_environment(), self.submitter.captured_group())
        terms = actor_terms(actor_class, options, namespace, key, fallback, cell=cell, parent=parent)
        return self._define(terms), terms

    def call(self, method: ActorMethod, options: MethodOptions, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.link.was_left:
            raise exceptions.ActorDiedError(
                f"{method.handle._class_name}.{method._spec.name} cannot be called: this handle belongs to a cluster "
                "that nbaccel.shutdown() has left. Create the actor again, or find a detached one with get_actor()."
            )
        cell = self.submitter.cell()
        cache = method.handle._cache
        where = (method._spec.name, cell)
        cached = cache.get(where)
        if cached is None or cached[2] is not options:
            terms = method_terms(method, options, cell=cell[0], parent=cell[1])
            number = self._define(terms)
            cached = cache[where] = (number, terms.num_returns, options, terms.may_be_direct, terms)
        if method._spec.max_pending < 0:
            direct = self.direct
            connection = direct.connection_to(method.handle._actor_id_bytes) if direct is not None else None
            if connection is not None:
                return self._send_in_order(connection, cached, args, kwargs, cell[1], method)
            return self._send(cached[0], cached[1], args, kwargs, method.handle._actor_id_bytes, cell[1], method)
        self._pending_calls.check(method)
        returned = self._send(cached[0], cached[1], args, kwargs, method.handle._actor_id_bytes, cell[1], method)
        self._pending_calls.count(method, returned)
        return returned

    def cancel(self, ref: Any, *, force: bool, recursive: bool) -> None:
        task_id = ref._task_id if isinstance(ref, ObjectRefGenerator) else task_of(ref._id)
        if self.direct is not None:
            self.direct.report()
        if force and self.link.ask(asks.IsActorTask(task_id)):
            raise ValueError("force=True is not supported for actor tasks: kill the actor instead.")
        self.link.send(wire.Cancel(task_id, force, recursive))

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None:
        if self.direct is not None:
            self.direct.stop(actor._actor_id_bytes)
        self.link.send(wire.KillActor(actor._actor_id_bytes, no_restart))

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        return self._named(name, namespace or self.namespace, counted=False)

    def _named(self, name: str, namespace: str, *, counted: bool) -> ActorHandle:
        found = self.link.ask(asks.FindActor(name, namespace))
        return self.actor_handle(found.actor_id, found.class_name, codec.load_code(found.methods), counted=counted)

    def actor_handle(
        self, actor_id: bytes, class_name: str, methods: dict[str, MethodSpec], *, counted: bool
    ) -> ActorHandle:
        """A handle from another process. As in Ray, a handle that is not counted does not keep its actor alive."""
        if counted:
            self.references.received(actor_id)
        handle = ActorHandle(actor_id, class_name, methods, self.engine, counted=counted)
        self.link.nudge_at_end_of(handle)
        return handle

    def list_named_actors(self, all_namespaces: bool) -> list[Any]:
        rows = self.link.ask(asks.ListNamedActors(None if all_namespaces else self.namespace))
        return [{"name": n, "namespace": s} for n, s in rows] if all_namespaces else [n for n, _s in rows]


A = TypeVar("A")


class Asker(Protocol):
    """The process that asks. A worker's job and namespace are known only after its start."""

    @property
    def link(self) -> Link: ...
    @property
    def direct(self) -> ActorClient | None: ...
    @property
    def job(self) -> int: ...
    @property
    def namespace(self) -> str: ...
    @property
    def ids(self) -> IdMaker: ...
    @property
    def references(self) -> ReferenceCounts: ...
    @property
    def values(self) -> Values: ...
    @property
    def published(self) -> PublishedRecords: ...


class ClusterView:
    """Asks the head for one process; the refs in its answers belong to `engine`."""

    def __init__(self, engine: Engine, asker: Asker) -> None:
        self._engine = engine
        self._asker = asker
        self._link = asker.link

    def lost(self) -> str:
        return self._link.lost or ""

    def nodes(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self._link.ask(asks.ListNodes())]

    def cluster_resources(self) -> dict[str, float]:
        return self._link.ask(asks.TotalResources())

    def available_resources(self) -> dict[str, float]:
        return self._link.ask(asks.FreeResources())

    def snapshot(self) -> Snapshot:
        snapshot = self._link.ask(TakeSnapshot())
        snapshot.runtime.job = self._asker.job
        return snapshot

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        return self._link.ask(FindTasks(wanted))

    def explain(self, what: str | None) -> list[Explanation]:
        return self._link.ask(Explain(what))

    def probe(self, options: TaskOptions) -> Probe:
        return self._link.ask(asks.ProbeChoice(asked(options)))

    def recycle(self) -> int:
        return self._link.ask(Recycle())

    def expect_imports(self, modules: Sequence[str]) -> None:
        self._link.send_later(asks.notified(asks.ExpectImports(list(modules))))

    def only_in_history(self, ids: list[bytes]) -> None:
        """Tell the head that only a notebook's output history still refers to these objects."""
        if ids:
            self._link.send_later(asks.notified(asks.MoveFirst(ids)))

    def logs(self, task_id: str | None, *, tail: int) -> str:
        return self._link.ask(ReadLogs(task_id, tail))

    def await_output(self, timeout_s: float) -> None:
        """Do nothing: only a driver shows output."""

    def history(self, asked: Question[A]) -> A:
        return self._link.ask(asked)

    def state(self, kind: type[ListedRow], limit: int) -> list[ListedRow]:
        rows = self._link.ask(asks.ReadState(kind.__name__, limit))
        return decoder(list[kind]).decode(rows)  # type: ignore[no-any-return, valid-type]

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        if self._asker.direct is not None:
            self._asker.direct.report()
        self._link.send(wire.Cancel(id_of(task_id, "a task"), force))

    def retry(self, task_id: str) -> str:
        return self._link.ask(RetryTask(task_id))

    def ref_of(self, task_id: str) -> list[ObjectRef[Any]]:
        refs = []
        for id in self._link.ask(asks.FindResults(task_id)):
            self._asker.references.received(id)
            refs.append(ObjectRef[Any](id, self._engine))
        return refs

    def kill_by_id(self, actor_id: str) -> None:
        id = id_of(actor_id, "an actor")
        if self._asker.direct is not None:
            self._asker.direct.stop(id)
        self._link.send(wire.KillActor(id))

    def publish(
        self,
        kind: str,
        id: str,
        record: Mapping[str, Any] | None,
        asked: Callable[[str], object] | None = None,
        rows: Rows | None = None,
    ) -> None:
        self._asker.published.publish(kind, id, record, asked, rows)

    def ask(self, id: str, what: str) -> None:
        self._link.ask(QueryPublisher(id, what))

    def object_locations(self, refs: Sequence[ObjectRef[Any]]) -> list[ObjectPlaces]:
        if self._asker.direct is not None:
            self._asker.direct.hand_over([ref.binary() for ref in refs])
        return self._link.ask(asks.LocateObjects([ref.binary() for ref in refs]))

    def timeline(self) -> list[dict[str, Any]]:
        return self._link.ask(asks.ReadTimeline())

    def request_resources(
        self,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        one_cpu: list[dict[str, float]] = [{"CPU": 1}]
        labels = [*([{}] * (num_cpus or 0)), *bundle_labels] if bundle_labels else []
        return self._link.ask(asks.RequestResources([*(one_cpu * (num_cpus or 0)), *(bundles or [])], labels))

    def hold_resources(self, id: str, bundles: list[dict[str, float]]) -> bool:
        return self._link.ask(asks.HoldResources(id, bundles))

    def expected_growth(self, bundles: list[dict[str, float]]) -> ExpectedGrowth | None:
        return self._link.ask(asks.ForecastGrowth(bundles))

    def move_objects(self, node: str) -> tuple[int, int]:
        return self._link.ask(asks.MoveObjects(node))

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
        labels, namespace = bundle_labels, self._asker.namespace
        self._link.ask(asks.CreateGroup(group_id, bundles, strategy, name, detached, labels, namespace, soft_node))
        return group_id

    def group_ready(self, group_id: bytes, value: Any) -> ObjectRef[Any]:
        ready = return_id(self._asker.ids.task_id(), 0)
        self._asker.references.created(ready)
        self._asker.values.expect((ready,))
        payload = codec.dump(value, [])
        body = payload if isinstance(payload, bytes) else payload.joined()
        self._link.ask(asks.WhenGroupReady(group_id, ready, body))
        return ObjectRef(ready, self._engine)

    def remove_group(self, group_id: bytes) -> None:
        self._link.ask(asks.RemoveGroup(group_id))

    def why_never_placed(self, bundles: list[dict[str, float]], strategy: str) -> str:
        return self._link.ask(asks.WhyNeverPlaced(bundles, strategy))

    def group_table(self, group_id: bytes | None) -> dict[str, Any]:
        rows = self._link.ask(asks.ReadGroups(group_id))
        if group_id is None:
            return {row.placement_group_id: asdict(row) for row in rows}
        return asdict(rows[0]) if rows else {}

    def find_group(self, name: str) -> dict[str, Any] | None:
        found = self._link.ask(asks.FindGroup(name, self._asker.namespace))
        return asdict(found) if found is not None else None
