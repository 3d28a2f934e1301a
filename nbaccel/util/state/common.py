"""Ray's path of the rows that the questions answer with: `from ray.util.state.common import TaskState`."""

from nbaccel.util.state.records import (
    ActorState,
    ClusterEventState,
    JobState,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RuntimeEnvState,
    TaskState,
    WorkerState,
)

__all__ = [
    "ActorState",
    "ClusterEventState",
    "JobState",
    "NodeState",
    "ObjectState",
    "PlacementGroupState",
    "RuntimeEnvState",
    "TaskState",
    "WorkerState",
]
