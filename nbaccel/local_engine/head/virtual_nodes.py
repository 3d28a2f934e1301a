"""Nodes that share this machine: what they have is only counted, and losing one loses its processes and objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from nbaccel import accelerators
from nbaccel.accelerators import NodeDevices
from nbaccel.handles.ids import id_of
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.node_devices import Nodes, device_specs
from nbaccel.local_engine.head.objects import lineage
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.refusal import Refusal
from nbaccel.local_engine.wire.driver_questions import MoveObjects
from nbaccel.quantities import TYPE_PREFIX, UNIT
from nbaccel.scheduling.events import NodeRemoved, NodeSpec
from nbaccel.scheduling.ledger import TYPE_LABEL
from nbaccel.views.observer_lines import AddNode, RemoveNode
from nbaccel.views.question import Row

A = TypeVar("A")
B = TypeVar("B")
DEFAULT_MEMORY_BYTES = 4 << 30


class HeadVirtualNodes:
    """Adds nodes to a head, and takes them away."""

    def __init__(self, nodes: Nodes, context: ObjectContext, tell: Tell) -> None:
        self._nodes = nodes
        self._context = context
        self._tell = tell
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
        self._tell(NodeRemoved(id, why) if self._nodes.specs[id].node_type else NodeRemoved(id))
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
        raise Refusal("ValueError", str(error)) from None
