"""Turns options into terms: facts that are the same for every call are computed once and then have a number."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from nbaccel.handles.option_checks import hides_in
from nbaccel.handles.options import (
    ActorOptions,
    MethodOptions,
    ResourceOptions,
    TaskOptions,
    check_demand_quantities,
    demand_of_actor,
    demand_of_task,
)
from nbaccel.handles.remote import ActorClass, ActorMethod, MethodSpec, RemoteFunction
from nbaccel.local_engine import wire
from nbaccel.local_engine.client import submitter
from nbaccel.local_engine.client.submitter import Environment
from nbaccel.local_engine.wire import codec
from nbaccel.quantities import ACCELERATORS
from nbaccel.scheduling.terms import ActorTerms, Choice, Pairs, Placement, TaskKind, Terms

Options = TypeVar("Options", bound=ResourceOptions)


def task_terms(function: RemoteFunction, options: TaskOptions, key: bytes, fallback_key: bytes, **common: Any) -> Terms:
    """The terms of a remote function with these options."""
    demand = demand_of_task(options)
    _check_group(options, demand, function._name)
    choices = _choices(options, demand)
    return Terms(
        name=options.name or function._short_name,
        kind=TaskKind.TASK,
        function_key=key,
        choices=choices,
        other_functions=_other_functions(options, fallback_key, choices),
        num_returns=_num_returns(options.num_returns, function._is_generator),
        fresh=options.asks_accelerator() and options.calls_of_a_worker() == 1,
        max_calls=options.calls_of_a_worker(),
        max_retries=options.max_retries,
        retry_exceptions=_pickled_types(options.retry_exceptions),
        threads=max(int(options.num_cpus if options.num_cpus is not None else 1), 1),
        backpressure=options.generator_backpressure_num_objects,
        method=function._short_name,
        capture=_captures(options),
        **_shared(options),
        **common,
    )


def actor_terms(
    actor_class: ActorClass, options: ActorOptions, namespace: str, key: bytes, fallback_key: bytes, **common: Any
) -> Terms:
    """The terms of an actor's constructor."""
    placed, held = demand_of_actor(options)
    _check_group(options, held, actor_class._name)
    choices = _choices(options, placed, actor=True)
    concurrency = options.max_concurrency or (1000 if actor_class._is_async else 1)
    out_of_order = options.allow_out_of_order_execution
    if out_of_order is None:
        out_of_order = actor_class._is_async or concurrency > 1
    elif not out_of_order and (actor_class._is_async or concurrency > 1):
        kind = "an asyncio" if actor_class._is_async else "a threaded"
        raise ValueError(
            f"{actor_class._name} is {kind} actor, whose calls cannot be kept in order: set "
            "`allow_out_of_order_execution=True`, or leave it out."
        )
    return Terms(
        name=f"{actor_class._name}.__init__",
        kind=TaskKind.ACTOR_CREATION,
        num_returns=0,
        function_key=key,
        choices=choices,
        other_functions=_other_functions(options, fallback_key, choices),
        fresh=options.asks_accelerator(),
        max_retries=0,
        threads=max(int(options.num_cpus or 1), 1),
        class_name=actor_class._name,
        is_async=actor_class._is_async,
        actor=ActorTerms(
            name=options.name or "",
            namespace=namespace,
            detached=options.detached(),
            lasting=_pairs(held) if held != placed else None,
            max_restarts=options.max_restarts,
            max_task_retries=options.max_task_retries,
            max_concurrency=concurrency,
            concurrency_groups=options.concurrency_groups,
            out_of_order=out_of_order,
            methods=codec.code_bytes(methods_with_limit(actor_class, options)),
        ),
        backpressure=options.actor_generator_backpressure_num_objects,
        capture=_captures(options),
        **_shared(options),
        **common,
    )


def methods_with_limit(actor_class: ActorClass, options: ActorOptions) -> dict[str, MethodSpec]:
    """The methods that handles of this actor offer, with its max_pending_calls."""
    limit = options.max_pending_calls
    if limit <= 0:  # 0 is no limit either, as in Ray
        return actor_class._methods
    return {name: replace(spec, max_pending=limit) for name, spec in actor_class._methods.items()}


def method_terms(method: ActorMethod, options: MethodOptions, **common: Any) -> Terms:
    """The terms of calls of one method."""
    spec = method._spec
    return Terms(
        name=options.name or f"{method.handle._class_name}.{spec.name}",
        kind=TaskKind.ACTOR_CALL,
        num_returns=_num_returns(options.num_returns, spec.is_generator),
        max_retries=options.max_task_retries,
        retry_exceptions=_pickled_types(options.retry_exceptions or False),
        class_name=method.handle._class_name,
        method=spec.name,
        concurrency_group=options.concurrency_group or "",
        is_async=spec.is_async,
        internal=spec.internal,
        backpressure=options.generator_backpressure_num_objects,
        **common,
    )


def asked(options: TaskOptions) -> Choice:
    """The first choice of a task with these options. Raises ValueError for a quantity that a family refuses."""
    return _choice(options, demand_of_task(options))


def _shared(options: ResourceOptions) -> dict[str, Any]:
    environment = submitter.encoded(options.runtime_env or {})
    hides = hides_in(options.runtime_env)
    return {
        "fallback_after_s": options.fallback_after_s,
        "fallback_on": codec.code_bytes(options.fallback_on) if options.fallback_on else b"",
        "runtime_env": environment,
        "environment": submitter.environment_key(environment),
        "how": submitter.how_started(options.runtime_env or {}),
        "hide_unassigned": True if options.hide_unassigned is None and hides else options.hide_unassigned,
        **options.facts(),
    }


def _num_returns(asked: int | str | None, is_generator: bool) -> int:
    if asked is None:
        return wire.STREAMING if is_generator else 1
    if asked == "streaming":
        return wire.STREAMING
    if asked == "dynamic":
        return wire.DYNAMIC
    return int(asked)


def _pickled_types(types: Any) -> bytes | bool:
    return types if isinstance(types, bool) else codec.code_bytes(tuple(types))


def _choices(options: ResourceOptions, demand: dict[str, int], *, actor: bool = False) -> tuple[Choice, ...]:
    """The first choice, then Ray's soft label alternatives, then the fallbacks."""
    first = _choice(options, demand)
    choices = [first]
    for strategy in options.fallback_strategy:
        labels = tuple(sorted((strategy.get("label_selector") or {}).items()))
        placement = replace(first.placement, labels=labels)
        choices.append(replace(first, placement=placement, label=f"label_selector={dict(labels)}"))
    for position, fallback in enumerate(options.fallbacks()):
        fallback_demand = demand_of_actor(fallback)[0] if actor else demand_of_task(fallback)  # type: ignore[arg-type]
        choices.append(_choice(fallback, fallback_demand, _words(options, position)))
    return tuple(choices)


def _other_functions(options: ResourceOptions, key: bytes, choices: tuple[Choice, ...]) -> tuple[bytes, ...]:
    """The function of each choice: a fallback's own for its choices, b"" (the submitted one) for all others."""
    same = len(choices) - len(options.fallbacks())
    return (b"",) * same + (key,) * (len(choices) - same) if key else ()


def _words(options: ResourceOptions, position: int) -> str:
    return "cpu" if options.fallback == "cpu" else str((options.fallback or ())[position])


def _pairs(demand: dict[str, int]) -> Pairs:
    return tuple(sorted(demand.items()))


def _choice(options: ResourceOptions, demand: dict[str, int], label: str = "") -> Choice:
    check_demand_quantities(demand, _refusal)
    return Choice(_pairs(demand), _placement(options), label, options.gpu_memory or 0)


def _refusal(resource: str, quantity: float) -> str | None:
    if resource not in ACCELERATORS:
        return None
    from nbaccel import accelerators  # a program whose tasks ask for no device needs no vendor

    try:
        accelerators.check_quantity(resource, quantity)
    except ValueError as error:
        return str(error)
    return None


def _placement(options: ResourceOptions) -> Placement:
    """The placement that the options name: placement_group=, or scheduling_strategy= with a word or an object."""
    labels = tuple(sorted(options.label_selector.items()))
    group, bundle = _group_of(options)
    strategy = options.scheduling_strategy
    if group is not None:
        return Placement("GROUP", group_id=group.id.binary(), bundle=bundle, labels=labels)
    if strategy == "SPREAD":
        return Placement("SPREAD", labels=labels)
    if hasattr(strategy, "node_id"):
        return Placement("NODE", bytes.fromhex(strategy.node_id), bool(strategy.soft), labels=labels)
    if hasattr(strategy, "hard"):
        hard, soft = strategy.hard_pairs(), strategy.soft_pairs()
        return Placement(labels=(*labels, *hard), soft_labels=tuple(soft))
    return Placement(labels=labels)


def _group_of(options: ResourceOptions) -> tuple[Any, int]:
    """(the placement group or None, the index of its bundle)."""
    strategy = options.scheduling_strategy
    if hasattr(strategy, "placement_group"):
        group, bundle = strategy.placement_group, strategy.placement_group_bundle_index
    else:
        group, bundle = options.placement_group, options.placement_group_bundle_index
    return (None, -1) if group in (None, "default") or group.is_empty else (group, bundle)


def _check_group(options: ResourceOptions, demand: dict[str, int], name: str) -> None:
    group, bundle = _group_of(options)
    if group is not None:
        group._check_fits(list(demand.items()), bundle, name)


def _captures(options: ResourceOptions) -> bool:
    """Whether the tasks that this task submits run in its placement group too."""
    asked = getattr(options.scheduling_strategy, "placement_group_capture_child_tasks", None)
    return bool(options.placement_group_capture_child_tasks if asked is None else asked)


def inheriting(options: Options, environment: Environment, group: Any) -> Options:
    """The options of a submission from code with this environment, inside of this capturing placement group."""
    if environment or options.runtime_env:
        own = submitter.spelled_out(options.runtime_env)
        options = replace(options, runtime_env=submitter.joined(environment, own))
    if group is None or options.scheduling_strategy is not None or options.placement_group != "default":
        return options
    return replace(options, placement_group=group, placement_group_capture_child_tasks=True)
