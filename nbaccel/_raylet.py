"""Types that programs import from `ray._raylet`, Ray's compiled part, for annotations and isinstance."""

from __future__ import annotations

from nbaccel.ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID, WorkerID
from nbaccel.refs import DynamicObjectRefGenerator, ObjectRef, ObjectRefGenerator

__all__ = [
    "ActorID",
    "DynamicObjectRefGenerator",
    "JobID",
    "NodeID",
    "ObjectRef",
    "ObjectRefGenerator",
    "PlacementGroupID",
    "TaskID",
    "WorkerID",
]
