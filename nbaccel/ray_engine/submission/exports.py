"""Exports functions and classes to Ray, once for every variant that Ray distinguishes.

Ray ends a worker after `max_calls` of a function, and keeps that with the exported function: so a function whose call
asks for a device, however it asks, is exported a second time with max_calls=1.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import ray

from nbaccel.handles.options import ActorOptions, TaskOptions
from nbaccel.handles.remote import ActorClass, RemoteFunction
from nbaccel.ray_engine.rays import Keywords, RaysClass, RaysFunction, import_shipped
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission import handle_maker, options_for_ray
from nbaccel.ray_engine.submission.shipping import Shipping


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
            handle_maker.declare_groups(wrapped, dict(groups))
            exported = ray.remote(concurrency_groups=dict(groups))(wrapped) if groups else ray.remote(wrapped)
            actor_class._cache[key] = exported
        return exported.options(**keywords)

    def class_that_refuses(self, actor_class: ActorClass) -> RaysClass:
        """Ray's actor class with the methods of this one, whose constructor takes a sentence and raises it."""
        wrapped = _wrapping().refusing(actor_class._class)
        refusing: RaysClass = ray.remote(num_cpus=0)(wrapped)
        return refusing.options(**self.shipping.keywords())

    def running_as(self, function: RemoteFunction, label: str) -> RemoteFunction:
        """The function that runs when the choice of this label is taken ("": what was asked first)."""
        if not label or function._fallback is None:
            return function
        key = (self._session.serial, "fallback")
        if key not in function._cache:
            function._cache[key] = RemoteFunction(function._fallback, function._declared)
        made: RemoteFunction = function._cache[key]
        return made

    def class_running_as(self, actor_class: ActorClass, label: str) -> ActorClass:
        """The class of the actor when the choice of this label is taken ("": what was asked first)."""
        if not label or actor_class._fallback is None:
            return actor_class
        key = (self._session.serial, "fallback")
        if key not in actor_class._cache:
            actor_class._cache[key] = ActorClass(actor_class._fallback, actor_class._declared)
        made: ActorClass = actor_class._cache[key]
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
