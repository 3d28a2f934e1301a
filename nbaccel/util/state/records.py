"""What the state questions answer: a record for each task, actor, object, node, worker, placement group and job.

Fields have Ray's names; `why` is ours. They are read as attributes or with `record["field"]`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(slots=True)
class Record:
    """A row of an answer."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)

    def asdict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def columns(cls) -> set[str]:
        """The names of its fields, which filters can name."""
        return {each.name for each in fields(cls)}


@dataclass(slots=True)
class TaskState(Record):
    """A task, an actor's constructor or a call of an actor's method; `why` says why it waits, or how it failed."""

    task_id: str
    attempt_number: int
    name: str
    state: str
    job_id: str
    actor_id: str | None
    type: str  # NORMAL_TASK, ACTOR_CREATION_TASK, ACTOR_TASK
    func_or_class_name: str
    parent_task_id: str | None
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    error_type: str | None
    why: str = ""
    language: str = "PYTHON"
    required_resources: dict[str, float] = field(default_factory=dict)
    device_ids: dict[str, list[str]] = field(default_factory=dict)
    cell: str = ""
    creation_time_ms: int | None = None
    start_time_ms: int | None = None
    end_time_ms: int | None = None
    error_message: str | None = None


@dataclass(slots=True)
class ActorState(Record):
    """An actor; `why` says why it waits or how it died."""

    actor_id: str
    class_name: str
    state: str  # PENDING_CREATION, ALIVE, RESTARTING, DEAD
    job_id: str
    name: str
    node_id: str | None
    pid: int | None
    ray_namespace: str
    why: str = ""
    required_resources: dict[str, float] = field(default_factory=dict)
    device_ids: dict[str, list[str]] = field(default_factory=dict)
    death_cause: str | None = None
    is_detached: bool = False
    num_restarts: int = 0
    pending_calls: int = 0
    cell: str = ""


@dataclass(slots=True)
class NodeState(Record):
    node_id: str
    node_ip: str
    is_head_node: bool
    state: str  # ALIVE, DEAD
    state_message: str | None
    node_name: str
    resources_total: dict[str, float]
    labels: dict[str, str]
    resources_available: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class WorkerState(Record):
    worker_id: str
    is_alive: bool
    worker_type: str
    exit_type: str | None
    node_id: str
    ip: str
    pid: int | None
    state: str = ""  # STARTING, IDLE, BUSY, ACTOR, SPARE, STOPPING
    running: str = ""


@dataclass(slots=True)
class ObjectState(Record):
    object_id: str
    object_size: int | None  # bytes
    task_status: str
    reference_type: str
    place: str  # "inline", "shared memory", "disk", "pending"
    holders: int  # processes that hold a ref
    call_site: str = "disabled"


@dataclass(slots=True)
class PlacementGroupState(Record):
    placement_group_id: str
    name: str
    creator_job_id: str | None
    state: str
    bundles: list[dict[str, Any]]
    is_detached: bool | None
    strategy: str
    why: str = ""


@dataclass(slots=True)
class JobState(Record):
    job_id: str
    status: str
    entrypoint: str
    start_time: int | None  # milliseconds since 1970
    type: str = "DRIVER"
    submission_id: str | None = None
    message: str | None = None
    driver_info: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RuntimeEnvState(Record):
    runtime_env: dict[str, Any]
    success: bool
    error: str | None
    node_id: str


@dataclass(slots=True)
class ClusterEventState(Record):
    severity: str
    time: str
    source_type: str
    message: str
    event_id: str
