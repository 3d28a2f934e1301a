"""The events that the scheduler gets, in the past tense. It learns nothing in any other way.

Quantities are fixed-point integers in units of 1/10_000 (`UNIT`). Times are seconds of one monotonic clock that the
caller owns. Ids are opaque bytes. Hot records are slotted, not frozen (making a frozen one costs three times as much).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from nbaccel.quantities import UNIT
from nbaccel.scheduling.terms import Task, Terms

Demand = dict[str, int]


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
    node_type: str = ""  # of a node that was asked for by RequestNode
    launch: int = 0  # the number that RequestNode gave it


class NodeTypeSpec(msgspec.Struct):
    """A type of nodes that can be asked for: what each has, and how many there may be."""

    name: str
    totals: Demand
    devices: list[DeviceSpec] = []
    labels: dict[str, str] = {}
    min: int = 0
    max: int = 1
    idle_s: float = 60.0  # a node that nobody has used for so long leaves
    priority: int = 0


class TasksSubmitted(msgspec.Struct):
    """Tasks that a client has sent in one go. Several are of a driver, plain, with the same terms and all arguments."""

    tasks: list[Task]

    def each(self) -> list[TasksSubmitted]:
        return [TasksSubmitted([task]) for task in self.tasks]


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


class TaskReturn(msgspec.Struct):
    """How a task ended in its worker.

    `retry`: it raised one of its retry_exceptions and the head wants it again. `fall_back`: it raised this, which its
    next choice is to answer. `retire`: why the process must end before anybody gets its devices. `cancelled`: it failed
    because it was asked to stop. `took_s`: how long it ran by its worker's clock, if that is known.
    """

    task_id: bytes
    failed: bool = False
    retry: bool = False
    fall_back: str = ""
    retire: str = ""
    cancelled: bool = False
    took_s: float | None = None


class TasksReturned(msgspec.Struct):
    """Tasks have ended in their worker. Several are plain ones that ended well, one after the other.

    `loaded`: their process has imported modules of the user's.
    """

    worker_id: bytes
    returns: list[TaskReturn]
    loaded: bool = False

    def each(self) -> list[TasksReturned]:
        return [TasksReturned(self.worker_id, [each], self.loaded) for each in self.returns]


class CallReturned(msgspec.Struct):
    """A direct call that has a record has returned to its caller."""

    worker_id: bytes
    task_id: bytes


class CallAnswered(msgspec.Struct):
    """A direct call that failed with its actor had been answered before. It may have been forgotten since."""

    terms: Terms
    task_id: bytes


class CallsOpened(msgspec.Struct):
    """These calls were sent directly to their actor, which lives, and are under way. None of them has a record."""

    terms: Terms
    ids: list[bytes]
    reports: list[Any]  # of each call
    make: Callable[[Any], Task]  # makes a call's task of its report, when somebody looks


class CallsEnded(msgspec.Struct):
    """These calls were sent directly and have returned; none of them has a record."""

    terms: Terms
    ids: list[bytes]
    reports: list[Any]
    make: Callable[[Any], Task]


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
    """The worker starts no further task, because a task has changed its process for good; `why` is a sentence part."""

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
    free: int  # the part of the device that is left for us
    holder: str  # "notebook analysis.ipynb, pid 4711"


class ArgumentsLost(msgspec.Struct):
    """Arguments of this task went with their node after it was sent for: it waits until they are made again."""

    task_id: bytes
    object_ids: set[bytes]


class DeviceChanged(msgspec.Struct):
    """The available part of a device changed, by another head's lease; or the device itself is `lost`, or is back."""

    node_id: bytes
    resource: str
    index: int
    free: int
    reason: str  # "" when it is all ours again
    lost: bool = False  # nothing more can start on it; what can only run there fails


class CancelRequested(msgspec.Struct):
    task_id: bytes
    force: bool = False
    recursive: bool = True


class ActorKillRequested(msgspec.Struct):
    """`kill`, an actor that exits by itself, or (`graceful`) one whose last handle is gone: queued calls run first."""

    actor_id: bytes
    no_restart: bool = True
    graceful: bool = False
    why: str = "it was killed by nbaccel.kill"


class PrestartRequested(msgspec.Struct):
    """Work is about to come to this zygote: have its spare workers ready."""

    zygote: str = ""


class SparesOutdated(msgspec.Struct):
    """This zygote has been replaced by one that has more modules loaded: replace its spare workers as well."""

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


class NodeTypesGiven(msgspec.Struct):
    """The types of nodes that can be asked for from now on."""

    types: list[NodeTypeSpec]


class NodeFailed(msgspec.Struct):
    """A node that was asked for will not come. `why` is a sentence part: "no quota"."""

    launch: int
    why: str


class NodeKept(msgspec.Struct):
    """A node that was to leave stays, because it has something that would be lost; `why` is a sentence part."""

    node_id: bytes
    why: str


# Demands as amounts by name, each with labels and a count.
RequestedBundles = list[tuple[tuple[tuple[str, int], ...], tuple[tuple[str, str], ...], int]]


class ResourcesRequested(msgspec.Struct):
    """The cluster shall have room for all of these demands, in place of those before."""

    bundles: RequestedBundles


class GroupRequested(msgspec.Struct):
    """A placement group: bundles of demands, and how they lie (PACK, SPREAD, STRICT_PACK, STRICT_SPREAD)."""

    group_id: bytes
    name: str
    bundles: list[tuple[tuple[str, int], ...]]
    strategy: str
    job: int
    detached: bool = False
    bundle_labels: list[tuple[tuple[str, str], ...]] | None = None
    refuse_infeasible: bool = False  # the asker learns at `ready` that it can never be placed
    soft_node: bytes = b""  # looked at first


class GroupRemoveRequested(msgspec.Struct):
    group_id: bytes


class TimePassed(msgspec.Struct):
    """A time asked for by WakeAt has come."""


Event = (
    TasksSubmitted | ObjectsReady | ArgumentFailed | WorkerReady | TasksReturned
    | CallReturned | CallAnswered | CallsOpened | CallsEnded | TasksGivenBack
    | WorkerBlocked | WorkerUnblocked | WorkerSpoiled | WorkerDied | PrestartRequested | SparesOutdated
    | AssignmentRefused | ArgumentsLost | DeviceChanged | CancelRequested | ActorKillRequested | JobEnded | NodeAdded
    | NodeRemoved | NodeTypesGiven | NodeFailed | NodeKept | ResourcesRequested | GroupRequested
    | GroupRemoveRequested | TimePassed
)  # fmt: skip
