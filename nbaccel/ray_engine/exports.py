"""nbaccel's functions and classes as Ray's remote ones, each exported once for every variant that Ray tells apart.

Ray ends a worker after `max_calls` of a function, and keeps that with the exported function: so a function whose call
asks for a device, however it asks, is exported a second time with max_calls=1.
"""

from __future__ import annotations

from typing import Any

import ray

from nbaccel.handles import ActorClass, RemoteFunction
from nbaccel.options import ActorOptions, TaskOptions
from nbaccel.ray_engine import options_for_ray
from nbaccel.ray_engine.starting import import_shipped


def _wrapping() -> Any:
    import importlib

    import_shipped()
    return importlib.import_module("nbaccel_in_ray.wrapping")


def function_with(function: RemoteFunction, options: TaskOptions, choice: str, engine: Any) -> Any:
    """Ray's remote function with these options, ready for `.remote`.

    `choice`: the words of a fallback that was taken; `engine`: the one that it is exported by.
    """
    keywords = options_for_ray.task_keywords(options, engine.shipping)
    calls = options.calls_of_a_worker()
    families = options_for_ray.families(options)
    key = (engine.serial, calls, families, choice)
    exported = function._cache.get(key)
    if exported is None:
        exported = function._cache[key] = _export(function, calls, families, choice)
    return exported.options(**keywords)


def _export(function: RemoteFunction, calls: int, families: tuple[str, ...], choice: str) -> Any:
    wrapping = _wrapping()
    about = wrapping.About(function._short_name, "task", families, choice, last_of_process=calls == 1)
    wrapped = wrapping.wrap(function._function, about)
    return ray.remote(max_calls=calls)(wrapped) if calls else ray.remote(wrapped)


def class_with(actor_class: ActorClass, options: ActorOptions, choice: str, namespace: str | None, engine: Any) -> Any:
    """Ray's actor class with these options."""
    keywords = options_for_ray.actor_keywords(options, namespace, engine.shipping)
    families = options_for_ray.families(options)
    groups = tuple(options.concurrency_groups.items())
    key = (engine.serial, families, groups, choice)
    exported = actor_class._cache.get(key)
    if exported is None:
        exported = actor_class._cache[key] = _export_class(actor_class, families, choice, dict(groups))
    return exported.options(**keywords)


def _export_class(actor_class: ActorClass, families: tuple[str, ...], choice: str, groups: dict[str, int]) -> Any:
    marks = {name: options_for_ray.method_marks(spec.options) for name, spec in actor_class._methods.items()}
    wrapped = _wrapping().wrap_class(actor_class._class, families, choice, marks)
    return ray.remote(concurrency_groups=groups)(wrapped) if groups else ray.remote(wrapped)
