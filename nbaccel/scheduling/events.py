"""What the scheduler is told: things that happened, in the past tense. It learns nothing in any other way.

Quantities are fixed-point integers in units of 1/10_000 (`UNIT`). Times are seconds of one monotonic clock that the
caller owns. Ids are opaque bytes. Hot records are slotted, not frozen (making a frozen one costs three times as much).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

UNIT = 10_000
Demand = dict[str, int]


class TaskKind(Enum):
    """What a unit of work is: a plain task, an actor's constructor, or a call of an actor's method."""

    TASK = "task"
    ACTOR_CREATION = "actor creation"
    ACTOR_CALL = "actor call"


class Pool(msgspec.Struct, frozen=True):
    """Which workers are interchangeable: same job, same runtime environment, same way to start."""

    job: int
    environment: str = ""  # hash of the runtime environment; "" is the job's own
    zygote: str = ""  # which interpreter prefix forks it; "" is the head's own
    how: str = "fork"  # "fork" from the zygote, or "exec" of a new interpreter


class Placement(msgspec.Struct, frozen=True):
    """Where work may go. `strategy`: DEFAULT, SPREAD, NODE (node_id, soft) or GROUP (group_id, bundle)."""

    strategy: str = "DEFAULT"
    node_id: bytes | None = None
    soft: bool = False
    group_id: bytes | None = None
    bundle: int = -1
    labels: tuple[
        tuple[str, str], ...
    ] = ()  # hard label selector: key, condition ("H100", "!H100", "in(a,b)", "!in(a)")
    soft_labels: tuple[tuple[str, str], ...] = ()


ANYWHERE = Placement()


class Choice(msgspec.Struct, frozen=True):
    """One way to run a task: what it asks (sorted pairs, so that it is hashable) and where."""

    demand: tuple[tuple[str, int], ...]
    placement: Placement = ANYWHERE
    label: str = ""  # "" for the first choice; the user's words for a fallback ("cpu", "{'NPU': 1}")
    gpu_memory_bytes: int = 0  # of one device; 0 means not asked


class Task(msgspec.Struct):
    """One unit of work as the scheduler sees it. `payload` belongs to the head; the scheduler never looks at it."""

    task_id: bytes
    name: str
    kind: TaskKind
    job: int
    pool: Pool
    choices: tuple[Choice, ...]  # tried in order; the first is what the user asked
    fallback_after_s: float | None = None  # None: fall back only from a choice that can never be met
    skipped: int = 0  # so many of the choices have been tried, and raised what is to be answered by the next
    refuse_infeasible: bool = False  # fail at once what can never be met here, instead of waiting for a node
    running: tuple[tuple[str, int], ...] | None = None  # an actor's demand once placed; None: the same as placed
    fresh: bool = False  # needs a process that never ran user code
    max_calls: int = 0  # the worker is retired after so many calls of this function; 0: never
    function_key: bytes = b""  # counts calls for max_calls and learns how short the function's tasks are
    retries_left: int = 0  # for a dead worker; -1: without end
    missing: set[bytes] | None = None  # ids of argument objects that are not there yet
    actor_id: bytes | None = None
    parent_task_id: bytes | None = None
    caller: bytes = b""  # the client that submitted it: orders an actor's calls
    owner_worker: bytes | None = None  # the worker that submitted it, None for a driver
    cell: str = ""  # "[7] line 3", for sentences
    submitted_at: float = 0.0
    payload: Any = None
    # actors only (kind ACTOR_CREATION)
    max_restarts: int = 0
    max_task_retries: int = 0
    max_concurrency: int = 1
    out_of_order: bool = False
    detached: bool = False
    max_pending_calls: int = -1


class DeviceSpec(msgspec.Struct):
    """A device that a node offers: its place in the node's list for that resource, how much of it, of which type."""

    resource: str
    index: int
    amount: int = UNIT
    type: str | None = None
    is_partition: bool = False  # a MIG instance: never joined with another to meet a demand of two or more
    memory_bytes: int | None = None
    label: str = ""  # for sentences: "GPU 0 (A100)"


class NodeSpec(msgspec.Struct):
    node_id: bytes
    name: str
    totals: Demand  # pooled resources (CPU, memory, custom, accelerator_type:X); devices are not repeated here
    devices: list[DeviceSpec] = []
    labels: dict[str, str] = {}
    is_head: bool = False
    absent: dict[str, str] = {}  # resource -> why devices of this machine are not among them, as a sentence part


class TaskSubmitted(msgspec.Struct):
    task: Task


class ObjectsReady(msgspec.Struct):
    """Argument objects came into being (or failed: the head then says ArgumentFailed for those who wait)."""

    object_ids: list[bytes]


class ArgumentFailed(msgspec.Struct):
    """An argument of this waiting task is an error or lost for good; the head has already written the task's result.

    `cancelled`: the error is that of a task that was cancelled.
    """

    task_id: bytes
    cancelled: bool = False


class WorkerReady(msgspec.Struct):
    """A started worker has introduced itself and can take a task."""

    worker_id: bytes
    pid: int


class TaskReturned(msgspec.Struct):
    """A task ended in its worker.

    `retry`: it raised one of its retry_exceptions and the head wants it again. `fall_back`: it raised this, which its
    next choice is to answer. `retire`: why the process must end before anybody gets its devices. `cancelled`: it failed
    because it was asked to stop.
    """

    worker_id: bytes
    task_id: bytes
    failed: bool = False
    retry: bool = False
    fall_back: str = ""
    retire: str = ""
    cancelled: bool = False


class TasksGivenBack(msgspec.Struct):
    """The worker handed back tasks that it had not begun (the answer to RecallTasks; may be empty)."""

    worker_id: bytes
    task_ids: list[bytes]


class WorkerBlocked(msgspec.Struct):
    """The worker's running code waits in get or wait: its CPU is lent out, its devices are not."""

    worker_id: bytes


class WorkerUnblocked(msgspec.Struct):
    worker_id: bytes


class WorkerSpoiled(msgspec.Struct):
    """The worker begins nothing more, because a task has changed its process for good; `why` is a sentence part."""

    worker_id: bytes
    why: str


class WorkerDied(msgspec.Struct):
    """The process is gone (reaped). `why` is a sentence part: "was killed by SIGKILL", "exited with code 3"."""

    worker_id: bytes
    why: str
    intended: bool = False  # a clean goodbye, or we stopped it


class AssignmentRefused(msgspec.Struct):
    """The head could not lease a real device for this task: another head holds it. Nothing was sent."""

    task_id: bytes
    resource: str
    index: int
    free: int  # what is left of the device for us
    holder: str  # "notebook analysis.ipynb, pid 4711"


class ArgumentsLost(msgspec.Struct):
    """Arguments of this task went with their node after it was sent for: it waits until they are made again."""

    task_id: bytes
    object_ids: set[bytes]


class DeviceChanged(msgspec.Struct):
    """What others leave us of a device changed: another head's lease; or the device itself is `lost`, or is back."""

    node_id: bytes
    resource: str
    index: int
    free: int
    reason: str  # "" when it is all ours again
    lost: bool = False  # nothing more can start on it; what can only run there fails


class CancelAsked(msgspec.Struct):
    task_id: bytes
    force: bool = False
    recursive: bool = True


class ActorKillAsked(msgspec.Struct):
    """`kill`, an actor that exits by itself, or (`graceful`) one whose last handle is gone: queued calls run first."""

    actor_id: bytes
    no_restart: bool = True
    graceful: bool = False
    why: str = "it was killed by nbaccel.kill"


class PrestartAsked(msgspec.Struct):
    """Work is about to come to this zygote: have its spare workers ready."""

    zygote: str = ""


class JobEnded(msgspec.Struct):
    """A driver left: its tasks and its actors (but detached ones) end, its workers stop."""

    job: int
    why: str = "its driver ended"


class NodeAdded(msgspec.Struct):
    node: NodeSpec


class NodeRemoved(msgspec.Struct):
    node_id: bytes
    why: str = "the node was removed"


class GroupAsked(msgspec.Struct):
    """A placement group: bundles of demands, and how they lie (PACK, SPREAD, STRICT_PACK, STRICT_SPREAD)."""

    group_id: bytes
    name: str
    bundles: list[tuple[tuple[str, int], ...]]
    strategy: str
    job: int
    detached: bool = False
    bundle_labels: list[tuple[tuple[str, str], ...]] | None = None
    refuse_infeasible: bool = False  # who asks is told at `ready` when it can never be placed
    soft_node: bytes = b""  # looked at first


class GroupRemoveAsked(msgspec.Struct):
    group_id: bytes


class TimePassed(msgspec.Struct):
    """A time asked for by WakeAt has come."""


Event = (
    TaskSubmitted | ObjectsReady | ArgumentFailed | WorkerReady | TaskReturned | TasksGivenBack | WorkerBlocked
    | WorkerUnblocked | WorkerSpoiled | WorkerDied | PrestartAsked | AssignmentRefused | ArgumentsLost | DeviceChanged
    | CancelAsked | ActorKillAsked | JobEnded | NodeAdded | NodeRemoved | GroupAsked | GroupRemoveAsked | TimePassed
)  # fmt: skip
