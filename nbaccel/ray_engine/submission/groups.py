"""Placement groups on Ray. A group that can never be placed is reported immediately, or is an error at `ready`."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from functools import partial
from math import inf
from string import hexdigits
from types import ModuleType
from typing import Any, Protocol

import msgspec
import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.options import ResourceOptions, TaskOptions, demand_of_task
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.refs import ObjectRef
from nbaccel.handles.remote import RemoteFunction
from nbaccel.ray_engine.rays import (
    Bound,
    Keywords,
    RaysFunction,
    RaysRef,
    RaysRemote,
    RaysResult,
    import_shipped,
)
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.planning import AutoscalerFacts, Labels
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission import options_for_ray
from nbaccel.ray_engine.submission.errors import translated
from nbaccel.ray_engine.submission.exports import Exporter, HandleMaker
from nbaccel.ray_engine.submission.options_for_ray import Choices, group_of, quantities, rays_group
from nbaccel.ray_engine.submission.shipping import Shipping
from nbaccel.views import sinks
from nbaccel.views.snapshot import GroupRow, Snapshot

JUDGED_FOR_S = 10.0  # what the nodes could hold then, they can hold now: a node may have left since
MOST_JUDGED = 1_000


class ClusterFacts(Protocol):
    """What placement groups need to know of the cluster."""

    def nodes_only(self) -> Snapshot: ...
    def autoscaler(self) -> AutoscalerFacts: ...


class RayGroups:
    """The placement groups of one engine."""

    def __init__(
        self,
        session: RaySession,
        handles: HandleMaker,
        shipping: Shipping,
        facts: ClusterFacts,
        stand_ins: dict[bytes, object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._handles = handles
        self._shipping = shipping
        self._facts = facts
        self._stand_ins = stand_ins
        self._refused: dict[bytes, tuple[GroupRow, Labels]] = {}
        self._clock = clock
        self._judged: dict[bytes, float] = {}  # what a group asks for -> when the nodes could hold it

    def create_group(
        self,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: list[dict[str, str]] | None,
        soft_node: str,
    ) -> bytes:
        from ray.util.placement_group import placement_group

        with translated():
            group = placement_group(
                bundles,
                strategy=strategy,
                name=name,
                lifetime="detached" if detached else None,
                bundle_label_selector=bundle_labels,
                _soft_target_node_id=soft_node or None,
            )
        group_id = bytes(group.id.binary())
        self._judge_group(GroupRow(group_id.hex(), name, "PENDING", strategy, bundles), bundle_labels)
        return group_id

    def group_ready(self, group_id: bytes, value: object) -> ObjectRef[object]:
        refused = self.why_group_is_refused(group_id) if group_id in self._refused else ""
        if refused:
            return self._handles.ref(refused_ref(f"{refused}.", self._shipping))
        ref = self._handles.ref(rays_group(group_id).ready())
        ref.__del__ = partial(self._stand_ins.pop, ref._id, None)
        self._stand_ins[ref._id] = value  # what `get` gives for it: the user's own handle, not Ray's
        return ref

    def awaited_group(self, id: str) -> str:
        """The id of the group that a ref of `ready()` waits for; of anything else, the id itself."""
        is_ref = len(id) == 56 and not set(id) - set(hexdigits)
        group = self._stand_ins.get(bytes.fromhex(id)) if is_ref else None
        return group.id.hex() if isinstance(group, PlacementGroup) else id

    def remove_group(self, group_id: bytes) -> None:
        from ray.util.placement_group import remove_placement_group

        self._refused.pop(group_id, None)
        with translated():
            remove_placement_group(rays_group(group_id))

    def group_table(self, group_id: bytes | None) -> dict[str, object]:
        from ray.util.placement_group import placement_group_table

        if group_id is None:
            return dict(placement_group_table())
        return dict(placement_group_table(rays_group(group_id)))

    def find_group(self, name: str) -> dict[str, object] | None:
        from ray.util.placement_group import get_placement_group

        try:
            group = get_placement_group(name)  # Ray looks in the namespace of this program
        except ValueError:
            return None
        row = self.group_table(group.id.binary())
        return row if row["state"] != "REMOVED" else None

    # ---- never

    def why_never_placed(self, bundles: list[dict[str, float]], strategy: str) -> str:
        row = GroupRow("", "", "PENDING", strategy, bundles)
        return planning.never_placed(self._facts.nodes_only(), row, None, self._facts.autoscaler)

    def _never_placed(self, row: GroupRow, labels: Labels) -> str:
        reason = planning.never_placed(self._facts.nodes_only(), row, labels, self._facts.autoscaler)
        return f"placement group {row.name or row.group_id} cannot be placed here: {reason}" if reason else ""

    def _judge_group(self, row: GroupRow, labels: Labels) -> None:
        """Of a driver's groups, which are the ones somebody looks at."""
        asks = msgspec.msgpack.encode((row.strategy, row.bundles, labels))
        if self._session.in_worker or self._clock() < self._judged.get(asks, -inf) + JUDGED_FOR_S:
            return
        sentence = self._never_placed(row, labels)
        if not sentence:
            self._remember(asks)
            return
        if self._session.refuses_infeasible:
            self._refused[bytes.fromhex(row.group_id)] = (row, labels)
        else:
            parent = engines.cell_source()[1] if engines.cell_source is not None else b""
            message = f"{sentence}. It waits in case a node joins."
            sinks.installed.notice(sinks.Notice("infeasible", message, parent, bytes.fromhex(row.group_id)))

    def _remember(self, asks: bytes) -> None:
        """That groups which ask so can be placed: a program makes many of them, and each question costs Ray 1 ms."""
        if len(self._judged) >= MOST_JUDGED:
            self._judged.clear()
        self._judged[asks] = self._clock()

    def why_group_is_refused(self, group_id: bytes) -> str:
        """Asked anew, since a node may have joined; "" for groups that wait or are placed."""
        refused = self._refused.get(group_id)
        sentence = self._never_placed(*refused) if refused is not None else ""
        if not sentence:
            self._refused.pop(group_id, None)
        return sentence

    def why_its_group_is_refused(self, options: ResourceOptions) -> str:
        """Of the group that work with these options runs in."""
        group = group_of(options) if self._refused else None
        return self.why_group_is_refused(group.id.binary()) if group is not None else ""


# ----
# tasks and actors with more than one choice on Ray, seen from where they are submitted (see attempts for the rest)
#
# A supervised task costs a second task without a CPU and, while it lasts, one of Ray's worker processes; what it
# returns is copied once more.


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
