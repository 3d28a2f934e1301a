"""Actors on Ray: made on the choice that is free, found by their names, killed."""

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
from nbaccel.engine import Engine
from nbaccel.handles.internal_work import NAMESPACE, is_hidden
from nbaccel.handles.options import ActorOptions, demand_of_actor
from nbaccel.handles.remote import ActorClass, ActorHandle, MethodSpec
from nbaccel.ray_engine.rays import RaysActor
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission import errors
from nbaccel.ray_engine.submission.errors import translate
from nbaccel.ray_engine.submission.exports import Exporter
from nbaccel.ray_engine.submission.handle_maker import HandleMaker
from nbaccel.ray_engine.submission.objects import Bookkeeper
from nbaccel.ray_engine.submission.options_for_ray import Choices, Choosing, RayChoice, quantities
from nbaccel.ray_engine.submission.shipping import Freshening
from nbaccel.ray_engine.submission.tasks import Args, Named, unwrapped, unwrapped_named


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
        self.class_running_as = exporter.class_running_as
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
