"""What the scheduler wants done: imperatives that the head carries out, in order; answers come back as events."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from nbaccel.scheduling.events import Pool, Task


class Failure(Enum):
    """Why a task ends without having returned: which error class its results become."""

    WORKER_CRASHED = "worker crashed"
    CANCELLED = "cancelled"
    ACTOR_DIED = "actor died"
    ACTOR_UNAVAILABLE = "actor unavailable"
    UNSCHEDULABLE = "unschedulable"
    JOB_ENDED = "job ended"
    NODE_DIED = "node died"
    GROUP_REMOVED = "placement group removed"
    PENDING_CALLS_EXCEEDED = "pending calls exceeded"


@dataclass(slots=True)
class StartWorker:
    """Start a process for this pool on this node; say WorkerReady or WorkerDied of it."""

    worker_id: bytes
    node_id: bytes
    pool: Pool | None  # None: a spare that may serve any fork pool of its zygote
    zygote: str = ""  # of a spare; else the pool says it


@dataclass(slots=True)
class SendTask:
    """Send the task to its worker. `devices`: resource -> [(index on the node, amount)], empty when it holds none."""

    worker_id: bytes
    task: Task
    node_id: bytes
    devices: dict[str, list[tuple[int, int]]]
    choice: int = 0  # which of task.choices was taken
    first: bool = True  # the worker starts it at once; False: it queues behind another in the worker


@dataclass(slots=True)
class RecallTasks:
    """Ask the worker for the tasks that it has not begun; it answers TasksGivenBack."""

    worker_id: bytes


@dataclass(slots=True)
class InterruptTask:
    """Raise KeyboardInterrupt in the task, if the worker runs it. Past the grace the scheduler says StopWorker."""

    worker_id: bytes
    task_id: bytes


@dataclass(slots=True)
class StopWorker:
    """End the process. `force`: SIGKILL to its session now; else ask, and kill when it has not gone in a moment."""

    worker_id: bytes
    why: str
    force: bool = False


@dataclass(slots=True)
class ReleaseDevices:
    """The worker's hold on these devices ended (the head gives its leases back)."""

    worker_id: bytes
    node_id: bytes
    devices: dict[str, list[tuple[int, int]]]


@dataclass(slots=True)
class FailTask:
    """Write an error as the task's result. The task is finished for the scheduler."""

    task: Task
    failure: Failure
    message: str
    actor_id: bytes | None = None


@dataclass(slots=True)
class FinishTask:
    """The task ended for good after it returned: its arguments need no longer be held."""

    task: Task


@dataclass(slots=True)
class ActorChanged:
    """An actor moved: PENDING, ALIVE, RESTARTING, DEAD; `why` for the last two."""

    actor_id: bytes
    state: str
    why: str = ""


@dataclass(slots=True)
class GroupChanged:
    """A placement group moved: PENDING, CREATED, REMOVED, RESCHEDULING."""

    group_id: bytes
    state: str
    bundle_nodes: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Warn:
    """Tell the job's driver one line: a demand that can never be met here, a deadlock by resources."""

    job: int
    kind: str  # "infeasible" or "deadlock" or "waiting"
    task_id: bytes | None
    message: str


@dataclass(slots=True)
class WakeAt:
    """Say TimePassed at this time (the earliest asked for is enough)."""

    at: float


Command = (
    StartWorker | SendTask | RecallTasks | InterruptTask | StopWorker | ReleaseDevices | FailTask | FinishTask
    | ActorChanged | GroupChanged | Warn | WakeAt
)  # fmt: skip
