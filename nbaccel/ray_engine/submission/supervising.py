"""Tasks and actors with more than one choice on Ray, seen from where they are submitted (see attempts for the rest).

A supervised task costs a second task without a CPU and, while it lasts, one of Ray's worker processes; what it returns
is copied once more.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import ray

from nbaccel import exceptions
from nbaccel.handles.options import TaskOptions, demand_of_task
from nbaccel.handles.remote import RemoteFunction
from nbaccel.ray_engine.border.rays import Bound, Keywords, RaysFunction, RaysRef, RaysRemote, RaysResult
from nbaccel.ray_engine.startup.starting import import_shipped
from nbaccel.ray_engine.submission import options_for_ray
from nbaccel.ray_engine.submission.choosing import Choices, quantities
from nbaccel.ray_engine.submission.exports import Exporter
from nbaccel.ray_engine.submission.shipping import Shipping

_SCHEDULED = ("num_cpus", "num_gpus", "resources", "memory", "accelerator_type", "label_selector", "fallback_strategy",
              "scheduling_strategy", "retry_exceptions")  # fmt: skip


def _attempts() -> ModuleType:
    import_shipped()
    return importlib.import_module("nbaccel_in_ray.attempts")


@functools.cache
def _without_cpu(name: str) -> RaysRemote[Any]:
    """One of the functions of attempts as Ray's remote one, exported once for each cluster."""
    made: RaysRemote[Any] = ray.remote(num_cpus=0)(getattr(_attempts(), name))
    return made


class Supervised:
    """Stands where Ray's remote function stands for a task with one choice."""

    def __init__(
        self, function: RemoteFunction, options: TaskOptions, choices: Choices[TaskOptions], exporter: Exporter
    ) -> None:
        if exporter.through_client:
            raise exceptions.EngineError(
                "fallback_after_s and fallback_on need a supervisor inside the cluster, which Ray Client (ray://) "
                "cannot start for us. Join from one of the cluster's machines with address='host:6379'."
            )
        self._plan = _plan(function, options, choices, exporter)
        keywords = _without(options_for_ray.task_keywords(options, exporter.shipping), _SCHEDULED)
        owner = _without_cpu("supervise_stream" if function._is_generator else "supervise")
        self._bound: RaysFunction = owner.options(**{"name": options.name or function._short_name, **keywords})

    def remote(self, *args: object, **kwargs: object) -> RaysResult:
        """As of Ray's remote functions; refs among the arguments stay refs until an attempt takes them."""
        return self._bound.remote(self._plan, list(args), kwargs)


def _plan(function: RemoteFunction, options: TaskOptions, choices: Choices[TaskOptions], exporter: Exporter) -> object:
    attempts = _attempts()
    made = []
    for choice in choices.left:
        exported, keywords = exporter.attempt_with(exporter.running_as(function, choice.label), choice.options)
        demand = quantities(demand_of_task(choice.options))
        made.append(attempts.Attempt(exported, keywords, demand, choice.label, choice.why))
    after_s = options.fallback_after_s
    if after_s is not None and not choices.busy:
        after_s = max(after_s, attempts.STARTS_WITHIN_S)  # it is free now: let it begin
    return attempts.Plan(tuple(made), after_s, options.fallback_on, choices.busy or "the first choice was busy")


def refusing(sentence: str, options: TaskOptions, shipping: Shipping) -> Bound:
    """Ray's remote function whose tasks fail with TaskUnschedulableError and this sentence."""
    keywords = _without(options_for_ray.task_keywords(options, shipping), _SCHEDULED)
    return _Refused(_without_cpu("refuse").options(**keywords), sentence)


def refused_ref(sentence: str, shipping: Shipping) -> RaysRef:
    """Ray's ref of a task that fails so."""
    keywords = _without(options_for_ray.task_keywords(TaskOptions(), shipping), _SCHEDULED)
    inner: RaysRef = _without_cpu("refuse").options(**keywords).remote(sentence)
    return inner


class _Refused:
    """Stands where Ray's remote function stands."""

    def __init__(self, bound: RaysFunction, sentence: str) -> None:
        self._bound = bound
        self._sentence = sentence

    def remote(self, *args: object, **kwargs: object) -> RaysResult:
        return self._bound.remote(self._sentence)


def _without(keywords: Keywords, names: tuple[str, ...]) -> Keywords:
    return {name: value for name, value in keywords.items() if name not in names}
