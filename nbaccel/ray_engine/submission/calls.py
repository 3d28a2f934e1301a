"""Remote functions and actors on Ray: calls of both; actors made on the choice that is free, found by names, killed."""

from __future__ import annotations

import importlib
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import ray
from ray.experimental import internal_kv

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.engine import Engine, Returned
from nbaccel.handles.internal_work import NAMESPACE, is_hidden
from nbaccel.handles.options import ActorOptions, MethodOptions, TaskOptions, demand_of_actor, demand_of_task
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle, ActorMethod, MethodSpec, RemoteFunction
from nbaccel.ray_engine.rays import Bound, RaysActor, RaysRemote, RaysResult, is_stream
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission import errors, exports, groups, options_for_ray
from nbaccel.ray_engine.submission.errors import translate
from nbaccel.ray_engine.submission.exports import Exporter, HandleMaker
from nbaccel.ray_engine.submission.objects import Bookkeeper
from nbaccel.ray_engine.submission.options_for_ray import Choices, Choosing, RayChoice, quantities
from nbaccel.ray_engine.submission.shipping import Freshening
from nbaccel.ray_engine.submission.submissions import CallFacts, has_ended
from nbaccel.scheduling.terms import TaskKind

Args = tuple[object, ...]
Named = dict[str, object]
PreparedCall = tuple[RaysRemote[RaysResult], CallFacts]  # Ray's method with its options, and what all its calls share


class RayTasks:
    """Submits functions and calls, and cancels them."""

    def __init__(
        self, session: RaySession, freshening: Freshening, choosing: Choosing, exporter: Exporter, books: Bookkeeper
    ) -> None:
        self._session = session
        self._freshening = freshening
        self._choosing = choosing
        self._exporter = exporter
        self._books = books

    def submit(self, function: RemoteFunction, options: TaskOptions, args: Args, kwargs: Named) -> Returned:
        self._session.head.check()
        self._freshening.look(function, function._function)
        cached = function._cache.get(self._session.serial)
        if cached is None or cached[0] is not options:
            cached = function._cache[self._session.serial] = self._prepared(function, options)
        bound, about = cached[1:]
        submitted_at = time.time()
        args, kwargs = unwrapped(args), unwrapped_named(kwargs)
        try:
            inner = bound.remote(*args, **kwargs)
        except Exception as error:  # whatever the pickling of an argument raises
            errors.name_culprit(error, function._short_name, function._function, args, kwargs)
            raise
        return self._books.returned(inner, about, submitted_at)

    def _prepared(self, function: RemoteFunction, options: TaskOptions) -> tuple[TaskOptions | None, Bound, CallFacts]:
        if self._session.through_client:
            _refuse_stream(function._short_name, options.num_returns, function._is_generator)
        choices = self._choosing.choices(options, demand_of_task)
        chosen, label, why = choices.left[0]
        name = options.name or function._short_name
        demand = quantities(demand_of_task(chosen))
        about = CallFacts(
            name, TaskKind.TASK, demand=demand, choice=label, choice_why=why, options=chosen, **chosen.facts()
        )
        raises = choices.never and self._session.refuses_infeasible
        bound: Bound
        if raises:
            bound = groups.refusing(f"{name} {choices.never}", options, self._exporter.shipping)
        elif len(choices.left) > 1:
            bound = groups.Supervised(function, options, choices, self._exporter)
        else:
            bound = self._exporter.function_with(self._exporter.running_as(function, label), chosen, label)
        lasts = not options.fallback and not self._session.refuses_infeasible
        return options if lasts else None, bound, about

    def call(self, method: ActorMethod, options: MethodOptions, args: Args, kwargs: Named) -> Returned:
        head = self._session.head
        if head.lost:
            head.check()
        handle, spec = method.handle, method._spec
        prepared: PreparedCall | None = handle._cache.get(spec.name) if options is spec.options else None
        bound, about = prepared or self._prepared_call(handle, spec, options)
        for value in args:  # here, since nearly no call has one
            if isinstance(value, ObjectRef):
                args = unwrapped(args)
                break
        submitted_at = time.time()
        try:
            inner = bound.remote(*args, **(unwrapped_named(kwargs) if kwargs else kwargs))
        except ray.exceptions.RayError as error:
            raise translate(error) from None
        except Exception as error:  # what an argument raises; and of Ray, if the handle has outlived its cluster
            if "Can't find actor" not in str(error):
                errors.name_culprit(error, f"{handle._class_name}.{spec.name}", None, args, kwargs)
                raise
            raise exceptions.ActorDiedError(
                f"{handle._class_name}.{spec.name} cannot be called: Ray does not know this actor. Its cluster was "
                "left, or it died long ago. Create it again, or find a detached one with get_actor()."
            ) from None
        return self._books.returned(inner, about, submitted_at, handle._actor_id_bytes)

    def _prepared_call(self, handle: ActorHandle, spec: MethodSpec, options: MethodOptions) -> PreparedCall:
        """The handle keeps it if the call was given no options of its own."""
        if self._session.through_client:
            _refuse_stream(spec.name, options.num_returns, spec.is_generator)
        if options.concurrency_group:
            exports.check_group(handle._inner, handle._class_name, options.concurrency_group)
        bound: RaysRemote[RaysResult] = getattr(handle._inner, spec.name)
        if options is not spec.options:
            keywords = options_for_ray.method_keywords(options)
            bound = options_for_ray.with_keywords(bound, keywords) if keywords else bound
        name = options.name or f"{handle._class_name}.{spec.name}"
        prepared = bound, CallFacts(name, TaskKind.ACTOR_CALL, internal=spec.internal)
        if options is spec.options:
            handle._cache[spec.name] = prepared  # Ray's method refers to Ray's handle, so this makes no cycle
        return prepared

    def cancel(self, ref: ObjectRef[object] | ObjectRefGenerator, *, force: bool, recursive: bool) -> None:
        inner = ref._inner
        if has_ended(inner):
            return
        try:
            ray.cancel(inner, force=force, recursive=recursive)
        except ValueError as error:
            if force:
                raise ValueError("force=True is not supported for actor tasks: kill the actor instead.") from None
            raise error
        if self._session.in_worker:  # a driver sees it at the ref
            end = inner.completed() if is_stream(inner) else inner
            note = {"task_id": end.task_id().binary(), "cancelled_at": time.time()}
            self._session.reporting.reporter.submitted(note)


def _refuse_stream(name: str, num_returns: int | str | None, is_generator: bool) -> None:
    if num_returns == "streaming" or (num_returns is None and is_generator):
        raise exceptions.EngineError(
            f"{name} streams its results, which Ray Client (ray://) does not. Return a list, or join the cluster from "
            "one of its machines with address='host:6379'."
        )


def unwrapped(args: Args) -> Args:
    """Top-level refs as Ray's own, which Ray replaces by their values; those inside of other things stay refs."""
    if any(isinstance(each, ObjectRef) for each in args):
        return tuple([each._inner if isinstance(each, ObjectRef) else each for each in args])
    return args


def unwrapped_named(kwargs: Named) -> Named:
    for value in kwargs.values():
        if isinstance(value, ObjectRef):
            return {name: each._inner if isinstance(each, ObjectRef) else each for name, each in kwargs.items()}
    return kwargs


class RayActors:
    """Makes and finds actors."""

    def __init__(
        self,
        session: RaySession,
        freshening: Freshening,
        choosing: Choosing,
        exporter: Exporter,
        handles: HandleMaker,
        books: Bookkeeper,
    ) -> None:
        self._session = session
        self._freshening = freshening
        self._choosing = choosing
        self._exporter = exporter
        self._handles = handles
        self.class_running_as = exporter.running_as
        self.note_actor = books.note_actor

    @property
    def namespace_of_reports(self) -> str:
        return self._session.namespace_of_reports

    def create_actor(self, actor_class: ActorClass, options: ActorOptions, args: Args, kwargs: Named) -> ActorHandle:
        self._session.head.check()
        self._freshening.look(actor_class, actor_class._class)
        choices = self._choosing.choices(options, lambda some: demand_of_actor(some)[0])
        if choices.never and self._session.refuses_infeasible:
            refused = self._exporter.class_that_refuses(actor_class).remote(f"{actor_class._name} {choices.never}")
            return self._handles.actor_made(refused, actor_class)
        given = (unwrapped(args), unwrapped_named(kwargs))
        if len(choices.left) > 1:
            return Deciding(self, self._handles.engine, actor_class, options, choices, given).start()
        running = self.class_running_as(actor_class, choices.left[0].label)
        submitted_at = time.time()
        inner = self.actor_of(running, choices.left[0], *given)
        handle = self._handles.actor_made(inner, running)
        source = engines.cell_source and engines.cell_source()
        self.note_actor(inner, running, choices.left[0], handle, submitted_at, source)
        return handle

    def actor_of(
        self,
        running: ActorClass,
        choice: RayChoice[ActorOptions],
        args: Sequence[object],
        kwargs: Named,
        *,
        claimed: bool = False,
    ) -> RaysActor:
        """Ray's handle of a new actor; `claimed`: its constructor takes a claim before the user's arguments."""
        bound = self._exporter.class_with(running, choice.options, choice.label, claimed=claimed)
        try:
            return bound.remote(*args, **kwargs)
        except Exception as error:  # whatever the pickling of an argument raises
            errors.name_culprit(error, running._name, running._class, args[1:] if claimed else args, kwargs)
            if isinstance(error, (ValueError, ray.exceptions.RayError)):
                raise self._name_taken(error, choice.options) from None
            raise

    def _name_taken(self, error: Exception, options: ActorOptions) -> BaseException:
        if options.name and internals.is_taken(error):
            return exceptions.ActorAlreadyExistsError(
                f"The namespace {options.namespace or self._session.namespace!r} already has an actor named "
                f"{options.name!r}. Get it with get_actor, kill it, choose another name, or pass get_if_exists=True."
            )
        return translate(error)

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None:
        if not (isinstance(actor, UndecidedActor) and actor.call_off()):
            ray.kill(actor._inner, no_restart=no_restart)

    def get_actor(self, name: str, namespace: str | None) -> ActorHandle:
        where = namespace or self._session.namespace
        try:
            return self._handles.actor(ray.get_actor(name, namespace=where))
        except ValueError:
            there = sorted(row["name"] for row in self._named_everywhere() if row["namespace"] == where)
            known = f" Named actors there: {', '.join(there)}." if there else " There are no named actors in it."
            raise ValueError(f"Failed to look up actor with name {name!r} in namespace {where!r}.{known}") from None

    def list_named_actors(self, all_namespaces: bool) -> list[str] | list[dict[str, str]]:
        from ray.util import list_named_actors

        return self._named_everywhere() if all_namespaces else list(list_named_actors(all_namespaces=False))

    def _named_everywhere(self) -> list[dict[str, str]]:
        """{"name": …, "namespace": …} of each that is not nbaccel's own."""
        from ray.util import list_named_actors

        own = (self._session.namespace_of_reports, NAMESPACE) if is_hidden() else ()
        return [row for row in list_named_actors(all_namespaces=True) if row["namespace"] not in own]


# ----
# actors with several choices on Ray: a thread here tries the choices in order, and uses of the handle wait for it
#
# Ray cannot change the demand of a submitted actor. nbaccel therefore cancels the actor of a busy choice and creates
# that of the next one. A claim (see attempts) decides in the worker whether a constructor may begin.


_NAME_IS_FREE_AFTER_S = 10.0  # Ray gives a name back a moment after the actor that had it was killed


class ActorMaker(Protocol):
    """Makes the actor of one choice."""

    @property
    def namespace_of_reports(self) -> str: ...
    def class_running_as(self, actor_class: ActorClass, label: str) -> ActorClass: ...
    def actor_of(
        self,
        running: ActorClass,
        choice: RayChoice[ActorOptions],
        args: Sequence[object],
        kwargs: dict[str, object],
        *,
        claimed: bool,
    ) -> RaysActor: ...
    def note_actor(
        self,
        inner: RaysActor,
        running: ActorClass,
        choice: RayChoice[ActorOptions],
        handle: ActorHandle,
        submitted_at: float,
        source: tuple[str, bytes] | None,
    ) -> None: ...


class SettledChoice(NamedTuple):
    """The final choice of the actor."""

    inner: RaysActor
    class_name: str
    methods: dict[str, MethodSpec]


class UndecidedActor(ActorHandle):
    """A handle of an actor whose choice is not final yet. Operations that need the actor itself wait for that."""

    def __init__(self, settled: Future[SettledChoice], actor_class: ActorClass, engine: Engine) -> None:
        self._settled = settled
        self._class_name = actor_class._name
        self._method_specs = actor_class._methods
        self._engine = engine
        self._counted = False
        self._cache = {}
        self._trying = b""  # the actor of the choice that is tried now

    @property
    def _id_now(self) -> bytes:
        return self._trying

    def call_off(self) -> bool:
        """End the actor if its choice is not final. Returns whether it was not; then no choice becomes final."""
        words = "The actor was killed by kill() before any of its choices was free."
        try:
            self._settled.set_exception(exceptions.ActorDiedError(words))
        except InvalidStateError:
            return False
        return True

    def __getattr__(self, name: str) -> Any:
        if name in ("_inner", "_actor_id_bytes"):
            inner, self._class_name, self._method_specs = self._settled.result()
            self._inner, self._actor_id_bytes = inner, inner._actor_id.binary()
            return self.__dict__[name]
        return super().__getattr__(name)

    def __repr__(self) -> str:
        if not self._settled.done():
            return f"Actor({self._class_name}, not placed yet)"
        return super().__repr__() if self._settled.exception() is None else f"Actor({self._class_name}, never placed)"


class Deciding:
    """Makes the actor of each choice in turn until one may begin."""

    def __init__(
        self,
        maker: ActorMaker,
        engine: Engine,
        actor_class: ActorClass,
        options: ActorOptions,
        choices: Choices[ActorOptions],
        call: tuple[Sequence[object], dict[str, object]],
    ) -> None:
        self._maker = maker
        self._engine = engine
        self._actor_class = actor_class
        self._options = options
        self._choices = choices
        self._args, self._kwargs = call
        self._attempts = importlib.import_module("nbaccel_in_ray.attempts")
        self._settled: Future[SettledChoice] = Future()
        self._begun_at = time.monotonic()
        self._failed: list[str] = []
        self._source = engines.cell_source and engines.cell_source()
        self._handle: Callable[[], UndecidedActor | None] = lambda: None

    def start(self) -> UndecidedActor:
        """Start trying, and return the handle immediately."""
        handle = UndecidedActor(self._settled, self._actor_class, self._engine)
        self._handle = weakref.ref(handle)
        threading.Thread(target=self._run, name="nbaccel-choices", daemon=True).start()
        return handle

    def _run(self) -> None:
        try:
            choice = self._decide()
        except BaseException as error:  # users of the handle get the error
            with suppress(InvalidStateError):  # or that it was killed
                self._settled.set_exception(error)
            return
        try:
            self._settled.set_result(choice)
        except InvalidStateError:  # it was called off, perhaps while its constructor began
            with suppress(ray.exceptions.RayError, RuntimeError):  # the cluster is gone, and the actor with it
                ray.kill(choice.inner)

    def _decide(self) -> SettledChoice:
        for number, choice in enumerate(self._choices.left):
            key = f"nbaccel:begins:{secrets.token_hex(14)}".encode()
            running = self._maker.class_running_as(self._actor_class, choice.label)
            because = choice._replace(why=self._why(choice, number))
            submitted_at = time.time()
            inner = self._make(because, running, key, number)
            if (handle := self._handle()) is not None:
                handle._trying = inner._actor_id.binary()
                self._maker.note_actor(inner, running, because, handle, submitted_at, self._source)
            last = number + 1 == len(self._choices.left)
            if last or handle is None or self._stays(inner, key, number) or self._settled.done():
                return SettledChoice(inner, running._name, running._methods)
        raise AssertionError("an actor has at least one choice")

    def _why(self, choice: RayChoice[ActorOptions], number: int) -> str:
        if self._failed:
            return f"{choice.label} was taken, because the choice before raised {self._failed[-1]}"
        if number:
            waited_s = time.monotonic() - self._begun_at
            busy = self._choices.busy or "the first choice was busy"
            return f"{choice.label} was taken after {waited_s:.1f} s, because {busy}"
        return choice.why

    def _make(self, choice: RayChoice[ActorOptions], running: ActorClass, key: bytes, number: int) -> RaysActor:
        demand = quantities(demand_of_actor(choice.options)[0])
        claim = self._attempts.Claim(
            key, b"actor", "", choice.label, choice.why, demand, len(self._failed), self._options.fallback_on
        )
        deadline = time.monotonic() + _NAME_IS_FREE_AFTER_S
        while True:
            try:
                return self._maker.actor_of(running, choice, [claim, *self._args], self._kwargs, claimed=True)
            except ValueError:
                if not number or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _stays(self, inner: RaysActor, key: bytes, number: int) -> bool:
        """Whether the actor is kept: its constructor has begun in time, and raised nothing that the next answers."""
        ready = inner.__ray_ready__.remote()
        after_s = self._options.fallback_after_s
        if after_s is not None and not number and not self._choices.busy:
            after_s = max(after_s, self._attempts.STARTS_WITHIN_S)
        deadline = None if after_s is None else time.monotonic() + after_s
        while not ray.wait([ready], timeout=self._attempts.LOOK_EVERY_S, fetch_local=False)[0]:
            if self._settled.done():
                return False  # it was called off
            if self._begun(key):
                if not self._options.fallback_on:
                    return True
                deadline = None
            elif deadline is not None and time.monotonic() >= deadline and self._call_off(inner, key):
                return False
        failed = internal_kv._internal_kv_get(key + b":raised", namespace=self._maker.namespace_of_reports)
        if failed is not None:
            self._failed.append(failed.decode())
        return failed is None

    def _begun(self, key: bytes) -> bool:
        return internal_kv._internal_kv_get(key, namespace=self._maker.namespace_of_reports) is not None

    def _call_off(self, inner: RaysActor, key: bytes) -> bool:
        """Cancel the attempt. Returns whether its constructor had not begun and never will."""
        if internal_kv._internal_kv_put(
            key, b"called off", overwrite=False, namespace=self._maker.namespace_of_reports
        ):
            return False  # Ray answers whether the key was there already
        ray.kill(inner)
        return True
