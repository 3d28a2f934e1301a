"""Remote functions and actors on Ray."""

from __future__ import annotations

import inspect
from typing import Any

import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.arity import arity_of
from nbaccel.handles.options import (
    ActorOptions,
    MethodOptions,
    TaskOptions,
    demand_of_actor,
    demand_of_task,
)
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle, ActorMethod, MethodSpec, RemoteFunction
from nbaccel.ray_engine.submission import call_groups, exports, options_for_ray, supervising
from nbaccel.ray_engine.submission.abandoned import has_ended
from nbaccel.ray_engine.submission.choosing import Choice, quantities
from nbaccel.ray_engine.submission.errors import translate
from nbaccel.ray_engine.submission.submissions import About
from nbaccel.ray_engine.submission.undecided import Deciding, UndecidedActor


class Tasks:
    """Mixed into the engine; needs `serial`, `namespace`, `submissions`, `told`."""

    def submit(
        self: Any, function: RemoteFunction, options: TaskOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.head.check()
        self.freshening.look(function, function._function)
        cached = function._cache.get(self.serial)
        if cached is None or cached[0] is not options:
            cached = function._cache[self.serial] = self._prepared(function, options)
        bound, about = cached[1:]
        inner = bound.remote(*_unwrapped(args), **_unwrapped_named(kwargs))
        return self._returned(inner, about)

    def _prepared(self: Any, function: RemoteFunction, options: TaskOptions) -> tuple[Any, ...]:
        if self.through_client:
            _refuse_stream(function._short_name, options.num_returns, function._is_generator)
        choices = self.choices(options, demand_of_task)
        chosen, label, why = choices.left[0]
        name = options.name or function._short_name
        about = About(name, "task", quantities(demand_of_task(chosen)), label, why)
        raises = choices.never and self.options.infeasible == "raise"
        if raises:
            bound = supervising.refusing(f"{name} {choices.never}", options, self)
        elif len(choices.left) > 1:
            bound = supervising.Supervised(function, options, choices, self)
        else:
            bound = exports.function_with(self.running_as(function, label), chosen, label, self)
        lasts = not options.fallback and self.options.infeasible != "raise"
        return options if lasts else None, bound, about

    def running_as(self: Any, function: RemoteFunction, label: str) -> RemoteFunction:
        """The function that runs when the choice of this label is taken ("": what was asked first)."""
        if not label or function._fallback is None:
            return function
        key = (self.serial, "fallback")
        if key not in function._cache:
            function._cache[key] = RemoteFunction(function._fallback, function._declared)
        made: RemoteFunction = function._cache[key]
        return made

    def _returned(self: Any, inner: Any, about: About, actor_id: bytes | None = None) -> Any:
        """Ray's refs as nbaccel's, and a note of what was submitted."""
        cell, parent = engines.cell_source() if engines.cell_source is not None else ("", b"")
        if inner is None:
            return None
        given: Any
        if isinstance(inner, list):
            given = [ObjectRef(each.binary(), self, each, parent) for each in inner]
            task_id, first = given[0]._id[:24], given[0]
        elif isinstance(inner, ray.ObjectRefGenerator):
            task_id = inner.completed().task_id().binary()
            self.abandoned.expect()
            first = given = ObjectRefGenerator(task_id, self, inner, parent)
        else:
            first = given = ObjectRef(inner.binary(), self, inner, parent)
            task_id = given._id[:24]
        self.submissions.note(task_id, about, cell, actor_id, first, parent)
        if self.in_worker or self._watcher is not None:
            self.told(task_id, about, actor_id)
        return given

    # ---- actors

    def create_actor(
        self: Any, actor_class: ActorClass, options: ActorOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ActorHandle:
        self.head.check()
        self.freshening.look(actor_class, actor_class._class)
        choices = self.choices(options, lambda some: demand_of_actor(some)[0])
        if choices.never and self.options.infeasible == "raise":
            return supervising.refused_actor(actor_class, f"{actor_class._name} {choices.never}", self)
        given = (_unwrapped(args), _unwrapped_named(kwargs))
        if len(choices.left) > 1:
            return Deciding(self, actor_class, options, choices, given).start()
        running = self.class_running_as(actor_class, choices.left[0].label)
        inner = self.actor_of(running, choices.left[0], *given)
        handle = ActorHandle(
            inner._actor_id.binary(), running._name, running._methods, self, counted=False, inner=inner
        )
        self.note_actor(inner, running, choices.left[0], handle, engines.cell_source and engines.cell_source())
        return handle

    def actor_of(
        self: Any,
        running: ActorClass,
        choice: Choice,
        args: list[Any],
        kwargs: dict[str, Any],
        *,
        claimed: bool = False,
    ) -> Any:
        """Ray's handle of a new actor; `claimed`: its constructor takes a claim before the user's arguments."""
        bound = exports.class_with(running, choice.options, choice.label, self.namespace, self, claimed=claimed)
        try:
            return bound.remote(*args, **kwargs)
        except (ValueError, ray.exceptions.RayError) as error:
            raise self._name_taken(error, choice.options) from None

    def note_actor(
        self: Any,
        inner: Any,
        running: ActorClass,
        choice: Choice,
        handle: ActorHandle,
        source: tuple[str, bytes] | None,
    ) -> None:
        """Keep what Ray does not: what was asked, in which cell, on which choice."""
        actor_id = inner._actor_id.binary()
        placed, held = (quantities(each) for each in demand_of_actor(choice.options))
        about = About(f"{running._name}.__init__", "actor creation", placed, choice.label, choice.why, held)
        creation = _creation_of(actor_id)
        cell, parent = source or ("", b"")
        self.submissions.note(creation, about, cell, actor_id, handle, parent)
        if self.in_worker or self._watcher is not None:
            self.told(creation, about, actor_id)

    def class_running_as(self: Any, actor_class: ActorClass, label: str) -> ActorClass:
        """The class of the actor when the choice of this label is taken ("": what was asked first)."""
        if not label or actor_class._fallback is None:
            return actor_class
        key = (self.serial, "fallback")
        if key not in actor_class._cache:
            actor_class._cache[key] = ActorClass(actor_class._fallback, actor_class._declared)
        made: ActorClass = actor_class._cache[key]
        return made

    def _name_taken(self: Any, error: Exception, options: ActorOptions) -> BaseException:
        if options.name and (
            "already taken" in str(error) or isinstance(error, ray.exceptions.ActorAlreadyExistsError)
        ):
            return exceptions.ActorAlreadyExistsError(
                f"The namespace {options.namespace or self.namespace!r} already has an actor named {options.name!r}. "
                "Get it with get_actor, kill it, choose another name, or pass get_if_exists=True."
            )
        return translate(error)

    def call(
        self: Any, method: ActorMethod, options: MethodOptions, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.head.check()
        handle, spec = method.handle, method._spec
        if self.through_client:
            _refuse_stream(spec.name, options.num_returns, spec.is_generator)
        if options.concurrency_group:
            call_groups.check(handle._inner, handle._class_name, options.concurrency_group)
        bound = getattr(handle._inner, spec.name)
        if options is not spec.options:
            keywords = options_for_ray.method_keywords(options)
            bound = options_for_ray.with_keywords(bound, keywords) if keywords else bound
        try:
            inner = bound.remote(*_unwrapped(args), **_unwrapped_named(kwargs))
        except ray.exceptions.RayError as error:
            raise translate(error) from None
        except Exception as error:  # Ray raises nothing narrower for a handle that has outlived its cluster
            if "Can't find actor" not in str(error):
                raise
            raise exceptions.ActorDiedError(
                f"{handle._class_name}.{spec.name} cannot be called: Ray does not know this actor. It is of a cluster "
                "that was left, or died long ago. Make it again, or find a detached one with get_actor()."
            ) from None
        about = handle._cache.get((spec.name, options.name))
        if about is None:
            about = About(options.name or f"{handle._class_name}.{spec.name}", "actor call")
            handle._cache[(spec.name, options.name)] = about
        return self._returned(inner, about, handle._actor_id_bytes)

    def cancel(self: Any, ref: Any, *, force: bool, recursive: bool) -> None:
        inner = ref._inner
        if has_ended(inner):
            return
        try:
            ray.cancel(inner, force=force, recursive=recursive)
        except ValueError as error:
            if force:
                raise ValueError("force=True is not supported for actor tasks: kill the actor instead.") from None
            raise error

    def kill(self: Any, actor: ActorHandle, *, no_restart: bool) -> None:
        if not (isinstance(actor, UndecidedActor) and actor.call_off()):
            ray.kill(actor._inner, no_restart=no_restart)

    def get_actor(self: Any, name: str, namespace: str | None) -> ActorHandle:
        where = namespace or self.namespace
        try:
            return self.actor_handle(ray.get_actor(name, namespace=where))  # type: ignore[no-any-return]
        except ValueError:
            there = sorted(row["name"] for row in self.list_named_actors(True) if row["namespace"] == where)
            known = f" Named actors there: {', '.join(there)}." if there else " There are no named actors in it."
            raise ValueError(f"Failed to look up actor with name {name!r} in namespace {where!r}.{known}") from None

    def actor_handle(self: Any, inner: Any) -> ActorHandle:
        """nbaccel's handle for Ray's, whoever made the actor."""
        if self.through_client:  # Ray Client's handles know the names of methods only
            class_name, methods = "Actor", {name: _bare_spec(name) for name in dir(inner)}
        else:
            class_name = inner._ray_actor_creation_function_descriptor.class_name.rpartition(".")[2]
            own = (name for name in inner._ray_method_signatures if name != call_groups.DECLARED)
            methods = {name: _spec(name, inner) for name in own}
        for name in ("__ray_terminate__", "__ray_ready__", "__ray_call__"):
            methods[name] = _bare_spec(name)
        return ActorHandle(inner._actor_id.binary(), class_name, methods, self, counted=False, inner=inner)

    def list_named_actors(self: Any, all_namespaces: bool) -> list[Any]:
        from ray.util import list_named_actors

        own = self.namespace_of_reports
        if not all_namespaces:
            return list(list_named_actors(all_namespaces=False))
        return [row for row in list_named_actors(all_namespaces=True) if row["namespace"] != own]


def _refuse_stream(name: str, num_returns: Any, is_generator: bool) -> None:
    if num_returns == "streaming" or (num_returns is None and is_generator):
        raise exceptions.EngineError(
            f"{name} streams its results, which Ray Client (ray://) does not. Return a list, or join the cluster from "
            "one of its machines with address='host:6379'."
        )


def _anything(*args: Any, **kwargs: Any) -> None:
    """Has the signature that takes everything."""


def _bare_spec(name: str) -> MethodSpec:
    return MethodSpec(name, MethodOptions(), arity_of(_anything))


def _spec(name: str, inner: Any) -> MethodSpec:
    """A method as Ray's handle knows it."""
    signature = inspect.Signature(parameters=inner._ray_method_signatures[name])
    function = lambda *args, **kwargs: None  # noqa: E731
    function.__signature__ = signature  # type: ignore[attr-defined]
    returns = inner._ray_method_num_returns.get(name)
    is_generator = bool(inner._ray_method_is_generator.get(name))
    options = MethodOptions(num_returns=returns) if returns not in (None, 1) else MethodOptions()
    return MethodSpec(name, options, arity_of(function), False, is_generator)


def _creation_of(actor_id: bytes) -> bytes:
    """The id of an actor's constructor task: Ray's is all ones before the actor's own."""
    return b"\xff" * 8 + actor_id


def _unwrapped(args: tuple[Any, ...]) -> list[Any]:
    """Top-level refs as Ray's own, which Ray replaces by their values; those inside of other things stay refs."""
    return [value._inner if isinstance(value, ObjectRef) else value for value in args]


def _unwrapped_named(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value._inner if isinstance(value, ObjectRef) else value for name, value in kwargs.items()}
