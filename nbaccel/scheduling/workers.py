"""Worker processes: who is free, who is spare, who is to be started and who has been idle for too long."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from nbaccel.scheduling.commands import Command, StartWorker, StopWorker, TrimWorker
from nbaccel.scheduling.ledger import Hold
from nbaccel.scheduling.moves import (
    ACTOR,
    BUSY,
    IDLE,
    SPARE,
    STARTING,
    STOPPING,
    WORKER_MOVES,
    IllegalEvent,
    Story,
    WorkerStatus,
    lengthened,
)
from nbaccel.scheduling.terms import TaskKind, WorkerPool
from nbaccel.scheduling.timers import Timers

if TYPE_CHECKING:
    from nbaccel.scheduling.actors import ActorRecord
    from nbaccel.scheduling.tasks import Shape, TaskRecord

KEEP_GONE = 10_000  # ids of dead workers whose late messages are recognised as late
Bound = tuple[tuple[str, int], ...]  # devices that a process has seen: it may go on using them whatever it is told
UNBOUND: Bound = ()


class PoolRecord(msgspec.Struct, eq=False):
    """Interchangeable workers, and which of them are idle: (node, devices they are bound to) -> last used last."""

    pool: WorkerPool
    idle: dict[tuple[bytes, Bound], list[WorkerRecord]] = {}


class Zygote(msgspec.Struct, eq=False):
    """The spare workers that one fork server has made."""

    name: str
    spares: list[WorkerRecord] = []
    starting: list[WorkerRecord] = []


class WorkerRecord(msgspec.Struct, eq=False):
    """What the scheduler knows of one process. The first task in `queue` is the one that it runs."""

    worker_id: bytes
    node_id: bytes
    pool: PoolRecord | None
    zygote: str
    state: WorkerStatus = STARTING
    ready: bool = False
    used: bool = False
    loaded: bool = False  # with what takes long: modules of the user's, or an interpreter of its own
    pid: int | None = None
    queue: deque[TaskRecord] = msgspec.field(default_factory=deque)
    hold: Hold | None = None
    leased: bool = False  # a task was sent with the hold: the head may have leased its devices
    shape: Shape | None = None  # the job whose tasks it runs
    actor: ActorRecord | None = None
    bound: Bound = UNBOUND
    calls: dict[bytes, int] = {}
    blocked: int = 0
    window: int = 1  # how many tasks it may have at once
    recalled: bool = False
    began_at: float = 0.0
    idle_since: float = 0.0
    trimmed: bool = False  # since it became idle
    why: str = ""  # why we stopped it
    killed: bool = False  # we stopped it at work
    story: Story = ()

    def __str__(self) -> str:
        return f"worker {self.worker_id.hex()}" + (f" (pid {self.pid})" if self.pid else "")


class WorkerTable:
    """Owns worker records; every move of a worker goes through `move`."""

    def __init__(
        self,
        out: list[Command],
        timers: Timers,
        new_id: Callable[[], bytes],
        *,
        keep: Callable[[], int],
        stop_after_s: float,
        spares: int,
        home: Callable[[], bytes],
    ) -> None:
        self._out = out
        self._timers = timers
        self._new_id = new_id
        self._keep = keep
        self._stop_after_s = stop_after_s
        self._spares = spares
        self._home = home  # the node that spares are shown on until they get work
        self.records: dict[bytes, WorkerRecord] = {}
        self._on_node: dict[bytes, dict[WorkerRecord, None]] = {}  # those that have been given work
        self.pools: dict[WorkerPool, PoolRecord] = {}
        self.zygotes: dict[str, Zygote] = {}
        self.idle: dict[WorkerRecord, None] = {}  # longest idle first
        self.short_of_spares: dict[str, Zygote] = {}
        self._gone: dict[bytes, None] = {}
        self._gone_order: deque[bytes] = deque()
        self._looks_armed = False
        self._last_pool: PoolRecord | None = None

    # --- finding --------------------------------------------------------------------------------------------------

    def pool_of(self, pool: WorkerPool) -> PoolRecord:
        last = self._last_pool
        if last is not None and last.pool is pool:
            return last
        record = self.pools.get(pool)
        if record is None:
            record = self.pools[pool] = PoolRecord(pool)
            if pool.how == "fork":
                self.prestart(pool.zygote)
        self._last_pool = record
        return record

    def prestart(self, zygote: str) -> None:
        if zygote not in self.zygotes:
            self.zygotes[zygote] = self.short_of_spares[zygote] = Zygote(zygote)

    def known(self, event: str, worker_id: bytes) -> WorkerRecord | None:
        """The worker, None when it is known to be gone; one that never was is an illegal event."""
        worker = self.records.get(worker_id)
        if worker is None and worker_id not in self._gone:
            raise IllegalEvent(event, f"worker {worker_id.hex()}", "unknown", (), "No such worker was ever started.")
        return worker

    # --- moves ----------------------------------------------------------------------------------------------------

    def move(self, worker: WorkerRecord, state: WorkerStatus, now: float) -> None:
        if state not in WORKER_MOVES[worker.state]:
            raise IllegalEvent(f"A move to {state.name}", str(worker), worker.state.name, worker.story)
        worker.state = state
        worker.story = lengthened(worker.story, state, now)

    def let_go_of_stories(self) -> Callable[[], None]:
        """Let the times of all moves go, packed, and return what makes them again: then they lie close together."""
        workers = list(self.records.values())
        packed = [(worker.story[::2], array("d", worker.story[1::2])) for worker in workers]
        for worker in workers:
            worker.story = ()

        def make_again() -> None:
            for worker, (states, times) in zip(workers, packed, strict=True):
                worker.story = tuple(part for move in zip(states, times, strict=True) for part in move)

        return make_again

    def acquire(self, record: TaskRecord, hold: Hold, now: float) -> WorkerRecord:
        """A worker for this task: ready and BUSY (or ACTOR), or STARTING with the task bound to it."""
        pool = record.pool
        assert pool is not None
        node_id = hold.place.node_id
        bound = _bound_by(hold) if hold.parts else UNBOUND
        creates = record.task.terms.kind is TaskKind.ACTOR_CREATION
        worker = None if creates or record.task.terms.fresh else self._take_idle(pool, node_id, bound)
        if worker is None:
            worker = self._take_spare(pool) or self._start(pool, node_id)
            worker.pool, worker.node_id, worker.bound = pool, node_id, bound
            self._on_node.setdefault(node_id, {})[worker] = None
        worker.hold = hold
        worker.window = 1
        if worker.state is not STARTING:
            self.move(worker, ACTOR if creates else BUSY, now)
        return worker

    def _take_idle(self, pool: PoolRecord, node_id: bytes, bound: Bound) -> WorkerRecord | None:
        idle = pool.idle.get((node_id, bound))
        if not idle and bound:
            idle = pool.idle.get((node_id, UNBOUND))
        if not idle:
            return None
        worker = idle.pop()
        del self.idle[worker]
        worker.bound = bound
        return worker

    def _take_spare(self, pool: PoolRecord) -> WorkerRecord | None:
        zygote = self.zygotes.get(pool.pool.zygote)
        if zygote is None or pool.pool.how != "fork":
            return None
        self.short_of_spares[zygote.name] = zygote
        if zygote.spares:
            return zygote.spares.pop()
        return zygote.starting.pop(0) if zygote.starting else None

    def _start(self, pool: PoolRecord | None, node_id: bytes, zygote: str = "") -> WorkerRecord:
        worker = WorkerRecord(self._new_id(), node_id, pool, pool.pool.zygote if pool else zygote)
        worker.loaded = pool is not None and pool.pool.how != "fork"
        self.records[worker.worker_id] = worker
        self._out.append(StartWorker(worker.worker_id, node_id, pool.pool if pool else None, worker.zygote))
        return worker

    def refill(self) -> None:
        """Starts the spares that were taken; called when an event has been dealt with, so that work goes first."""
        for zygote in self.short_of_spares.values():
            for _ in range(self._spares - len(zygote.spares) - len(zygote.starting)):
                zygote.starting.append(self._start(None, self._home(), zygote.name))
        self.short_of_spares.clear()

    def replace_spares(self, name: str, now: float) -> None:
        """End the spare workers of a zygote; `refill` starts others."""
        zygote = self.zygotes.get(name)
        if zygote is None:
            return
        for worker in [*zygote.spares, *zygote.starting]:
            self.stop(worker, "a worker with more modules loaded takes its place", now)
        self.short_of_spares[name] = zygote

    def became_ready(self, worker: WorkerRecord, pid: int, now: float) -> None:
        """A started process without a task becomes spare or idle; with one, the caller sends it."""
        worker.ready, worker.pid = True, pid
        if not worker.queue:
            self.rest(worker, now)

    def rest(self, worker: WorkerRecord, now: float) -> None:
        """Nothing to do: never used ones (of a fork pool) are spares again, the others idle in their pool."""
        zygote = self.zygotes.get(worker.zygote)
        if zygote is not None and self._is_spare(worker, zygote):
            if worker in zygote.starting:
                zygote.starting.remove(worker)
            self._take_off_node(worker)
            worker.pool, worker.bound = None, UNBOUND
            self.move(worker, SPARE, now)
            zygote.spares.append(worker)
            return
        self.move(worker, IDLE, now)
        pool = worker.pool
        assert pool is not None
        worker.idle_since, worker.trimmed = now, False
        pool.idle.setdefault((worker.node_id, worker.bound), []).append(worker)
        self.idle[worker] = None
        if not self._looks_armed:
            self._looks_armed = True
            self._timers.at(now + self._stop_after_s, self._look_at_idle, None)

    def _is_spare(self, worker: WorkerRecord, zygote: Zygote) -> bool:
        if worker.pool is None:
            return True
        # A few more than asked for may come back unused, after cancels and refused leases.
        return not worker.used and worker.pool.pool.how == "fork" and len(zygote.spares) < self._spares + 2

    def _look_at_idle(self, _: object, now: float) -> None:
        """Of what has been idle for long enough, end what a fork replaces at once, and the surplus of the rest.

        Those that stay give back the memory that they have freed.
        """
        self._looks_armed = False
        surplus = sum(worker.loaded for worker in self.idle) - self._keep()
        for worker in list(self.idle):
            stays = worker.loaded and surplus <= 0
            if stays and worker.trimmed:
                continue
            due = worker.idle_since + self._stop_after_s
            if due > now:
                self._looks_armed = True
                self._timers.at(due, self._look_at_idle, None)
                return
            if stays:
                worker.trimmed = True
                self._out.append(TrimWorker(worker.worker_id))
            else:
                surplus -= worker.loaded
                self._stop_idle(worker, now)

    def _stop_idle(self, worker: WorkerRecord, now: float) -> None:
        others = "more are kept than needed" if worker.loaded else "has loaded nothing that a new one has not"
        self.stop(worker, f"it was idle for {self._stop_after_s:g} s and {others}", now)

    def stop(self, worker: WorkerRecord, why: str, now: float, force: bool = False) -> None:
        """Ends the process. What it holds comes back when it is gone."""
        if worker.state is STOPPING:
            return
        self._set_aside(worker)
        self.move(worker, STOPPING, now)
        worker.why, worker.killed = why, force
        self._out.append(StopWorker(worker.worker_id, why, force))

    def _set_aside(self, worker: WorkerRecord) -> None:
        """Nobody is to be given this worker any more."""
        if worker in self.idle:
            del self.idle[worker]
            assert worker.pool is not None
            key = (worker.node_id, worker.bound)
            idle = worker.pool.idle[key]
            idle.remove(worker)
            if not idle:
                del worker.pool.idle[key]
        zygote = self.zygotes.get(worker.zygote)
        if zygote is not None:
            for group in (zygote.spares, zygote.starting):
                if worker in group:
                    group.remove(worker)

    def forget(self, worker: WorkerRecord) -> None:
        """The process is gone."""
        self._set_aside(worker)
        if worker.state is SPARE:
            self.short_of_spares[worker.zygote] = self.zygotes[worker.zygote]
        del self.records[worker.worker_id]
        self._take_off_node(worker)
        self._gone[worker.worker_id] = None
        self._gone_order.append(worker.worker_id)
        if len(self._gone_order) > KEEP_GONE:
            del self._gone[self._gone_order.popleft()]

    def _take_off_node(self, worker: WorkerRecord) -> None:
        there = self._on_node.get(worker.node_id, {})
        there.pop(worker, None)
        if not there:
            self._on_node.pop(worker.node_id, None)

    def on_node(self, node_id: bytes) -> list[WorkerRecord]:
        """The workers of a node that have been given work and are not told to end."""
        return [worker for worker in self._on_node.get(node_id, ()) if worker.state is not STOPPING]

    def of_job(self, job: int) -> Iterator[WorkerRecord]:
        for worker in list(self.records.values()):
            if worker.pool is not None and worker.pool.pool.job == job:
                yield worker

    def forget_pools_of(self, job: int) -> None:
        """Pools of an ended job, unless somebody of it is left."""
        alive = {worker.pool for worker in self.records.values() if worker.state is not STOPPING}
        for pool, record in list(self.pools.items()):
            if pool.job == job and record not in alive:
                del self.pools[pool]
        self._last_pool = None


def _bound_by(hold: Hold) -> Bound:
    return tuple((device.spec.resource, device.spec.index) for device, _ in hold.parts)
