"""Rows that Ray's users list and look up, where a snapshot has none of the kind. All engines make the same records.

`msgspec.structs.asdict` of a `ListedNode`, a `ListedGroup` or `ObjectPlaces` is the dict that Ray's users get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nbaccel.views.snapshot import GroupRow


class ListedNode(msgspec.Struct):
    """A row of nodes(); the fields have the names of Ray's columns."""

    NodeID: str
    Alive: bool
    NodeManagerAddress: str
    NodeManagerHostname: str
    NodeManagerPort: int
    ObjectManagerPort: int
    ObjectStoreSocketName: str
    RayletSocketName: str
    MetricsExportPort: int
    NodeName: str
    alive: bool
    Resources: dict[str, float]
    Labels: dict[str, str]
    DeathReasonMessage: str


class ListedGroup(msgspec.Struct):
    """A row of placement_group_table(): bundles, and the nodes that have them, are by index."""

    placement_group_id: str
    name: str
    bundles: dict[int, dict[str, float]]
    bundles_to_node_id: dict[int, str]
    strategy: str
    state: str
    stats: dict[str, Any] = {}
    is_detached: bool | None = None  # None: the engine does not know
    creator_job_id: str | None = None

    @classmethod
    def of_ray(cls, row: Mapping[str, Any]) -> ListedGroup:
        """Take over a row of Ray's own table."""
        return msgspec.convert({**row, "bundles_to_node_id": row.get("bundles_to_node_id") or {}}, cls)

    def in_snapshot(self) -> GroupRow:
        """The group as a snapshot has it."""
        indices = sorted(self.bundles)
        return GroupRow(
            self.placement_group_id,
            self.name,
            self.state,
            self.strategy,
            [self.bundles[index] for index in indices],
            [self.bundles_to_node_id.get(index) or None for index in indices],
        )


class ListedObject(msgspec.Struct):
    """An object that some process refers to."""

    object_id: str
    object_size: int | None  # bytes
    place: str  # "inline", "shared memory", "disk", "pending"
    reference_type: str
    task_status: str
    holders: int  # processes that hold a ref
    call_site: str = "disabled"
    type: str = ""  # of its owner: Driver, Worker; "" where that has let go of it
    pid: int | None = None  # of its owner
    ip: str = ""  # of its owner; "": the head's
    attempt_number: int = 0


class ListedDriver(msgspec.Struct):
    """A job, which is what one driver does."""

    job_id: str
    status: str
    pid: int
    entrypoint: str
    start_time: float  # Unix seconds


class ListedEnvironment(msgspec.Struct):
    """A runtime environment that was asked for."""

    runtime_env: dict[str, Any]
    error: str | None  # why it could not be made
    node_id: str


class ObjectPlaces(msgspec.Struct):
    """Where an object's bytes are."""

    node_ids: list[str]
    object_size: int | None  # bytes; None while it is not there
    did_spill: bool
