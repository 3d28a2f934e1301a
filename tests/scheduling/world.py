"""A world for the scheduler: carries out its commands as a head with its workers would, and notes what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from nbaccel.quantities import UNIT
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec, NodeSpec
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ANYWHERE, ActorTerms, Choice, Placement, Task, TaskKind, Terms, WorkerPool

HEAD = b"head"


def _taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Those of the options that are fields of this kind, taken out."""
    return {name: options.pop(name) for name in list(options) if name in kind.__struct_fields__}  # type: ignore[attr-defined]


def demand(**amounts: float) -> tuple[tuple[str, int], ...]:
    """`demand(CPU=1, GPU=0.5)` in the scheduler's units."""
    return tuple(sorted((name, round(amount * UNIT)) for name, amount in amounts.items()))


def choice(placement: Placement = ANYWHERE, gpu_memory_bytes: int = 0, label: str = "", **amounts: float) -> Choice:
    return Choice(demand(**amounts), placement, label, gpu_memory_bytes)


def node(
    name: str = "head", gpus: int | Sequence[DeviceSpec] = 0, labels: dict[str, str] | None = None, **totals: float
) -> NodeSpec:
    devices = [DeviceSpec("GPU", index) for index in range(gpus)] if isinstance(gpus, int) else list(gpus)
    amounts = dict(demand(**totals))
    return NodeSpec(name.encode(), name, amounts, devices, labels or {}, is_head=name == "head")


@dataclass
class FakeWorker:
    worker_id: bytes
    state: str = "starting"  # ready, stopping
    queue: list[Task] = field(default_factory=list)
    calls: dict[bytes, Task] = field(default_factory=dict)
    actor: bytes | None = None
    ran: int = 0
    blocked: bool = False
    recalled: bool = False
    devices: Counter[tuple[bytes, str, int]] = field(default_factory=Counter)


class World:
    """Tells the scheduler of events and keeps its books of what the scheduler wanted done."""

    def __init__(self, *nodes: NodeSpec, **options: Any) -> None:
        numbers, self._task_numbers = count(1), count(1)
        self.now = 0.0
        self.scheduler = Scheduler(new_id=lambda: f"w{next(numbers)}".encode(), **options)
        self.workers: dict[bytes, FakeWorker] = {}
        self.outcomes: dict[bytes, str] = {}  # task -> how it ended
        self.messages: dict[bytes, str] = {}
        self.tasks: dict[bytes, Task] = {}
        self.actors: dict[bytes, str] = {}
        self.groups: dict[bytes, str] = {}
        self.refusals: dict[bytes, str] = {}
        self.asked: list[do.RequestNode] = []  # and neither here nor failed
        self.released: list[bytes] = []
        self.keeps: dict[bytes, str] = {}  # nodes that may not go, and why
        self.specs: dict[str, NodeSpec] = {}  # of the node types
        self._nodes_came = count(1)
        self.trimmed: list[bytes] = []
        self.warnings: list[do.Warn] = []
        self.collections = 0  # of garbage, that were asked for
        self.sent: list[do.SendTasks] = []  # of one task each
        self.commands: list[do.Command] = []  # of the last event
        self.wake_at: float | None = None
        self.amounts: dict[tuple[bytes, str, int], int] = {}
        for each in nodes:
            self.add_node(each)

    # --- events ---------------------------------------------------------------------------------------------------

    def notify(self, event: ev.Event, after_s: float = 0.0) -> list[do.Command]:
        self.now += after_s
        self.commands = list(self.scheduler.handle(event, self.now))
        self.scheduler.check()
        for command in self.commands:
            getattr(self, "_" + type(command).__name__)(command)
        return self.commands

    def add_node(self, spec: NodeSpec) -> None:
        for device in spec.devices:
            self.amounts[spec.node_id, device.resource, device.index] = device.amount
        self.notify(ev.NodeAdded(spec))

    # --- nodes that come and go -----------------------------------------------------------------------------------

    def types(self, *specs: ev.NodeTypeSpec) -> None:
        self.specs |= {spec.name: NodeSpec(b"", spec.name, spec.totals, spec.devices, spec.labels) for spec in specs}
        self.notify(ev.NodeTypesGiven(list(specs)))
        self.time_passes(1)

    def comes(self, after_s: float = 0.0) -> bytes:
        """The first node that was asked for arrives."""
        ask = self.asked.pop(0)
        spec, node_id = self.specs[ask.node_type], f"{ask.node_type}-{next(self._nodes_came)}".encode()
        new = NodeSpec(node_id, node_id.decode(), dict(spec.totals), list(spec.devices), dict(spec.labels))
        new.node_type, new.launch = ask.node_type, ask.launch
        self.now += after_s
        self.add_node(new)
        self.time_passes(0.1)
        return node_id

    def fails(self, why: str = "no quota") -> None:
        """The first node that was asked for will not come."""
        self.notify(ev.NodeFailed(self.asked.pop(0).launch, why))
        self.time_passes(0.1)

    def request(self, *bundles: tuple[tuple[tuple[str, int], ...], int]) -> None:
        self.notify(ev.ResourcesRequested([(demand, (), number) for demand, number in bundles]))
        self.time_passes(0.1)

    def answer_releases(self) -> None:
        """As a head would: the node is removed, or stays because of what it keeps."""
        for node_id in self.released:
            if node_id in self.keeps:
                self.notify(ev.NodeKept(node_id, self.keeps[node_id]))
            else:
                self.notify(ev.NodeRemoved(node_id))
        self.released.clear()
        self.time_passes(0.1)

    def task(self, name: str = "f", *choices: Choice, job: int = 1, **options: Any) -> Task:
        number = next(self._task_numbers)
        pool = options.pop("pool", WorkerPool(job))
        kind = options.pop("kind", TaskKind.TASK)
        actor = ActorTerms(**_taken(options, ActorTerms))
        said = _taken(options, Terms)
        said["cell_in_words"] = said.pop("cell", "")
        terms = Terms(
            name,
            kind,
            function_key=name.encode(),
            choices=choices or (choice(CPU=1),),
            job=job,
            pool=pool,
            actor=actor,
            **said,
        )
        task = Task(terms, f"t{number}".encode(), **options)
        self.tasks[task.task_id] = task
        return task

    def submit(self, name: str = "f", *choices: Choice, **options: Any) -> Task:
        task = self.task(name, *choices, submitted_at=self.now, **options)
        self.notify(ev.TasksSubmitted([task]))
        return task

    def submit_together(self, number: int, *choices: Choice, name: str = "f", **options: Any) -> list[Task]:
        """So many tasks with the same terms, in one event; in one each, as a head would, if that is refused."""
        first = self.task(name, *choices, submitted_at=self.now, **options)
        tasks = [first]
        for _ in range(number - 1):
            each = Task(first.terms, f"t{next(self._task_numbers)}".encode(), retries_left=first.retries_left)
            each.submitted_at = self.now
            self.tasks[each.task_id] = each
            tasks.append(each)
        self.tell_together(ev.TasksSubmitted(tasks))
        return tasks

    def return_together(self, worker: FakeWorker, number: int, took_s: float, after_s: float = 0.0) -> list[Task]:
        """The first tasks of a worker have ended well, one after the other, before anybody heard of it."""
        done, worker.queue = worker.queue[:number], worker.queue[number:]
        worker.ran += len(done)
        self.now += after_s
        returns = [ev.TaskReturn(task.task_id, took_s=took_s) for task in done]
        self.tell_together(ev.TasksReturned(worker.worker_id, returns))
        return done

    def tell_together(self, event: ev.TasksSubmitted | ev.TasksReturned) -> None:
        before = self.scheduler.counts()
        try:
            self.notify(event)
        except IllegalEvent:
            assert self.scheduler.counts() == before
            for each in event.each():
                self.notify(each)

    def gpu_task(self, name: str = "train", gpus: float = 1, **options: Any) -> Task:
        return self.submit(name, choice(CPU=1, GPU=gpus), **{"fresh": True, "max_calls": 1, **options})

    def actor(self, name: str = "Counter", *choices: Choice, actor_id: bytes = b"a", **options: Any) -> Task:
        options.setdefault("lasting", ())
        return self.submit(name, *choices, kind=TaskKind.ACTOR_CREATION, actor_id=actor_id, **options)

    def call(self, name: str = "add", actor_id: bytes = b"a", **options: Any) -> Task:
        return self.submit(name, choice(), kind=TaskKind.ACTOR_CALL, actor_id=actor_id, **options)

    def ready(self, worker_id: bytes | None = None) -> None:
        """The named process comes up, or all that are starting."""
        for worker in list(self.workers.values()):
            if worker.state == "starting" and worker_id in (None, worker.worker_id):
                worker.state = "ready"
                self.notify(ev.WorkerReady(worker.worker_id, 1000 + int(worker.worker_id[1:])))

    def returns(self, task: Task, after_s: float = 0.0, **how: Any) -> list[do.Command]:
        worker = self.worker_of(task)
        if task.task_id in worker.calls:
            del worker.calls[task.task_id]
        else:
            assert worker.queue[0] is task, f"{task.name} is not what its worker runs"
            worker.queue.pop(0)
        worker.blocked = False if not worker.actor else worker.blocked
        worker.ran += 1
        loaded = how.pop("loaded", False)
        return self.notify(ev.TasksReturned(worker.worker_id, [ev.TaskReturn(task.task_id, **how)], loaded), after_s)

    def gives_back(self, worker: FakeWorker, begin: int = 1, end: int | None = None) -> list[do.Command]:
        """The answer to RecallTasks: all but the first, or those from `begin` to `end`."""
        worker.recalled = False
        back = worker.queue[begin:end]
        del worker.queue[begin:end]
        return self.notify(ev.TasksGivenBack(worker.worker_id, [task.task_id for task in back]))

    def dies(self, worker: FakeWorker, why: str = "was killed by SIGKILL") -> list[do.Command]:
        del self.workers[worker.worker_id]
        return self.notify(ev.WorkerDied(worker.worker_id, why, intended=worker.state == "stopping"))

    def is_spoiled(self, worker: FakeWorker) -> list[do.Command]:
        """It has returned a task that changed its process for good, and begins nothing more."""
        worker.blocked = False
        return self.notify(ev.WorkerSpoiled(worker.worker_id, "f has closed descriptor 1"))

    def blocks(self, task: Task) -> list[do.Command]:
        worker = self.worker_of(task)
        worker.blocked = True
        return self.notify(ev.WorkerBlocked(worker.worker_id))

    def unblocks(self, task: Task) -> list[do.Command]:
        worker = self.worker_of(task)
        worker.blocked = False
        return self.notify(ev.WorkerUnblocked(worker.worker_id))

    def time_passes(self, seconds: float) -> None:
        """Wakes the scheduler at each time that it asked for."""
        end = self.now + seconds
        while self.wake_at is not None and self.wake_at <= end:
            self.now, self.wake_at = max(self.now, self.wake_at), None
            self.notify(ev.TimePassed())
        self.now = end

    # --- looking --------------------------------------------------------------------------------------------------

    def worker_of(self, task: Task) -> FakeWorker:
        for worker in self.workers.values():
            if task in worker.queue or task.task_id in worker.calls:
                return worker
        raise AssertionError(f"{task.name} {task.task_id!r} is with no worker")

    def is_sent(self, task: Task) -> bool:
        return any(task in worker.queue or task.task_id in worker.calls for worker in self.workers.values())

    def devices_of(self, task: Task) -> dict[str, list[tuple[int, int]]]:
        return [command for command in self.sent if command.task is task][-1].devices

    def node_of(self, task: Task) -> str:
        return [command for command in self.sent if command.task is task][-1].node_id.decode()

    def stopping(self) -> list[FakeWorker]:
        return [worker for worker in self.workers.values() if worker.state == "stopping"]

    def of(self, kind: type[Any]) -> list[Any]:
        """The last event's commands of one kind."""
        return [command for command in self.commands if isinstance(command, kind)]

    # --- commands -------------------------------------------------------------------------------------------------

    def _StartWorker(self, command: do.StartWorker) -> None:
        assert command.worker_id not in self.workers
        self.workers[command.worker_id] = FakeWorker(command.worker_id)

    def _SendTasks(self, command: do.SendTasks) -> None:
        for one in command.each():
            self._send_one(one)

    def _send_one(self, command: do.SendTasks) -> None:
        worker, task = self.workers[command.worker_id], command.task
        assert worker.state == "ready", f"{task.name} was sent to a worker that is {worker.state}"
        assert task.task_id not in self.outcomes or task.kind is TaskKind.ACTOR_CREATION
        assert not task.terms.fresh or not worker.ran, f"{task.name} was sent to a used process"
        self.sent.append(command)
        if task.kind is TaskKind.ACTOR_CALL:
            worker.calls[task.task_id] = task
            return
        assert command.first == (not worker.queue), f"{task.name} was sent with first={command.first}"
        if command.first:
            self._book(worker, command)
        worker.queue.append(task)
        if task.kind is TaskKind.ACTOR_CREATION:
            worker.actor = task.actor_id

    def _book(self, worker: FakeWorker, command: do.SendTasks) -> None:
        wanted = Counter(
            {(command.node_id, name, i): amount for name, parts in command.devices.items() for i, amount in parts}
        )
        assert not worker.devices or worker.devices == wanted, "a worker got other devices than it had"
        worker.devices = wanted
        used = Counter[tuple[bytes, str, int]]()
        for each in self.workers.values():
            used.update(each.devices)
        assert all(amount <= self.amounts[key] for key, amount in used.items()), f"a device was given twice: {used}"

    def _RecallTasks(self, command: do.RecallTasks) -> None:
        self.workers[command.worker_id].recalled = True

    def _TrimWorker(self, command: do.TrimWorker) -> None:
        worker = self.workers[command.worker_id]
        self.trimmed.append(command.worker_id)
        assert worker.state == "ready" and not worker.queue and worker.actor is None, "only idle workers are trimmed"

    def _InterruptTask(self, command: do.InterruptTask) -> None:
        assert command.worker_id in self.workers

    def _StopWorker(self, command: do.StopWorker) -> None:
        assert self.workers[command.worker_id].state != "stopping"
        self.workers[command.worker_id].state = "stopping"

    def _ReleaseDevices(self, command: do.ReleaseDevices) -> None:
        worker = self.workers.get(command.worker_id)  # None: it is dead, and its devices with it
        if worker is not None:
            worker.devices.clear()

    def _FailTask(self, command: do.FailTask) -> None:
        self._ended(command.task, command.failure.value)
        self.messages[command.task.task_id] = command.message

    def _FinishTasks(self, command: do.FinishTasks) -> None:
        for task in command.tasks:
            self._ended(task, "finished")

    def _ended(self, task: Task, how: str) -> None:
        assert task.task_id not in self.outcomes, f"{task.name} {task.task_id!r} ended twice: {how}"
        self.outcomes[task.task_id] = how

    def _ActorChanged(self, command: do.ActorChanged) -> None:
        self.actors[command.actor_id] = command.state

    def _GroupChanged(self, command: do.GroupChanged) -> None:
        self.groups[command.group_id] = command.state
        if command.never:
            self.refusals[command.group_id] = command.never

    def _Warn(self, command: do.Warn) -> None:
        self.warnings.append(command)

    def _CollectCycles(self, command: do.CollectCycles) -> None:
        self.collections += 1

    def _RequestNode(self, command: do.RequestNode) -> None:
        self.asked.append(command)

    def _ReleaseNode(self, command: do.ReleaseNode) -> None:
        self.released.append(command.node_id)

    def _WakeAt(self, command: do.WakeAt) -> None:
        self.wake_at = command.at if self.wake_at is None else min(self.wake_at, command.at)
