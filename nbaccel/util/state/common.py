"""Ray's path for the records of the state questions, and for what bounds an answer."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from nbaccel import elsewhere
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
from nbaccel.util.state.row_queries import most_rows

DEFAULT_RPC_TIMEOUT = 30  # seconds
DEFAULT_LIMIT = 100  # rows
DEFAULT_LOG_LIMIT = 1000  # lines
if TYPE_CHECKING:
    RAY_MAX_LIMIT_FROM_API_SERVER: int
    RAY_MAX_LIMIT_FROM_DATA_SOURCE: int


def __getattr__(name: str) -> int:
    """The two limits, as the environment says when they are asked."""
    if name in ("RAY_MAX_LIMIT_FROM_API_SERVER", "RAY_MAX_LIMIT_FROM_DATA_SOURCE"):
        return most_rows()
    raise elsewhere.no_attribute(__name__, name)


class StateResource(Enum):
    """What can be listed."""

    ACTORS = "actors"
    JOBS = "jobs"
    PLACEMENT_GROUPS = "placement_groups"
    NODES = "nodes"
    WORKERS = "workers"
    TASKS = "tasks"
    OBJECTS = "objects"
    RUNTIME_ENVS = "runtime_envs"
    CLUSTER_EVENTS = "cluster_events"


class SummaryResource(Enum):
    """What can be summarised."""

    ACTORS = "actors"
    TASKS = "tasks"
    OBJECTS = "objects"


__all__ = [
    "DEFAULT_LIMIT", "DEFAULT_LOG_LIMIT", "DEFAULT_RPC_TIMEOUT", "RAY_MAX_LIMIT_FROM_API_SERVER",
    "RAY_MAX_LIMIT_FROM_DATA_SOURCE", "ActorState", "ClusterEventState", "JobState", "NodeState", "ObjectState",
    "PlacementGroupState", "RuntimeEnvState", "StateResource", "SummaryResource", "TaskState", "WorkerState",
]  # fmt: skip
