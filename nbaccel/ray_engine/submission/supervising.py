"""Tasks and actors with more than one choice on Ray, seen from where they are submitted (see attempts for the rest).

A supervised task costs a second task without a CPU and, while it lasts, one of Ray's worker processes; what it returns
is copied once more.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import ray

from nbaccel import exceptions
from nbaccel.handles.options import TaskOptions, demand_of_task
from nbaccel.handles.remote import ActorClass, ActorHandle, RemoteFunction
from nbaccel.ray_engine.startup.starting import import_shipped
from nbaccel.ray_engine.submission import exports, options_for_ray
from nbaccel.ray_engine.submission.choosing import Choices, quantities

_SCHEDULED = ("num_cpus", "num_gpus", "resources", "memory", "accelerator_type", "label_selector", "fallback_strategy",
              "scheduling_strategy", "retry_exceptions")  # fmt: skip


def _attempts() -> Any:
    import_shipped()
    return importlib.import_module("nbaccel_in_ray.attempts")


@functools.cache
def _without_cpu(name: str) -> Any:
    """One of the functions of attempts as Ray's remote one, exported once for each cluster."""
    return ray.remote(num_cpus=0)(getattr(_attempts(), name))


class Supervised:
    """Stands where Ray's remote function stands for a task with one choice."""

    def __init__(self, function: RemoteFunction, options: TaskOptions, choices: Choices, engine: Any) -> None:
        if engine.through_client:
            raise exceptions.EngineError(
                "fallback_after_s and fallback_on need a supervisor inside the cluster, which Ray Client (ray://) "
                "cannot start for us. Join from one of the cluster's machines with address='host:6379'."
            )
        self._plan = _plan(function, options, choices, engine)
        keywords = _without(options_for_ray.task_keywords(options, engine.shipping), _SCHEDULED)
        owner = _without_cpu("supervise_stream" if function._is_generator else "supervise")
        self._bound = owner.options(**{"name": options.name or function._short_name, **keywords})

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As of Ray's remote functions; refs among the arguments stay refs until an attempt takes them."""
        return self._bound.remote(self._plan, list(args), kwargs)


def _plan(function: RemoteFunction, options: TaskOptions, choices: Choices, engine: Any) -> Any:
    attempts = _attempts()
    made = []
    for choice in choices.left:
        exported, keywords = exports.attempt_with(engine.running_as(function, choice.label), choice.options, engine)
        demand = quantities(demand_of_task(choice.options))
        made.append(attempts.Attempt(exported, keywords, demand, choice.label, choice.why))
    after_s = options.fallback_after_s
    if after_s is not None and not choices.busy:
        after_s = max(after_s, attempts.STARTS_WITHIN_S)  # it is free now: let it begin
    return attempts.Plan(tuple(made), after_s, options.fallback_on, choices.busy or "the first choice was busy")


def refusing(sentence: str, options: TaskOptions, engine: Any) -> Any:
    """Ray's remote function whose tasks fail with TaskUnschedulableError and this sentence."""
    keywords = _without(options_for_ray.task_keywords(options, engine.shipping), _SCHEDULED)
    return _Refused(_without_cpu("refuse").options(**keywords), sentence)


class _Refused:
    """Stands where Ray's remote function stands."""

    def __init__(self, bound: Any, sentence: str) -> None:
        self._bound = bound
        self._sentence = sentence

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        return self._bound.remote(self._sentence)


def refused_actor(actor_class: ActorClass, sentence: str, engine: Any) -> ActorHandle:
    """The handle of an actor whose calls fail with ActorUnschedulableError and this sentence."""
    inner = exports.class_that_refuses(actor_class, engine).remote(sentence)
    actor_id = inner._actor_id.binary()
    return ActorHandle(actor_id, actor_class._name, actor_class._methods, engine, counted=False, inner=inner)


def _without(keywords: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if name not in names}
