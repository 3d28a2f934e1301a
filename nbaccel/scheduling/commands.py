"""The scheduler's orders. The head carries them out in order, and the results come back as events."""

from __future__ import annotations

from enum import Enum

import msgspec

from nbaccel.scheduling.terms import Task, WorkerPool


class Failure(Enum):
    """Why a task ends without returning: the error class of its results."""

    WORKER_CRASHED = "worker crashed"
    CANCELLED = "cancelled"
    ACTOR_DIED = "actor died"
    ACTOR_UNAVAILABLE = "actor unavailable"
    UNSCHEDULABLE = "unschedulable"
    JOB_ENDED = "job ended"
    NODE_DIED = "node died"
    GROUP_REMOVED = "placement group removed"
    PENDING_CALLS_EXCEEDED = "pending calls exceeded"


class StartWorker(msgspec.Struct):
    """Start a process for this pool on this node. Answer with WorkerReady or WorkerDied."""

    worker_id: bytes
    node_id: bytes
    pool: WorkerPool | None  # None: a spare that may serve any fork pool of its zygote
    zygote: str = ""  # of a spare; else the pool has it


class SendTasks(msgspec.Struct):
    """Send these tasks to their worker, in this order. Those that hold devices are sent one by one.

    `devices`: resource -> [(index on the node, amount)]. `choice`: which of the task's choices was taken. `first`: the
    worker starts the first of them at once; else it queues behind another in the worker.
    """

    worker_id: bytes
    tasks: list[Task]
    node_id: bytes
    devices: dict[str, list[tuple[int, int]]]
    choice: int = 0
    first: bool = True

    @property
    def task(self) -> Task:
        """The task of an order about one."""
        return self.tasks[0]

    def each(self) -> list[SendTasks]:
        if len(self.tasks) == 1:
            return [self]
        return [
            SendTasks(self.worker_id, [task], self.node_id, self.devices, self.choice, self.first and not index)
            for index, task in enumerate(self.tasks)
        ]


class RecallTasks(msgspec.Struct):
    """Ask the worker for the tasks that it has not begun. It answers with TasksGivenBack."""

    worker_id: bytes


class TrimWorker(msgspec.Struct):
    """Have an idle worker give memory that it has freed back to the system. There is no answer."""

    worker_id: bytes


class InterruptTask(msgspec.Struct):
    """Raise KeyboardInterrupt in the task, if the worker runs it. Past the grace the scheduler says StopWorker."""

    worker_id: bytes
    task_id: bytes


class StopWorker(msgspec.Struct):
    """End the process. `force`: SIGKILL to its session now; else ask, and kill when it has not gone in a moment."""

    worker_id: bytes
    why: str
    force: bool = False


class ReleaseDevices(msgspec.Struct):
    """The worker's hold on these devices ended (the head gives its leases back)."""

    worker_id: bytes
    node_id: bytes
    devices: dict[str, list[tuple[int, int]]]


class FailTask(msgspec.Struct):
    """Write an error as the task's result. The task is finished for the scheduler."""

    task: Task
    failure: Failure
    message: str
    actor_id: bytes | None = None


class FinishTasks(msgspec.Struct):
    """These tasks ended for good after they returned, in this order: their arguments need no longer be held."""

    tasks: list[Task]

    def each(self) -> list[FinishTasks]:
        return [FinishTasks([task]) for task in self.tasks]


class ActorChanged(msgspec.Struct):
    """An actor moved: PENDING, ALIVE, RESTARTING, DEAD; `why` for the last two."""

    actor_id: bytes
    state: str
    why: str = ""


class GroupChanged(msgspec.Struct):
    """A placement group moved: PENDING, CREATED, REMOVED, RESCHEDULING."""

    group_id: bytes
    state: str
    bundle_nodes: list[bytes] = []
    never: str = ""  # why it can never be placed, if that is an error


class Warn(msgspec.Struct):
    """Tell the job's driver one line about work that waits, or restarts for ever.

    Said again, it takes the place of the line before. An empty message takes the line away: nothing of it waits any
    more.
    """

    job: int
    kind: str  # "infeasible", "deadlock", "kept" (until a person ends a holder), "waiting" or "restarts"
    task_id: bytes | None  # names the line: the first task that it was about
    message: str


class CollectCycles(msgspec.Struct):
    """Work waits for what actors hold: let drivers and workers collect cycles, which may have the last handles."""


class RequestNode(msgspec.Struct):
    """Get one more node of this type. Answer with NodeAdded, whose spec has type and launch, or with NodeFailed."""

    node_type: str
    launch: int


class ReleaseNode(msgspec.Struct):
    """Let a node go that nobody uses. Answer with NodeRemoved, or with NodeKept if something would be lost."""

    node_id: bytes
    why: str


class WakeAt(msgspec.Struct):
    """Say TimePassed at this time (the earliest asked for is enough)."""

    at: float


Command = (
    StartWorker | SendTasks | RecallTasks | TrimWorker | InterruptTask | StopWorker | ReleaseDevices
    | FailTask | FinishTasks | ActorChanged | GroupChanged | Warn | RequestNode | ReleaseNode | WakeAt
    | CollectCycles
)  # fmt: skip
