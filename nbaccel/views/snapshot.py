"""The snapshot of a running cluster that every view draws: card, magics, cockpit, terminal, `--json`.

Both engines fill it; no view computes anything of its own. Times are Unix seconds, memory is bytes, quantities are in
whole resources (0.25 of a GPU is 0.25). What is not known is None, with the reason beside it. The records encode with
msgspec to JSON (observers, pages) and MessagePack (drivers), without fields at their defaults; fields are only ever
added, with defaults.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

PROTOCOL_VERSION = 1


class Holder(msgspec.Struct, omit_defaults=True):
    """Who holds a device, or a part of it, and for which cell."""

    name: str  # of the task or the actor's class
    amount: float  # 1.0 is the whole device
    task_id: str | None = None
    actor_id: str | None = None
    pid: int | None = None
    cell: str = ""  # "[7] line 3"; "" when not submitted from a notebook
    since: float | None = None
    job: int = 0


class DeviceMetrics(msgspec.Struct, omit_defaults=True):
    """What the vendor's interface said of a device, last time somebody watched."""

    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    processes: list[tuple[int, int | None]] = []  # (pid, bytes)
    reasons: dict[str, str] = {}  # field -> why it is None
    sampled_at: float | None = None


class DeviceRow(msgspec.Struct, omit_defaults=True):
    """One device of one node, with its holders."""

    node_id: str
    resource: str  # "GPU", "TPU", ...
    index: int  # its place in the node's list
    id: str  # its id in get_accelerator_ids()
    vendor: str  # "nvidia"
    family: str  # "NVIDIA GPU"
    kind: str  # "real", "logical" or "simulated"
    type: str | None = None  # accelerator type: "A100"
    name: str = ""  # "NVIDIA A100-SXM4-40GB"
    uuid: str | None = None
    parent: str | None = None  # of a MIG instance
    profile: str | None = None
    offered: bool = True
    memory_bytes: int | None = None
    free: float = 1.0  # the part that could be assigned now
    free_reason: str = ""  # why less than all that is not held here is free: "held by notebook b.ipynb, pid 4711"
    holders: list[Holder] = []
    metrics: DeviceMetrics | None = None


class DeviceCount(msgspec.Struct, omit_defaults=True):
    """How many devices of a resource the living nodes offer: all of them, not only those with rows."""

    resource: str
    total: int = 0
    held: int = 0  # by somebody of this cluster
    taken: int = 0  # by nobody of it, and yet not free: other programs use them, or they are lost
    shared: int = 0  # held, with a part that is free
    most_free: float = 0.0  # of one of these
    least_free: float = 0.0
    logical: int = 0
    simulated: int = 0

    @property
    def free(self) -> int:
        """Those of which nobody holds any."""
        return self.total - self.held - self.taken


class NodeRow(msgspec.Struct, omit_defaults=True):
    node_id: str
    name: str
    alive: bool = True
    is_head: bool = False
    totals: dict[str, float] = {}
    available: dict[str, float] = {}
    labels: dict[str, str] = {}
    address: str = ""
    why: str = ""  # of a dead one
    node_type: str = ""  # of a node that was asked for
    idle_since: float | None = None  # of such a node: since when nobody has held any of it
    leaves_at: float | None = None  # when it may leave; None where it is known that something keeps it
    kept_by: str = ""  # why it stays though it is idle: who needs it, or why it did not leave when it was told to
    kept_objects: list[str] = []  # the largest objects that are only there, then


class NodeTypeRow(msgspec.Struct, omit_defaults=True):
    """A type of nodes that the cluster can get: what each has, how many there may be, and how many there are."""

    name: str
    source: str = "virtual"
    resources: dict[str, float] = {}
    labels: dict[str, str] = {}
    min: int = 0
    max: int = 1  # 0: not told
    here: int = 0
    arriving: int = 0
    idle_s: float | None = None
    failures: int = 0  # in a row; with Ray's autoscaler all since the head's start
    why: str = ""  # of the last failure
    next_try_at: float | None = None
    given_up: bool = False  # no more are asked for
    used_s: float = 0.0  # how long all nodes of this type together have been here so far
    failed_at: float | None = None  # when the last failure was


class ArrivalRow(msgspec.Struct, omit_defaults=True):
    """A node that was asked for and is not here yet."""

    id: str
    node_type: str
    source: str = "virtual"
    state: str = "arriving"
    since: float = 0.0
    usually_s: float | None = None  # the median of the last arrivals of its type


class RequestRow(msgspec.Struct, omit_defaults=True):
    """Room that somebody asks the cluster to have: the request of request_resources(), or what a notebook holds."""

    kind: str  # "request" or "held"
    resources: dict[str, float]
    bundles: int = 0
    by: str = ""  # the notebook or script
    job: int = 0
    since: float = 0.0


class TaskRow(msgspec.Struct, omit_defaults=True):
    """A task, an actor's constructor or a call: Ray's state names, and why it waits.

    A task that was cancelled is CANCELLED here, and FAILED with this `error_type` to Ray's own questions.
    """

    task_id: str
    name: str
    kind: str  # "task", "actor creation", "actor call"
    # PENDING_ARGS_AVAIL, PENDING_NODE_ASSIGNMENT, SUBMITTED_TO_WORKER, RUNNING, RUNNING_IN_RAY_GET, FINISHED, FAILED,
    # CANCELLED
    state: str
    job: int = 0
    demand: dict[str, float] = {}
    device_ids: dict[str, list[str]] = {}
    node_id: str | None = None
    worker_id: str | None = None
    pid: int | None = None
    actor_id: str | None = None
    parent_task_id: str | None = None
    cell: str = ""
    submitted_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    why: str = ""  # while it waits: the reason; when it failed: the error's first line
    choice: str = ""  # the fallback that was taken, "" for what was asked
    choice_why: str = ""
    attempt: int = 0
    peak_memory_bytes: int | None = None
    hint: str = ""  # how to use the devices better
    progress: tuple[float, float] | None = None
    function: str = ""  # the function's, class's or method's own name, whatever the task is called
    error_type: str = ""  # of a failed one, Ray's word: TASK_EXECUTION_EXCEPTION, WORKER_DIED, TASK_CANCELLED, ...
    retryable: bool = False  # it has failed, and its call is kept: it can be run again
    retry_of: str = ""  # the failed task whose call this one runs again


class FunctionRow(msgspec.Struct, omit_defaults=True):
    """How many tasks a function has had, or how many constructors and calls a class: all of them, not only those with
    rows."""

    name: str  # the function's own name, or the class's
    running: int = 0
    waiting: int = 0
    failed: int = 0
    cancelled: int = 0
    finished: int = 0

    @property
    def total(self) -> int:
        return self.running + self.waiting + self.failed + self.cancelled + self.finished


class ActorRow(msgspec.Struct, omit_defaults=True):
    actor_id: str
    class_name: str
    state: str  # PENDING_CREATION, ALIVE, RESTARTING, DEAD
    job: int = 0
    name: str = ""
    namespace: str = ""
    demand: dict[str, float] = {}
    device_ids: dict[str, list[str]] = {}
    node_id: str | None = None
    worker_id: str | None = None
    pid: int | None = None
    cell: str = ""
    since: float | None = None
    restarts: int = 0
    pending_calls: int = 0
    why: str = ""
    detached: bool = False
    choice: str = ""  # the fallback that was taken, "" for what was asked
    choice_why: str = ""


class WorkerRow(msgspec.Struct, omit_defaults=True):
    worker_id: str
    pid: int | None
    node_id: str
    state: str  # STARTING, IDLE, BUSY, ACTOR, SPARE, STOPPING
    running: str = ""  # a task's name
    used: bool = False  # has run user code
    cpu_percent: float | None = None  # of one CPU, with its children; None: at rest, or at the first look
    memory_bytes: int | None = None  # with its children, without what it shares with other processes


class GroupRow(msgspec.Struct, omit_defaults=True):
    group_id: str
    name: str
    state: str
    strategy: str
    bundles: list[dict[str, float]] = []
    bundle_nodes: list[str | None] = []
    why: str = ""


class JobRow(msgspec.Struct, omit_defaults=True):
    """A driver of a shared head: whose cells and tasks those of its number are."""

    number: int
    name: str  # of its notebook or script, with the pid where another has the same
    pid: int | None = None
    left: bool = False  # it has left or ended; some of its work may still be shown


class Alert(msgspec.Struct, omit_defaults=True):
    """Something a person should look at: failed tasks, a leak, a lost device, a deadlock, a demand never to be met."""

    kind: str
    message: str
    since: float
    task_id: str | None = None
    device: str | None = None
    node_id: str | None = None  # of the device, or of what it is about

    @staticmethod
    def in_order(alerts: Iterable[Alert]) -> list[Alert]:
        """Alerts as a snapshot has them, and every view tells them: failed tasks first, then the newest."""
        return sorted(alerts, key=lambda each: (each.kind != "failed", -each.since))

    @classmethod
    def of_failures(cls, counts: Mapping[str, int], last: TaskRow | None, began_at: float) -> list[Alert]:
        """One alert for all tasks that have failed since the cluster began; it names the last one if known."""
        number = counts.get("FAILED", 0)
        if not number:
            return []
        many = f"{number} tasks have failed" if number > 1 else "1 task has failed"
        if last is None:
            return [cls("failed", f"{many}.", began_at)]
        where = f"cell {last.cell}" if last.cell.startswith("[") else last.cell
        cell = f" ({where})" if where else ""
        name = f"{many}, the last of them {last.name}{cell}" if number > 1 else f"{last.name}{cell} has failed"
        since = last.finished_at or last.started_at or last.submitted_at or began_at
        return [cls("failed", f"{name}: {last.why or 'its reason is not known'}", since, last.task_id)]


class PublishedRow(msgspec.Struct):
    """A record that a driver or a worker lets everyone see: the last one of its id."""

    kind: str  # "run": a RunSnapshot; "experiment": an ExperimentSnapshot
    id: str
    record: dict[str, Any]
    published_at: float
    job: int = 0
    changes: int = 0  # the number of the last change of its rows, which are asked for; 0: it has none


class Runtime(msgspec.Struct, omit_defaults=True):
    engine: str  # "local", "ray", "debug"
    version: str
    python: str
    pid: int | None = None  # of the head
    session: str = ""
    address: str = ""
    shared: bool = False  # a daemon that several notebooks share
    started_at: float | None = None
    log_dir: str = ""
    job: int = 0  # of the driver that the snapshot was made for; 0: of none, as an observer's


class Snapshot(msgspec.Struct, omit_defaults=True):
    """A consistent snapshot at one moment. Rows are capped, counts are of all: `counts` and `functions` of tasks,
    `node_counts`, `device_counts` and `worker_counts` of the others.

    Of a large cluster it has rows of 256 nodes with up to 1,024 devices, and of 256 workers: of the head's node, of
    nodes that have gone or whose devices are taken by others, and of those that somebody holds.
    """

    runtime: Runtime
    seq: int = 0
    time: float = 0.0
    nodes: list[NodeRow] = []
    devices: list[DeviceRow] = []
    tasks: list[TaskRow] = []
    actors: list[ActorRow] = []
    workers: list[WorkerRow] = []
    groups: list[GroupRow] = []
    alerts: list[Alert] = []  # what a person should look at first comes first
    counts: dict[str, int] = {}  # task state -> number of all tasks in it
    actor_counts: dict[str, int] = {}  # actor state -> number of all actors in it
    jobs: list[JobRow] = []  # of a shared head
    published: list[PublishedRow] = []
    found: list[str] = []  # sentences on families found but not offered, or not found and why
    protocol: int = PROTOCOL_VERSION
    node_types: list[NodeTypeRow] = []
    arrivals: list[ArrivalRow] = []
    requests: list[RequestRow] = []
    infeasible_requests: list[dict[str, float]] = []  # bundles that no node and no type can meet
    functions: list[FunctionRow] = []  # those of the rows first, then those with the most tasks
    node_counts: dict[str, int] = {}  # "alive", "gone" -> number of all nodes
    device_counts: list[DeviceCount] = []
    worker_counts: dict[str, int] = {}  # worker state -> number of all workers in it
    resources: dict[str, tuple[float, float]] = {}  # what is free on all living nodes together, and all of it

    def to_json(self) -> bytes:
        """Encode for observers; unknown fields are ignored when read back."""
        return msgspec.json.encode(self)

    @staticmethod
    def from_json(data: bytes | str) -> Snapshot:
        decoder(Snapshot)
        return msgspec.json.decode(data, type=Snapshot)

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, for `--json`."""
        return dict(whole(self))


_making = threading.Lock()
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """Decodes MessagePack to records of this kind.

    The first decoder of a class of records is made by one thread: msgspec 0.22 crashes where two make one.
    """
    with _making:
        if kind not in _decoders:
            _decoders[kind] = msgspec.msgpack.Decoder(kind)
        return _decoders[kind]


def whole(value: Any) -> Any:
    """Plain dicts and lists with all fields of records, also those at their defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: whole(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, (list, tuple)):
        return [whole(each) for each in value]
    return {name: whole(each) for name, each in value.items()} if isinstance(value, dict) else value


OnSnapshot = Callable[[Snapshot | None], None]  # called with each new snapshot, and with None at the end


# ---- rows that Ray's users list and look up, where a snapshot has none of the kind. All engines make the same
# records
#
# `msgspec.structs.asdict` of a `ListedNode`, a `ListedGroup` or `ObjectPlaces` is the dict that Ray's users get.


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
