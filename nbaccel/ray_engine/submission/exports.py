"""Exports functions and classes to Ray, once for every variant that Ray distinguishes; and makes nbaccel's refs,
streams and actor handles around Ray's own.

Ray ends a worker after `max_calls` of a function, and keeps that with the exported function: so a function whose call
asks for a device, however it asks, is exported a second time with max_calls=1.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any, TypeVar

import ray

from nbaccel.engine import Engine
from nbaccel.handles import option_checks
from nbaccel.handles.options import ActorOptions, MethodOptions, TaskOptions
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle, MethodSpec, RemoteFunction, arity_of
from nbaccel.ray_engine.rays import Keywords, RaysActor, RaysClass, RaysFunction, RaysRef, RaysStream, import_shipped
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission import options_for_ray
from nbaccel.ray_engine.submission.shipping import Shipping

Declared = TypeVar("Declared", RemoteFunction, ActorClass)


def _wrapping() -> ModuleType:
    import_shipped()
    return importlib.import_module("nbaccel_in_ray.wrapping")


def _leftovers() -> ModuleType:
    return importlib.import_module("nbaccel_in_ray.leftovers")


class Exporter:
    """Exports for one engine, and stores the exports on the functions and classes themselves."""

    def __init__(self, session: RaySession, shipping: Shipping) -> None:
        self._session = session
        self.shipping = shipping
        self.through_client = session.through_client

    def function_with(self, function: RemoteFunction, options: TaskOptions, choice: str) -> RaysFunction:
        """Ray's remote function with these options; `choice`: the words of a fallback that was taken."""
        keywords = options_for_ray.task_keywords(options, self.shipping)
        return options_for_ray.with_keywords(self._exported(function, options, choice, "wrap"), keywords)

    def attempt_with(self, function: RemoteFunction, options: TaskOptions) -> tuple[RaysFunction, Keywords]:
        """(Ray's remote function that takes a claim before its arguments, the keywords of its `.options`)."""
        keywords = options_for_ray.task_keywords(options, self.shipping)
        if not function._is_generator:
            keywords["num_returns"] = 1  # the supervisor deals several out
        return self._exported(function, options, "", "attempt"), keywords

    def _exported(self, function: RemoteFunction, options: TaskOptions, choice: str, kind: str) -> RaysFunction:
        """`kind`: of what wrapping makes around the user's function."""
        calls = options.calls_of_a_worker()
        families = options_for_ray.families(options)
        key = (self._session.serial, calls, families, choice, kind)
        if key not in function._cache:
            wrapping = _wrapping()
            threshold = self._session.options.leak_threshold
            about = wrapping.CodeDescription(
                function._short_name, "task", families, choice, calls == 1, threshold, options.internal
            )
            wrapped = getattr(wrapping, kind)(function._function, about)
            if about.leaves_process and not calls:
                calls = _leftovers().WITHOUT_END
            function._cache[key] = ray.remote(max_calls=calls)(wrapped) if calls else ray.remote(wrapped)
        exported: RaysFunction = function._cache[key]
        return exported

    def class_with(
        self,
        actor_class: ActorClass,
        options: ActorOptions,
        choice: str,
        *,
        claimed: bool = False,
    ) -> RaysClass:
        """Ray's actor class with these options; `claimed`: its constructor takes a claim before its arguments."""
        keywords = options_for_ray.actor_keywords(options, self._session.namespace, self.shipping)
        families = options_for_ray.families(options)
        groups = tuple(options.concurrency_groups.items())
        key = (self._session.serial, families, groups, choice, claimed)
        exported: RaysClass | None = actor_class._cache.get(key)
        if exported is None:
            wrapped = _wrapped_class(actor_class, families, choice, claimed=claimed, internal=options.internal)
            declare_groups(wrapped, dict(groups))
            exported = ray.remote(concurrency_groups=dict(groups))(wrapped) if groups else ray.remote(wrapped)
            actor_class._cache[key] = exported
        return exported.options(**keywords)

    def class_that_refuses(self, actor_class: ActorClass) -> RaysClass:
        """Ray's actor class with the methods of this one, whose constructor takes a sentence and raises it."""
        wrapped = _wrapping().refusing(actor_class._class)
        refusing: RaysClass = ray.remote(num_cpus=0)(wrapped)
        return refusing.options(**self.shipping.keywords())

    def running_as(self, declared: Declared, label: str) -> Declared:
        """The function or class that runs when the choice of this label is taken ("": what was asked first)."""
        if not label or declared._fallback is None:
            return declared
        key = (self._session.serial, "fallback")
        if key not in declared._cache:
            declared._cache[key] = type(declared)(declared._fallback, declared._declared)
        made: Declared = declared._cache[key]
        return made


def _wrapped_class(
    actor_class: ActorClass, families: tuple[str, ...], choice: str, *, claimed: bool, internal: bool
) -> type:
    marks = {name: options_for_ray.method_marks(spec.options) for name, spec in actor_class._methods.items()}
    made: type = _wrapping().wrap_class(
        actor_class._class,
        families,
        choice,
        marks,
        claimed=claimed,
        internal=internal,
        internal_methods=frozenset(name for name, spec in actor_class._methods.items() if spec.internal),
    )
    return made


RAYS_OWN_METHODS = ("__ray_terminate__", "__ray_ready__", "__ray_call__")


class HandleMaker:
    """Makes handles that belong to one engine."""

    def __init__(self, engine: Engine, *, through_client: bool) -> None:
        self.engine = engine
        self._through_client = through_client

    def ref(self, inner: RaysRef, cell: bytes | None = None) -> ObjectRef[object]:
        """`cell`: the notebook message whose cell has submitted the task."""
        return ObjectRef(inner.binary(), self.engine, inner, cell)

    def stream(self, inner: RaysStream, cell: bytes) -> ObjectRefGenerator:
        return ObjectRefGenerator(inner.completed().task_id().binary(), self.engine, inner, cell)

    def actor_made(self, inner: RaysActor, running: ActorClass) -> ActorHandle:
        """The handle of an actor of this class that was just made."""
        actor_id = inner._actor_id.binary()
        return ActorHandle(actor_id, running._name, running._methods, self.engine, counted=False, inner=inner)

    def actor(self, inner: RaysActor) -> ActorHandle:
        """The handle of an actor that anybody may have made."""
        if self._through_client:  # Ray Client's handles know the names of methods only
            class_name, methods = "Actor", {name: _bare_spec(name) for name in dir(inner)}
        else:
            class_name, methods = _described(inner)
        for name in RAYS_OWN_METHODS:
            methods[name] = _bare_spec(name)
        return ActorHandle(inner._actor_id.binary(), class_name, methods, self.engine, counted=False, inner=inner)


def _described(inner: ray.actor.ActorHandle) -> tuple[str, dict[str, MethodSpec]]:
    """The name of the class and its methods."""
    qualified = inner._ray_actor_creation_function_descriptor.class_name
    internal = importlib.import_module("nbaccel_in_ray.internals").is_marked(qualified)
    own = (name for name in inner._ray_method_signatures if name != DECLARED)
    return qualified.rpartition(".")[2], {name: _spec(name, inner, internal=internal) for name in own}


def _anything(*args: object, **kwargs: object) -> None:
    """Has the signature that takes everything."""


def _bare_spec(name: str) -> MethodSpec:
    return MethodSpec(name, MethodOptions(), arity_of(_anything))


def _spec(name: str, inner: ray.actor.ActorHandle, *, internal: bool) -> MethodSpec:
    """A method as Ray's handle knows it."""
    signature = inspect.Signature(parameters=inner._ray_method_signatures[name])
    function = lambda *args, **kwargs: None  # noqa: E731
    function.__signature__ = signature  # type: ignore[attr-defined]
    returns = inner._ray_method_num_returns.get(name)
    is_generator = bool(inner._ray_method_is_generator.get(name))
    options = MethodOptions(num_returns=returns) if returns not in (None, 1) else MethodOptions()
    return MethodSpec(name, options, arity_of(function), False, is_generator, internal=internal)


# ---- the concurrency groups of an actor, known to all of its handles: Ray ends the actor's process for a wrong name
#
# Ray's handles carry the signatures of the methods wherever they go, so a method that nobody calls has the names.


DECLARED = "__nbaccel_groups__"
_MARK = "__ray_concurrency_group__"


def declare_groups(cls: type, groups: Iterable[str]) -> None:
    """Before Ray looks at the class. Ray also fails where a method is marked with a group that is not there."""
    known = tuple(groups)

    def declared(self: object, names: tuple[str, ...] = known) -> None: ...

    setattr(cls, DECLARED, declared)
    for method in vars(cls).values():
        if getattr(method, _MARK, None) not in (None, *known):
            delattr(method, _MARK)


def check_group(inner: Any, class_name: str, group: str) -> None:
    """Raises ValueError where this actor has no such group. Of an actor that Ray's own API made, nothing is known."""
    signature = getattr(inner, "_ray_method_signatures", {}).get(DECLARED)
    if signature is not None:
        option_checks.group_of_calls(group, class_name, signature[0].default)
