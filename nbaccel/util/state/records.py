"""What the state questions answer: a record for each task, actor, object, node, worker, placement group and job.

Fields have Ray's names; `why` is ours. They are read as attributes or with `record["field"]`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from nbaccel.exceptions import RaySystemError


@dataclass
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


@dataclass
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
    events: list[dict[str, Any]] = field(default_factory=list)  # {"state": ..., "created_at": ISO time}, in order
    # Kept for programs that read them; not recorded here.
    placement_group_id: str | None = None
    runtime_env_info: dict[str, Any] | None = None
    label_selector: dict[str, str] | None = None
    fallback_strategy: list[dict[str, Any]] | None = None
    call_site: str | None = None
    task_log_info: dict[str, Any] | None = None
    profiling_data: dict[str, Any] | None = None
    is_debugger_paused: bool | None = None


@dataclass
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
    # Kept for programs that read them; not recorded here.
    repr_name: str = ""
    placement_group_id: str | None = None
    serialized_runtime_env: str | None = None
    label_selector: dict[str, str] | None = None
    fallback_strategy: list[dict[str, Any]] | None = None
    call_site: str | None = None
    num_restarts_due_to_lineage_reconstruction: int = 0
    num_restarts_due_to_node_preemption: int = 0


@dataclass
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
    start_time_ms: int | None = None
    end_time_ms: int | None = None


@dataclass
class WorkerState(Record):
    worker_id: str
    is_alive: bool
    worker_type: str  # WORKER, DRIVER
    exit_type: str | None
    node_id: str | None
    ip: str
    pid: int | None
    state: str = ""  # STARTING, IDLE, BUSY, ACTOR, SPARE, STOPPING; of a driver: ALIVE
    running: str = ""
    exit_detail: str | None = None
    start_time_ms: int | None = None
    end_time_ms: int | None = None
    worker_launch_time_ms: int | None = None
    worker_launched_time_ms: int | None = None
    debugger_port: int | None = None
    num_paused_threads: int | None = None


@dataclass
class ObjectState(Record):
    object_id: str
    object_size: int | None  # bytes
    task_status: str
    reference_type: str
    place: str  # "inline", "shared memory", "disk", "pending"
    holders: int  # processes that hold a ref
    call_site: str = "disabled"
    type: str = ""  # of its owner: Driver, Worker; "" where that has let go of it
    pid: int | None = None  # of its owner
    ip: str = ""
    attempt_number: int = 0


@dataclass
class PlacementGroupState(Record):
    placement_group_id: str
    name: str
    creator_job_id: str | None
    state: str
    bundles: list[dict[str, Any]]
    is_detached: bool | None
    strategy: str
    why: str = ""
    stats: dict[str, Any] | None = None


@dataclass
class JobState(Record):
    job_id: str
    status: str
    entrypoint: str
    start_time: int | None  # milliseconds since 1970
    type: str = "DRIVER"
    submission_id: str | None = None
    message: str | None = None
    driver_info: dict[str, Any] = field(default_factory=dict)


@dataclass
class RuntimeEnvState(Record):
    runtime_env: dict[str, Any]
    success: bool
    error: str | None
    node_id: str


@dataclass
class ClusterEventState(Record):
    severity: str
    time: str
    source_type: str
    message: str
    event_id: str


# ---- the errors of the state questions


class RayStateApiException(RaySystemError):
    """A state question could not be answered."""


class ServerUnavailable(RayStateApiException):
    """There is no cluster to ask."""


class DataSourceUnavailable(RayStateApiException):
    """A part of the cluster that would have to be asked does not answer."""
