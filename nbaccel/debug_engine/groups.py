"""Placement groups of this engine: the scheduler reserves, this keeps what users ask about them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import exceptions
from nbaccel.handles.ids import PlacementGroupID
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.groups import SCHEDULING_STATES, answer_to_ready, gone, never_placed, owner_of_ready_died
from nbaccel.local_engine.worker.execution import Running, current_run
from nbaccel.quantities import UNIT
from nbaccel.scheduling.commands import GroupChanged
from nbaccel.scheduling.events import GroupAsked, GroupRemoveAsked

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine


class Group(msgspec.Struct):
    spec: GroupAsked
    state: str = "PENDING"
    never: str = ""  # why it can never be placed, where that is an error
    nodes: list[bytes] = []
    waiting: list[tuple[bytes, wire.Value, bytes | None]] = []  # (object, value, the worker that asked)


class Groups:
    """All placement groups of one engine."""

    def __init__(self, engine: DebugEngine) -> None:
        self._engine = engine
        self._by_id: dict[bytes, Group] = {}
        self._captured: dict[bytes, PlacementGroup] = {}

    def create(self, bundles: list[dict[str, float]], strategy: str, name: str, detached: bool, labels: Any) -> bytes:
        if name and self.find(name) is not None:
            raise exceptions.RaySystemError(f"Failed to create placement group: the name {name!r} already exists.")
        pairs = [tuple(sorted((key, round(amount * UNIT)) for key, amount in bundle.items())) for bundle in bundles]
        label_pairs = [tuple(sorted(one.items())) for one in labels] if labels else None
        group_id = os.urandom(18)
        refuses = self._engine.options.infeasible == "raise"
        spec = GroupAsked(group_id, name, pairs, strategy, 1, detached, label_pairs, refuses)
        self._by_id[group_id] = Group(spec)
        self._engine.stage.tell(spec)
        return group_id

    def ready(self, group_id: bytes, object_id: bytes, value: wire.Value) -> None:
        """Give an object its value once the group is placed."""
        group = self._by_id.get(group_id)
        if group is None or group.state == "REMOVED":
            self._engine.values.fill(object_id, gone())
        elif group.state == "CREATED":
            self._engine.values.fill(object_id, value)
        elif group.never:
            self._engine.values.fill(object_id, never_placed(group.never))
        else:
            running = current_run.get()
            owner = self._engine.stage.worker_of(running.task_id) if running is not None else None
            group.waiting.append((object_id, value, owner))

    def owner_died(self, worker_id: bytes) -> None:
        """What stood for a process has ended that had asked for `ready()`."""
        for group in self._by_id.values():
            for object_id, _value, owner in group.waiting:
                if owner == worker_id:
                    self._engine.values.fill(object_id, owner_of_ready_died(object_id))
            group.waiting = [one for one in group.waiting if one[2] != worker_id]

    def changed(self, command: GroupChanged) -> None:
        group = self._by_id[command.group_id]
        group.state, group.nodes, group.never = command.state, command.bundle_nodes or group.nodes, command.never
        if command.state in ("CREATED", "REMOVED") or command.never:
            waiting, group.waiting = group.waiting, []
            for object_id, value, _owner in waiting:
                self._engine.values.fill(object_id, answer_to_ready(command, value))

    def remove(self, group_id: bytes) -> None:
        if group_id in self._by_id and self._by_id[group_id].state != "REMOVED":
            self._engine.stage.tell(GroupRemoveAsked(group_id))

    def row(self, group_id: bytes) -> dict[str, Any]:
        group = self._by_id.get(group_id)
        if group is None:
            return {}
        spec = group.spec
        bundles = {i: {name: amount / UNIT for name, amount in bundle} for i, bundle in enumerate(spec.bundles)}
        return {
            "placement_group_id": group_id.hex(), "name": spec.name, "bundles": bundles,
            "bundles_to_node_id": {i: node.hex() for i, node in enumerate(group.nodes)}, "strategy": spec.strategy,
            "state": group.state, "stats": {"scheduling_state": self._scheduling_state(group)},
            "is_detached": spec.detached, "creator_job_id": "00000001",
        }  # fmt: skip

    def _scheduling_state(self, group: Group) -> str:
        record = self._engine.stage.scheduler.group_record(group.spec.group_id)
        return "INFEASIBLE" if record is not None and record.never is True else SCHEDULING_STATES[group.state]

    def rows(self) -> list[dict[str, Any]]:
        return [self.row(group_id) for group_id in self._by_id]

    def find(self, name: str) -> dict[str, Any] | None:
        return next((row for row in self.rows() if row["name"] == name and row["state"] != "REMOVED"), None)

    def captured(self, running: Running | None) -> PlacementGroup | None:
        """The group that what this code submits runs in, unless it says where."""
        if running is None or not running.terms.capture or not running.terms.choices:
            return None
        group_id = running.terms.choices[running.run.choice].placement.group_id
        if group_id is None:
            return None
        return self._captured.setdefault(group_id, PlacementGroup(PlacementGroupID(group_id)))
