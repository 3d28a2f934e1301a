"""Turns nbaccel's options into keywords of Ray's own `.options()`. Options that Ray does not support raise an error."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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
from nbaccel.quantities import ACCELERATORS, UNIT
from nbaccel.ray_engine.rays import HIDE_UNASSIGNED, Environment, Keywords, RaysFunction
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.planning import AutoscalerFacts
from nbaccel.ray_engine.submission.shipping import Shipping
from nbaccel.scheduling.reasons import Feasibility
from nbaccel.views.snapshot import Snapshot


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


# ----
# judges the choices of a task or actor on Ray when it is submitted, with the books that explain why it would wait
#
# A choice that the existing nodes can never meet is left out immediately. Among the others, `attempts` (in Ray's
# workers) decides later.


Options = TypeVar("Options", bound=ResourceOptions)
BELIEVED_S = 1.0  # how long a verdict on a demand is believed: nodes come and go


class RayChoice(NamedTuple, Generic[Options]):
    """One way to run: its options, its fallback in words ("" for the first choice), and why it is taken."""

    options: Options
    label: str = ""
    why: str = ""


class Choices(NamedTuple, Generic[Options]):
    """The remaining choices, in order."""

    left: list[RayChoice[Options]]
    busy: str = ""  # why the first of them does not start now; "" when it would
    never: str = ""  # why nothing of it can ever be met; "" when something can


class FeasibilitySource(Protocol):
    """The facts that choosing needs from the cluster."""

    def take(self, *, metrics: bool) -> Snapshot: ...
    def autoscaler(self) -> AutoscalerFacts: ...


class Fractions(Protocol):
    """What turns an amount of device memory into a fraction of a device."""

    def in_fractions(self, options: Options) -> Options | None: ...
    def why_no_device_is_large_enough(self, options: ResourceOptions) -> str: ...


class Choosing:
    """Judges for one engine. `refuses`: what can never be met is an error and not a line that waits;
    `why_group_is_refused` says why the placement group of such work can never be placed, or "".
    """

    def __init__(
        self,
        nodes: FeasibilitySource,
        devices: Fractions,
        why_group_is_refused: Callable[[ResourceOptions], str],
        *,
        refuses: bool,
    ) -> None:
        self._nodes = nodes
        self._devices = devices
        self._why_group_is_refused = why_group_is_refused
        self._refuses = refuses
        self._verdicts: dict[tuple[tuple[str, object], ...], tuple[float, str]] = {}  # believed until then

    def choices(self, options: Options, demand_of: Callable[[Options], Demand]) -> Choices[Options]:
        """The choices that can be met here; the first choice if none can."""
        alternatives = options.fallbacks()
        if not alternatives:
            return self._only(options, demand_of)
        snapshot = self._nodes.take(metrics=False)
        found = []
        for asked, label in zip((options, *alternatives), ["", *_labels(options)], strict=True):
            option = self._devices.in_fractions(asked)
            if option is None:
                found.append(
                    (asked, label, Feasibility(False, False, self._devices.why_no_device_is_large_enough(asked)))
                )
                continue
            found.append((option, label, self._judged(snapshot, quantities(demand_of(option)), option.label_selector)))
        return _sorted_out(found, options, demand_of)

    def _judged(self, snapshot: Snapshot, demand: dict[str, float], labels: dict[str, str]) -> Feasibility:
        """What the nodes that there are can do, and where they cannot, what the cluster's autoscaler may add."""
        found = planning.verdict(snapshot, demand, labels)
        if found.ever:
            before = planning.line_before(snapshot, demand) if found.fits_now else ""
            return Feasibility(False, True, before, found.resources, found.places) if before else found
        word, why = planning.addable(self._nodes.autoscaler(), demand)
        return Feasibility(False, True, f"{found.reason}; {why}", found.resources, found.places) if word else found

    def _only(self, asked: Options, demand_of: Callable[[Options], Demand]) -> Choices[Options]:
        options = self._devices.in_fractions(asked)
        if options is None:
            raise ValueError(
                f"{self._devices.why_no_device_is_large_enough(asked)}; Ray cannot be asked to wait for one."
            )
        asks_elsewhere = options.fallback_strategy or options.scheduling_strategy is not None
        careless = not self._refuses or asks_elsewhere
        refused = self._why_group_is_refused(options)
        if refused:
            never = f"asks for {planning.asked(quantities(demand_of(options)))}, but cannot be placed: {refused}."
            return Choices([RayChoice(options)], never=never)
        return Choices([RayChoice(options)], never="" if careless else self._never(options, demand_of))

    def _never(self, options: Options, demand_of: Callable[[Options], Demand]) -> str:
        """Why this can never be met; asked of the cluster once a second for each demand."""
        demand = quantities(demand_of(options))
        key = (*sorted(demand.items()), *sorted(options.label_selector.items()))
        until, sentence = self._verdicts.get(key, (0.0, ""))
        if time.monotonic() > until:
            found = planning.verdict(self._nodes.take(metrics=False), demand, options.label_selector)
            sentence = (
                "" if found.ever or planning.addable(self._nodes.autoscaler(), demand)[0] else refusal(demand, found)
            )
            self._verdicts[key] = (time.monotonic() + BELIEVED_S, sentence)
        return sentence


def _sorted_out(
    found: list[tuple[Options, str, Feasibility]], options: Options, demand_of: Callable[[Options], Demand]
) -> Choices[Options]:
    first = found[0][2]
    able = [(option, label, verdict) for option, label, verdict in found if verdict.ever]
    if not able and options.gpu_memory:
        raise ValueError(f"{first.reason}; Ray cannot be asked to wait for one.")
    if not able:
        return Choices([RayChoice(options)], never=refusal(quantities(demand_of(options)), first))
    busy = "" if able[0][2].fits_now else able[0][2].reason
    left = [RayChoice(option, label) for option, label, _ in able]
    if left[0].label:
        left[0] = left[0]._replace(why=f"{left[0].label} was taken, because {first.reason}")
    if options.fallback_after_s is None and not options.fallback_on:
        left = left[:1]
    return Choices(left, busy)


def refusal(demand: dict[str, float], found: Feasibility) -> str:
    """What is said of a demand that can never be met, behind the name of who asks."""
    return f"asks for {planning.asked(demand)}, but cannot be placed: {found.reason}."


def _labels(options: ResourceOptions) -> list[str]:
    return ["cpu"] if options.fallback == "cpu" else [str(choice) for choice in options.fallback or ()]


def quantities(demand: Demand) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}
