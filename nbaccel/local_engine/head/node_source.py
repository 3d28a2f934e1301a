"""Gets virtual nodes of the given types when the scheduler asks for them, and lets them go.

```
  scheduler ── AskNode ──────► NodeSource ── after arrives_after_s ──► NodeAdded, or NodeFailed where the type `fails`
  scheduler ── ReleaseNode ──► NodeSource ── objects only there? ────► NodeKept, else NodeRemoved
```
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from nbaccel.handles.node_types import DEFAULT_IDLE_S, DEFAULT_MOST
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects import lineage
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.virtual_nodes import HeadVirtualNodes, spec_of
from nbaccel.quantities import UNIT
from nbaccel.scheduling.commands import AskNode, ReleaseNode
from nbaccel.scheduling.events import NodeFailed, NodeKept, NodeTypesGiven, NodeTypeSpec
from nbaccel.scheduling.resources import bytes_text
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views.snapshot import ArrivalRow, NodeTypeRow

MOST_KEPT_SHOWN = 5  # objects of a node that cannot leave


class NodeSource:
    """The node types of one head. Without types it does nothing."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        nodes: HeadVirtualNodes,
        context: ObjectContext,
        tell: Tell,
        types: Mapping[str, dict[str, Any]],
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._nodes = nodes
        self._context = context
        self._tell = tell
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
            self._tell(NodeTypesGiven([_type_spec(name, options) for name, options in self._types.items()]))

    # ---- orders

    def ask(self, command: AskNode) -> None:
        pause_s = self._types[command.node_type].get("arrives_after_s") or 0.0
        self._timers.after(pause_s, lambda: self._arrive(command))

    def _arrive(self, command: AskNode) -> None:
        options = self._types[command.node_type]
        why = options.get("fails")
        if why:
            self._tell(NodeFailed(command.launch, why))
            return
        try:
            node_id = self._nodes.add(options, node_type=command.node_type, launch=command.launch)
            self._came_at[bytes.fromhex(node_id)] = self._timers.now()
        except Exception as error:  # the scheduler waits for an answer
            self._tell(NodeFailed(command.launch, f"{type(error).__name__}: {error}"))
            raise

    def release(self, command: ReleaseNode) -> None:
        kept = lineage.only_on(self._context, command.node_id)
        self._kept_objects[command.node_id] = [id.hex() for id, _size_bytes in kept[:MOST_KEPT_SHOWN]]
        if kept:
            number, size_bytes = len(kept), sum(size_bytes for _id, size_bytes in kept)
            objects = "1 object is" if number == 1 else f"{number} objects are"
            self._tell(NodeKept(command.node_id, f"{objects} only there ({bytes_text(size_bytes)})"))
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
