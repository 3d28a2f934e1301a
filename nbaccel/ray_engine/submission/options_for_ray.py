"""Turns nbaccel's options into keywords of Ray's own `.options()`. Options that Ray does not support raise an error."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from nbaccel import accelerators
from nbaccel.handles.options import (
    ActorOptions,
    Demand,
    MethodOptions,
    ResourceOptions,
    TaskOptions,
    check_demand_quantities,
    demand_of_actor,
    demand_of_task,
)
from nbaccel.quantities import ACCELERATORS
from nbaccel.ray_engine.border.rays import HIDE_UNASSIGNED, Environment, Keywords, RaysFunction
from nbaccel.ray_engine.submission.shipping import Shipping


def task_keywords(options: TaskOptions, shipping: Shipping) -> Keywords:
    """The keywords for a remote function. Raises ValueError for invalid quantities and unsupported options."""
    keywords = _resources(options, demand_of_task(options), shipping)
    keywords |= {"name": options.name, "max_retries": options.max_retries}
    if options.num_returns is not None:
        keywords["num_returns"] = options.num_returns
    if options.retry_exceptions:
        keywords["retry_exceptions"] = _listed(options.retry_exceptions)
    if options.generator_backpressure_num_objects is not None:
        keywords["_generator_backpressure_num_objects"] = options.generator_backpressure_num_objects
    return _given(keywords)


def actor_keywords(options: ActorOptions, namespace: str | None, shipping: Shipping) -> Keywords:
    """The keywords for an actor class."""
    keywords = _resources(options, demand_of_actor(options)[0], shipping)
    keywords |= {
        "name": options.name,
        "namespace": options.namespace or (namespace if options.name else None),
        "lifetime": options.lifetime,
        "get_if_exists": options.get_if_exists or None,
        "max_restarts": options.max_restarts,
        "max_task_retries": options.max_task_retries,
        "max_pending_calls": options.max_pending_calls if options.max_pending_calls > 0 else None,
        "max_concurrency": options.max_concurrency,
        "allow_out_of_order_execution": options.allow_out_of_order_execution,
        "_actor_generator_backpressure_num_objects": options.actor_generator_backpressure_num_objects,
    }
    return _given(keywords)


def method_keywords(options: MethodOptions) -> Keywords:
    """The keywords for `.options()` of one method."""
    keywords: Keywords = {
        "name": options.name,
        "num_returns": options.num_returns,
        "concurrency_group": options.concurrency_group,
        "max_task_retries": options.max_task_retries,
        "retry_exceptions": _listed(options.retry_exceptions) if options.retry_exceptions is not None else None,
        "_generator_backpressure_num_objects": options.generator_backpressure_num_objects,
    }
    return _given(keywords)


def with_keywords(bound: RaysFunction, keywords: Keywords) -> RaysFunction:
    """Ray's function or method with these; Ray calls num_returns="dynamic" deprecated, which nbaccel does not."""
    if keywords.get("num_returns") != "dynamic":
        return bound.options(**keywords)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "num_returns='dynamic'", DeprecationWarning)
        return bound.options(**keywords)


def method_marks(options: MethodOptions) -> Keywords:
    """The attributes by which Ray knows the options that `@method` gave."""
    names = {
        "num_returns": "__ray_num_returns__",
        "concurrency_group": "__ray_concurrency_group__",
        "max_task_retries": "__ray_max_task_retries__",
        "retry_exceptions": "__ray_retry_exceptions__",
        "_generator_backpressure_num_objects": "__ray_generator_backpressure_num_objects__",
    }
    return {names[key]: value for key, value in method_keywords(options).items() if key in names}


def families(options: ResourceOptions) -> tuple[str, ...]:
    """The accelerator resources that these options ask for."""
    asked = ["GPU"] if options.num_gpus else []
    return tuple(asked + [name for name in ACCELERATORS if options.resources.get(name)])


def _given(keywords: Keywords) -> Keywords:
    return {name: value for name, value in keywords.items() if value is not None}


def _listed(retry: bool | tuple[type[BaseException], ...]) -> bool | list[type[BaseException]]:
    return retry if isinstance(retry, bool) else list(retry)


def _resources(options: ResourceOptions, demand: Demand, shipping: Shipping) -> Keywords:
    check_demand_quantities(demand, _refusal)
    keywords: Keywords = {
        "num_cpus": options.num_cpus,
        "num_gpus": options.num_gpus,
        "resources": dict(options.resources) or None,
        "memory": int(options.memory) if options.memory else None,
        "accelerator_type": options.accelerator_type,
        "label_selector": dict(options.label_selector) or None,
        "fallback_strategy": [dict(choice) for choice in options.fallback_strategy] or None,
        "runtime_env": shipping.completed(_environment(options)),
        "enable_task_events": None if options.enable_task_events else False,
    }
    return keywords | _placement(options, demand)


def _refusal(resource: str, quantity: float) -> str | None:
    try:
        accelerators.check_quantity(resource, quantity)
    except ValueError as error:
        return str(error)
    return None


def _environment(options: ResourceOptions) -> Environment | None:
    environment = dict(options.runtime_env or {})
    if options.hide_unassigned and not options.asks_accelerator():
        environment["env_vars"] = {**HIDE_UNASSIGNED, **(environment.get("env_vars") or {})}
    return environment or None


def group_of(options: ResourceOptions) -> Any:
    """The requested placement group, or None."""
    group = getattr(options.scheduling_strategy, "placement_group", options.placement_group)
    return None if group in (None, "default") else group


def _placement(options: ResourceOptions, demand: Demand) -> Keywords:
    """nbaccel's strategy objects as Ray's."""
    from ray.util import scheduling_strategies as rays

    strategy = options.scheduling_strategy
    group, bundle = options.placement_group, options.placement_group_bundle_index
    capture = options.placement_group_capture_child_tasks
    if hasattr(strategy, "placement_group"):
        group, bundle = strategy.placement_group, strategy.placement_group_bundle_index
        capture = strategy.placement_group_capture_child_tasks
        strategy = None
        if group is None:
            return {"scheduling_strategy": rays.PlacementGroupSchedulingStrategy(None)}
    if group not in (None, "default"):
        group._check_fits(sorted(demand.items()), bundle)
        inner = rays_group(group.id.binary())
        return {"scheduling_strategy": rays.PlacementGroupSchedulingStrategy(inner, bundle, capture)}
    if hasattr(strategy, "node_id"):
        return {"scheduling_strategy": rays.NodeAffinitySchedulingStrategy(strategy.node_id, strategy.soft)}
    if hasattr(strategy, "hard"):
        hard, soft = _conditions(strategy.hard), _conditions(strategy.soft)
        return {"scheduling_strategy": rays.NodeLabelSchedulingStrategy(hard, soft=soft)}
    return {"scheduling_strategy": strategy} if strategy is not None else {}


def _conditions(conditions: Mapping[str, object]) -> Keywords | None:
    from ray.util import scheduling_strategies as rays

    made = {}
    for key, condition in conditions.items():
        kind = getattr(rays, type(condition).__name__)
        made[key] = kind(*getattr(condition, "values", ()))
    return made or None


def rays_group(group_id: bytes) -> Any:
    """Ray's own handle of a placement group."""
    from ray import PlacementGroupID as RaysID
    from ray.util.placement_group import PlacementGroup

    return PlacementGroup(RaysID(group_id))
