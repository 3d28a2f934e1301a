"""Nodes that come and go: virtual nodes, those that the scheduler asks for, and what programs want room for.

Gets virtual nodes of the given types when the scheduler asks for them, and lets them go.
```
  scheduler ── RequestNode ──► NodeSource ── after arrives_after_s ──► NodeAdded, or NodeFailed where the type `fails`
  scheduler ── ReleaseNode ──► NodeSource ── objects only there? ────► NodeKept, else NodeRemoved
```

What programs ask the cluster to have room for: one request of Ray's kind, and what each notebook holds besides.

As in Ray there is one request in a cluster: the last call of any driver replaces it, and it outlives its driver. What
`held` asks for belongs to a process: it is added to the request and withdrawn with its block or its process.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from nbaccel import accelerators
from nbaccel.accelerators import NodeDevices
from nbaccel.handles.ids import id_of
from nbaccel.handles.node_types import DEFAULT_IDLE_S, DEFAULT_MOST
from nbaccel.local_engine.head.connections import Peer, QuestionError
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.node_devices import Nodes, device_specs
from nbaccel.local_engine.head.objects import lineage
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.snapshot_builder import Growing
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.driver_questions import MoveObjects
from nbaccel.quantities import TYPE_PREFIX, UNIT, to_units
from nbaccel.scheduling.commands import ReleaseNode, RequestNode
from nbaccel.scheduling.events import (
    NodeFailed,
    NodeKept,
    NodeRemoved,
    NodeSpec,
    NodeTypesGiven,
    NodeTypeSpec,
    RequestedBundles,
    ResourcesRequested,
)
from nbaccel.scheduling.growth import GrowthForecast
from nbaccel.scheduling.ledger import TYPE_LABEL
from nbaccel.scheduling.reasons import bytes_text
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Choice
from nbaccel.views.explanations import ExpectedGrowth
from nbaccel.views.observer_lines import AddNode, RemoveNode, Row
from nbaccel.views.snapshot import ArrivalRow, NodeTypeRow, RequestRow

A = TypeVar("A")
B = TypeVar("B")
DEFAULT_MEMORY_BYTES = 4 << 30


class HeadVirtualNodes:
    """Adds nodes to a head, and takes them away."""

    def __init__(self, nodes: Nodes, context: ObjectContext, notify: Notify) -> None:
        self._nodes = nodes
        self._context = context
        self._notify = notify
        self.environ: dict[bytes, dict[str, str]] = {}  # node id -> variables that were set after the head had started
        self.on_removed: Callable[[bytes, str], None] = lambda node_id, node_type: None  # with the node's type

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of nodes."""
        return [
            AddNode.answered_by(lambda peer, asked: _or_refused(self.add, asked.options)),
            RemoveNode.answered_by(lambda peer, asked: _or_refused(self.remove, asked.node_id)),
            MoveObjects.answered_by(lambda peer, asked: _or_refused(self.move_objects, asked.node)),
        ]

    def add(self, options: dict[str, Any], *, node_type: str = "", launch: int = 0) -> str:
        """The hex id of a new node. Raises ValueError for what no node can have.

        A node that was asked for has its type and the number of its launch.
        """
        node_id = os.urandom(28)
        number = len(self._nodes.specs)
        name = options.get("name") or (f"{node_type}-{number}" if node_type else f"node-{number}")
        spec, offered = spec_of(options, node_id, name)
        spec.totals[f"node:{name}"] = UNIT
        spec.labels = {"ray.io/node-id": node_id.hex(), **spec.labels}
        spec.node_type, spec.launch = node_type, launch
        self.environ[node_id] = options.get("environ") or {}
        self._context.objects.can_be_lost = True
        self._nodes.add(spec, offered)
        return node_id.hex()

    def remove(self, node_id: str, why: str = "it was removed") -> None:
        """Lose a node. Raises ValueError for one that cannot be removed."""
        id = id_of(node_id, "a node")
        if id not in self._nodes.specs or id in self._nodes.gone:
            raise ValueError(f"Node {node_id} is not in this cluster.")
        if self._nodes.specs[id].is_head:
            raise ValueError("The head's own node cannot be removed: shut the cluster down instead.")
        self.environ.pop(id, None)
        self._nodes.remove(id, why)
        self.on_removed(id, self._nodes.specs[id].node_type)
        lost = lineage.lose(self._context, id)
        self._notify(NodeRemoved(id, why) if self._nodes.specs[id].node_type else NodeRemoved(id))
        lineage.make_again(self._context, lost, f"node {self._nodes.specs[id].name}")

    def move_objects(self, name: str) -> tuple[int, int]:
        """Give the head's node a copy of what lies only on the node of this name; the objects, and their bytes.

        Raises ValueError for a node that is not here, and for the head's own.
        """
        here = {spec.name: id for id, spec in self._nodes.specs.items() if id not in self._nodes.gone}
        if name not in here:
            raise ValueError(f"There is no node {name!r} here. The nodes are: {', '.join(here)}.")
        if here[name] == self._nodes.node_id:
            raise ValueError(f"{name} is the head's own node: objects are moved to it, not from it.")
        return lineage.copy_to(self._context, here[name], self._nodes.node_id)


def spec_of(options: dict[str, Any], node_id: bytes, name: str) -> tuple[NodeSpec, NodeDevices]:
    """What a node with these options has: logical devices, and the rest as it was given."""
    resources = options.get("resources") or {}
    nothing = accelerators.detect(accelerators.RealMachine(), simulate="none")
    num_gpus = options.get("num_gpus") or 0
    offered = accelerators.resolve_resources(nothing, num_gpus=num_gpus, resources=resources, environ={})
    kind = options.get("accelerator_type")
    if kind:
        offered.devices = {
            resource: [replace(device, type=kind) for device in devices]
            for resource, devices in offered.devices.items()
        }
        offered.resources[TYPE_PREFIX + kind] = 1.0
        offered.labels[TYPE_LABEL] = kind
    totals = {name: round(amount * UNIT) for name, amount in resources.items() if name not in offered.devices}
    totals |= {name: round(amount * UNIT) for name, amount in offered.resources.items()}
    totals["CPU"] = round((1 if options.get("num_cpus") is None else options["num_cpus"]) * UNIT)
    totals["memory"] = round((options.get("memory") or DEFAULT_MEMORY_BYTES) * UNIT)
    if options.get("object_store_memory"):
        totals["object_store_memory"] = round(options["object_store_memory"] * UNIT)
    labels = {**offered.labels, **(options.get("labels") or {})}
    return NodeSpec(node_id, name, totals, device_specs(offered), labels), offered


def _or_refused(act: Callable[[A], B], argument: A) -> B:
    try:
        return act(argument)
    except ValueError as error:
        raise QuestionError("ValueError", str(error)) from None


MOST_KEPT_SHOWN = 5  # objects of a node that cannot leave


class NodeSource:
    """The node types of one head. Without types it does nothing."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        nodes: HeadVirtualNodes,
        context: ObjectContext,
        notify: Notify,
        types: Mapping[str, dict[str, Any]],
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._nodes = nodes
        self._context = context
        self._notify = notify
        self._types = types
        self._came_at: dict[bytes, float] = {}  # of the nodes that are here
        self._used_s = dict.fromkeys(types, 0.0)  # how long nodes of each type were here that have left
        self._kept_objects: dict[bytes, list[str]] = {}  # node -> the largest objects that kept it
        nodes.on_removed = self._left

    def __bool__(self) -> bool:
        return bool(self._types)

    def begin(self) -> None:
        """Tell the scheduler of the types; the head's own node has joined."""
        if self._types:
            self._notify(NodeTypesGiven([_type_spec(name, options) for name, options in self._types.items()]))

    # ---- orders

    def ask(self, command: RequestNode) -> None:
        pause_s = self._types[command.node_type].get("arrives_after_s") or 0.0
        self._timers.after(pause_s, lambda: self._arrive(command))

    def _arrive(self, command: RequestNode) -> None:
        options = self._types[command.node_type]
        why = options.get("fails")
        if why:
            self._notify(NodeFailed(command.launch, why))
            return
        try:
            node_id = self._nodes.add(options, node_type=command.node_type, launch=command.launch)
            self._came_at[bytes.fromhex(node_id)] = self._timers.now()
        except Exception as error:  # the scheduler waits for an answer
            self._notify(NodeFailed(command.launch, f"{type(error).__name__}: {error}"))
            raise

    def release(self, command: ReleaseNode) -> None:
        kept = lineage.only_on(self._context, command.node_id)
        self._kept_objects[command.node_id] = [id.hex() for id, _size_bytes in kept[:MOST_KEPT_SHOWN]]
        if kept:
            number, size_bytes = len(kept), sum(size_bytes for _id, size_bytes in kept)
            objects = "1 object is" if number == 1 else f"{number} objects are"
            self._notify(NodeKept(command.node_id, f"{objects} only there ({bytes_text(size_bytes)})"))
        else:
            self._nodes.remove(command.node_id.hex(), command.why)

    def _left(self, node_id: bytes, node_type: str) -> None:
        """A node is gone, because it was idle or for another reason."""
        self._kept_objects.pop(node_id, None)
        came_at = self._came_at.pop(node_id, None)
        if came_at is not None:
            self._used_s[node_type] += self._timers.now() - came_at

    # ---- rows

    def kept_objects(self, node_id: bytes) -> list[str]:
        """The largest of the objects that kept this node when it was last asked to leave, by their hex ids."""
        return self._kept_objects.get(node_id, [])

    def type_rows(self) -> list[NodeTypeRow]:
        now = self._timers.now()
        rows = []
        for record in self._scheduler.node_types():
            spec = record.spec
            arriving = sum(launch.node_type == spec.name for launch in self._scheduler.launches())
            totals = {name: amount / UNIT for name, amount in spec.totals.items()}
            for device in spec.devices:
                totals[device.resource] = totals.get(device.resource, 0.0) + device.amount / UNIT
            rows.append(
                NodeTypeRow(
                    spec.name, "virtual", totals, spec.labels, spec.min, spec.max, len(record.here), arriving,
                    spec.idle_s, record.failures, record.why if record.failures else "",
                    _clock(record.try_at, now) if record.failures and not record.given_up else None, record.given_up,
                    self._used_s[spec.name] + sum(now - self._came_at[place.node_id] for place in record.here),
                    _clock(record.failed_at, now) if record.failures else None,
                )
            )  # fmt: skip
        return rows

    def arrival_rows(self) -> list[ArrivalRow]:
        now = self._timers.now()
        usual_s = {record.spec.name: record.usual_s for record in self._scheduler.node_types()}
        return [
            ArrivalRow(
                str(launch.number), launch.node_type, "virtual", "arriving", _clock(launch.since, now),
                usual_s[launch.node_type],
            )
            for launch in self._scheduler.launches()
        ]  # fmt: skip


def _clock(at: float, now: float) -> float:
    """A time of the loop's clock as Unix seconds."""
    return time.time() + (at - now)


def _type_spec(name: str, options: dict[str, Any]) -> NodeTypeSpec:
    spec, _offered = spec_of(options, b"", name)
    idle_s = options.get("idle_s")
    return NodeTypeSpec(
        name,
        spec.totals,
        spec.devices,
        spec.labels,
        options.get("min") or 0,
        options.get("max") or DEFAULT_MOST,
        DEFAULT_IDLE_S if idle_s is None else idle_s,
        options.get("priority") or 0,
    )


class ResourceRequest(msgspec.Struct):
    """One request, and who made it."""

    bundles: list[dict[str, float]]
    labels: list[dict[str, str]]
    by: str
    job: int
    since: float


class ResourceRequests:
    """The request of this head and what is held. `may_grow` tells whether the head has node types."""

    def __init__(
        self,
        notify: Notify,
        name_of: Callable[[int], str],
        may_grow: Callable[[], bool],
        forecast: Callable[[RequestedBundles], GrowthForecast],
    ) -> None:
        self._notify = notify
        self._name_of = name_of  # a job's name, by its number
        self._may_grow = may_grow
        self._forecast = forecast
        self._request: ResourceRequest | None = None
        self._held: dict[tuple[int, str], ResourceRequest] = {}  # client, the id of its block

    def answers(self) -> list[Row[Peer]]:
        return [
            asks.RequestResources.answered_by(self._requested),
            asks.HoldResources.answered_by(self._hold),
            asks.ForecastGrowth.answered_by(self._foresee),
        ]

    def _foresee(self, peer: Peer, asked: asks.ForecastGrowth) -> ExpectedGrowth | None:
        if not self._may_grow():
            return None
        found = self._forecast(_counted([self._asked(peer, asked.bundles, [])]))
        return ExpectedGrowth(
            found.asks,
            [_as_bundle(choice) for choice in found.infeasible],
            [_as_bundle(choice) for choice, number in found.short for _each in range(number)],
        )

    def _requested(self, peer: Peer, asked: asks.RequestResources) -> bool:
        if not self._may_grow():
            return False
        self._request = self._asked(peer, asked.bundles, asked.labels) if asked.bundles else None
        self._send()
        return True

    def _hold(self, peer: Peer, asked: asks.HoldResources) -> bool:
        if not self._may_grow():
            return False
        self._held.pop((peer.client_id, asked.id), None)
        if asked.bundles:
            self._held[peer.client_id, asked.id] = self._asked(peer, asked.bundles, [])
        self._send()
        return True

    def client_gone(self, client_id: int) -> None:
        """What this process held is withdrawn; its request stays."""
        mine = [key for key in self._held if key[0] == client_id]
        for key in mine:
            del self._held[key]
        if mine:
            self._send()

    def _asked(self, peer: Peer, bundles: list[dict[str, float]], labels: list[dict[str, str]]) -> ResourceRequest:
        return ResourceRequest(bundles, labels, self._name_of(peer.job), peer.job, time.time())

    def _send(self) -> None:
        """Tell the scheduler the sum."""
        self._notify(ResourcesRequested(_counted([*([self._request] if self._request else []), *self._held.values()])))

    def rows(self) -> list[RequestRow]:
        """What is asked for now: the request first, then what is held."""
        rows = [_row(self._request, "request")] if self._request else []
        return rows + [_row(asked, "held") for asked in self._held.values()]


def _counted(requests: list[ResourceRequest]) -> RequestedBundles:
    """All bundles; equal ones are counted."""
    counts: Counter[tuple[tuple[tuple[str, int], ...], tuple[tuple[str, str], ...]]] = Counter()
    for asked in requests:
        labels = asked.labels or [{}] * len(asked.bundles)
        for bundle, selector in zip(asked.bundles, labels, strict=True):
            demand = tuple(sorted((name, to_units(amount)) for name, amount in bundle.items() if amount))
            counts[demand, tuple(sorted(selector.items()))] += 1
    return [(demand, labels, number) for (demand, labels), number in counts.items()]


def _as_bundle(choice: Choice) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in choice.demand}


def _row(asked: ResourceRequest, kind: str) -> RequestRow:
    totals: dict[str, float] = {}
    for bundle in asked.bundles:
        for name, amount in bundle.items():
            totals[name] = totals.get(name, 0.0) + amount
    return RequestRow(kind, totals, len(asked.bundles), asked.by, asked.job, asked.since)


class Autoscaling:
    """Everything that one head has for nodes other than its own. `types` are the node types that it was given."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        nodes: Nodes,
        context: ObjectContext,
        notify: Notify,
        types: Mapping[str, dict[str, Any]],
        *,
        name_of_job: Callable[[int], str],
    ) -> None:
        self.virtual_nodes = HeadVirtualNodes(nodes, context, notify)
        self.source = NodeSource(timers, scheduler, self.virtual_nodes, context, notify, types)
        self.requests = ResourceRequests(
            notify,
            name_of_job,
            may_grow=lambda: bool(types),
            forecast=lambda bundles: scheduler.growth_forecast(bundles, timers.now()),
        )

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of nodes, and for room."""
        return [*self.virtual_nodes.answers(), *self.requests.answers()]

    def shown(self) -> Growing:
        """Where snapshots get their rows from."""
        source = self.source
        return Growing(source.type_rows, source.arrival_rows, self.requests.rows, source.kept_objects)
