"""nbaccel's functions and classes as Ray's remote ones, each exported once for every variant that Ray tells apart.

Ray ends a worker after `max_calls` of a function, and keeps that with the exported function: so a function whose call
asks for a device, however it asks, is exported a second time with max_calls=1.
"""

from __future__ import annotations

from typing import Any

import ray

from nbaccel.handles.options import ActorOptions, TaskOptions
from nbaccel.handles.remote import ActorClass, RemoteFunction
from nbaccel.ray_engine.startup.starting import import_shipped
from nbaccel.ray_engine.submission import call_groups, options_for_ray


def _wrapping() -> Any:
    import importlib

    import_shipped()
    return importlib.import_module("nbaccel_in_ray.wrapping")


def _leftovers() -> Any:
    import importlib

    return importlib.import_module("nbaccel_in_ray.leftovers")


def function_with(function: RemoteFunction, options: TaskOptions, choice: str, engine: Any) -> Any:
    """Ray's remote function with these options, ready for `.remote`.

    `choice`: the words of a fallback that was taken; `engine`: the one that it is exported by.
    """
    keywords = options_for_ray.task_keywords(options, engine.shipping)
    return options_for_ray.with_keywords(_exported(function, options, choice, engine, "wrap"), keywords)


def attempt_with(function: RemoteFunction, options: TaskOptions, engine: Any) -> tuple[Any, dict[str, Any]]:
    """(Ray's remote function that takes a claim before its arguments, the keywords of its `.options`)."""
    keywords = options_for_ray.task_keywords(options, engine.shipping)
    if not function._is_generator:
        keywords["num_returns"] = 1  # the supervisor deals several out
    return _exported(function, options, "", engine, "attempt"), keywords


def _exported(function: RemoteFunction, options: TaskOptions, choice: str, engine: Any, kind: str) -> Any:
    """`kind`: of what wrapping makes around the user's function."""
    calls = options.calls_of_a_worker()
    families = options_for_ray.families(options)
    key = (engine.serial, calls, families, choice, kind)
    if key not in function._cache:
        wrapping = _wrapping()
        threshold = engine.options.leak_threshold
        about = wrapping.About(function._short_name, "task", families, choice, calls == 1, threshold)
        wrapped = getattr(wrapping, kind)(function._function, about)
        if about.leaves_process and not calls:
            calls = _leftovers().WITHOUT_END
        function._cache[key] = ray.remote(max_calls=calls)(wrapped) if calls else ray.remote(wrapped)
    return function._cache[key]


def class_with(
    actor_class: ActorClass,
    options: ActorOptions,
    choice: str,
    namespace: str | None,
    engine: Any,
    *,
    claimed: bool = False,
) -> Any:
    """Ray's actor class with these options; `claimed`: its constructor takes a claim before its arguments."""
    keywords = options_for_ray.actor_keywords(options, namespace, engine.shipping)
    families = options_for_ray.families(options)
    groups = tuple(options.concurrency_groups.items())
    key = (engine.serial, families, groups, choice, claimed)
    exported = actor_class._cache.get(key)
    if exported is None:
        wrapped = _wrapped_class(actor_class, families, choice, claimed=claimed)
        call_groups.declare(wrapped, dict(groups))
        exported = ray.remote(concurrency_groups=dict(groups))(wrapped) if groups else ray.remote(wrapped)
        actor_class._cache[key] = exported
    return exported.options(**keywords)


def _wrapped_class(actor_class: ActorClass, families: tuple[str, ...], choice: str, *, claimed: bool) -> type:
    marks = {name: options_for_ray.method_marks(spec.options) for name, spec in actor_class._methods.items()}
    wrapped: type = _wrapping().wrap_class(actor_class._class, families, choice, marks, claimed=claimed)
    return wrapped


def class_that_refuses(actor_class: ActorClass, engine: Any) -> Any:
    """Ray's actor class with the methods of this one, whose constructor takes a sentence and raises it."""
    wrapped = _wrapping().refusing(actor_class._class)
    return ray.remote(num_cpus=0)(wrapped).options(**engine.shipping.keywords())
