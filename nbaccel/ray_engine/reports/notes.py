"""The records that nbaccel_in_ray sends from a cluster: notes of tasks, samples of devices, Ray's own tables."""

from __future__ import annotations

from typing import Any, TypedDict


class Note(TypedDict, total=False):
    """What a task has said of itself; see nbaccel_in_ray.reporting."""

    task_id: str
    name: str
    kind: str
    attempt: int
    started_at: float
    ended_at: float
    end: str  # FAILED or CANCELLED
    error: str  # its first line
    choice: str
    choice_why: str
    devices: dict[str, list[str]]
    assigned: dict[str, float]
    demand: dict[str, float]
    progress: tuple[float, float]
    leak: str
    peak_memory_bytes: int
    actor_id: str | None
    parent: str | None  # the task that submitted this one
    node_id: str
    worker_id: str
    pid: int
    submitted_at: float
    submitted_actor: str | None
    submitter: str | None  # the worker whose task submitted this one
    cancelled_at: float  # when its submitter asked for that
    stands_for: str
    forgotten: bool  # a nested task of which nobody can say any more whether it has begun


class DeviceSample(TypedDict):
    """What a node's agent says of one device."""

    name: str | None
    uuid: str | None
    metrics: dict[str, Any]  # the fields of snapshot.DeviceMetrics


class RaysNode(TypedDict, total=False):
    """A row of ray.nodes()."""

    NodeID: str
    Alive: bool
    NodeName: str
    NodeManagerAddress: str
    NodeManagerHostname: str
    Resources: dict[str, float]
    Labels: dict[str, str]
    DeathReasonMessage: str


class ActorAddress(TypedDict):
    NodeID: str


class ActorFacts(TypedDict):
    """A row of Ray's table of actors, with what nbaccel_in_ray.tables adds."""

    ActorID: str
    State: str
    JobID: str
    Name: str
    Address: ActorAddress
    Pid: int
    StartTime: float
    NumRestarts: int
    class_name: str
    why: str
    out_of_scope: bool
    internal: bool  # nbaccel's own; see nbaccel_in_ray.internal


class JobFacts(TypedDict):
    """A row of Ray's table of jobs."""

    JobID: str
    IsDead: bool
    DriverPid: int
    Entrypoint: str
    StartTime: float


GroupFacts = dict[str, Any]  # a row of placement_group_table(), which users see as it is


class RaysTables(TypedDict):
    """What nbaccel_in_ray.tables reads."""

    nodes: list[RaysNode]
    available: dict[str, dict[str, float]]  # node -> what is free there
    actors: list[ActorFacts]
    workers: dict[str, int | None]  # live workers -> pid
    groups: list[GroupFacts]  # rows of Ray's placement_group_table()
    jobs: list[JobFacts]
