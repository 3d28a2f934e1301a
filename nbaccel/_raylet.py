"""Types that programs import from `ray._raylet`, Ray's compiled part, for annotations and isinstance."""

from __future__ import annotations

from nbaccel.handles.ids import (
    ActorClassID,
    ActorID,
    FunctionID,
    JobID,
    Language,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from nbaccel.handles.refs import DynamicObjectRefGenerator, ObjectRef, ObjectRefGenerator

__all__ = [
    "ActorClassID",
    "ActorID",
    "DynamicObjectRefGenerator",
    "FunctionID",
    "JobID",
    "Language",
    "NodeID",
    "ObjectRef",
    "ObjectRefGenerator",
    "PlacementGroupID",
    "TaskID",
    "UniqueID",
    "WorkerID",
]
