"""Any order of events: the written invariants hold after each, and in the end every task ends and nothing is held."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec, GroupRequested
from nbaccel.scheduling.moves import ActorStatus, IllegalEvent
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Placement, Task, TaskKind
from tests.scheduling.world import HEAD, FakeWorker, World, choice, demand, node

CHOICES = {
    "1 cpu": (choice(CPU=1),),
    "2 cpus": (choice(CPU=2),),
    "nothing": (choice(),),
    "1 gpu": (choice(CPU=1, GPU=1),),
    "half a gpu": (choice(CPU=1, GPU=0.5),),
    "0.7 gpu": (choice(GPU=0.7),),
    "2 gpus": (choice(CPU=1, GPU=2),),
    "tpu or cpu": (choice(CPU=1, TPU=1), choice(CPU=1, label="cpu")),
    "gpu or cpu": (choice(CPU=1, GPU=1), choice(CPU=1, label="cpu")),
    "spread": (choice(Placement("SPREAD"), CPU=1),),
    "rather on n1": (choice(Placement("NODE", node_id=b"n1", soft=True), CPU=1),),
    "only on n1": (choice(Placement("NODE", node_id=b"n1"), CPU=1),),
    "in zone a or b": (choice(Placement(labels=(("zone", "in(a,b)"),)), CPU=1),),
    "in group": (choice(Placement("GROUP", group_id=b"g1"), CPU=1),),
    "in group, with a gpu": (choice(Placement("GROUP", group_id=b"g1"), CPU=1, GPU=1),),
    "in group, with some gpu": (choice(Placement("GROUP", group_id=b"g1"), GPU=0.5),),
    "in first bundle": (choice(Placement("GROUP", group_id=b"g1", bundle=0), CPU=1, GPU=0.5),),
    "in second bundle": (choice(Placement("GROUP", group_id=b"g1", bundle=1), CPU=1),),
}
BUNDLES = {
    "two cpus": [demand(CPU=1), demand(CPU=1)],
    "one with a gpu": [demand(CPU=1, GPU=1), demand(CPU=1)],
    "two halves": [demand(CPU=1, GPU=0.5), demand(CPU=1, GPU=0.5)],
    "two gpus": [demand(GPU=1), demand(GPU=1)],
    "two cpus and one with a gpu": [demand(CPU=1), demand(CPU=2, GPU=1)],
}
GPUS = [DeviceSpec("GPU", 0, type="A100"), DeviceSpec("GPU", 1, type="A100")]


class AnyOrder(RuleBasedStateMachine):
    """Users, drivers, workers and other heads do as they like."""

    @initialize(cpus=st.integers(1, 3), gpus=st.integers(0, 2))
    def begin(self, cpus: int, gpus: int) -> None:
        self.gpus = gpus
        self.world = World(node("head", GPUS[:gpus], CPU=cpus), spares=1, idle_worker_keep=2)
        self.objects = 0
        self.unready: list[bytes] = []
        self.actor_ids: list[bytes] = []
        self.group_ids: list[bytes] = []
        self.node_ids: list[bytes] = []

    # --- users ----------------------------------------------------------------------------------------------------

    @rule(
        asks=st.sampled_from(sorted(CHOICES)),
        fresh=st.booleans(),
        max_calls=st.sampled_from([0, 0, 1, 2]),
        retries=st.sampled_from([0, 1, 3]),
        wants=st.booleans(),
        patience=st.sampled_from([None, 1.0]),
        job=st.sampled_from([1, 1, 2]),
        nested=st.booleans(),
        copies=st.sampled_from([1, 1, 5, 30]),
        refuse=st.sampled_from([False, False, True]),
        cell=st.sampled_from(["", "[1]", "[2]"]),
        internal=st.sampled_from([False, False, True]),
    )
    def submit(
        self,
        asks: str,
        fresh: bool,
        max_calls: int,
        retries: int,
        wants: bool,
        patience: float | None,
        job: int,
        nested: bool,
        copies: int,
        refuse: bool,
        cell: str,
        internal: bool,
    ) -> None:
        parent = self._running_parent(job) if nested else None
        for _ in range(copies):
            self.world.submit(
                "f",
                *CHOICES[asks],
                job=job,
                fresh=fresh,
                max_calls=max_calls,
                retries_left=retries,
                fallback_after_s=patience,
                refuse_infeasible=refuse,
                cell=cell,
                internal=internal,
                missing=self._missing(wants and copies == 1),
                parent_task_id=parent.task_id if parent else None,
            )

    @rule(
        asks=st.sampled_from(sorted(CHOICES)),
        number=st.integers(1, 40),
        job=st.sampled_from([1, 1, 2]),
        max_calls=st.sampled_from([0, 0, 2]),
        fresh=st.sampled_from([False, False, True]),
        refuse=st.sampled_from([False, False, True]),
        cell=st.sampled_from(["", "[1]", "[2]"]),
    )
    def submit_together(
        self, asks: str, number: int, job: int, max_calls: int, fresh: bool, refuse: bool, cell: str
    ) -> None:
        self.world.submit_together(
            number, *CHOICES[asks], job=job, max_calls=max_calls, fresh=fresh, refuse_infeasible=refuse, cell=cell
        )

    @precondition(lambda self: self._with_plain_tasks())
    @rule(data=st.data(), number=st.integers(1, 64), took_s=st.sampled_from([0.0001, 0.0001, 0.01]))
    def tasks_return_together(self, data: st.DataObject, number: int, took_s: float) -> None:
        worker = data.draw(st.sampled_from(self._with_plain_tasks()))
        worker.blocked = False
        if worker.devices or any(task.terms.max_calls for task in worker.queue):
            number = 1  # a head tells of such tasks alone; what it tells by mistake is refused and told alone
        self.world.return_together(worker, number, took_s, 0.0001)

    def _with_plain_tasks(self) -> list[FakeWorker]:
        """Workers that have a task or several of which none was cancelled."""
        return [
            worker
            for worker in self._ready()
            if worker.queue and worker.actor is None and not any(t.task_id in self.world.outcomes for t in worker.queue)
        ]

    def _missing(self, wants: bool) -> set[bytes] | None:
        if not wants:
            return None
        self.objects += 1
        self.unready.append(b"o%d" % self.objects)
        return {self.unready[-1], self.unready[0]}

    def _running_parent(self, job: int) -> Task | None:
        for worker in self.world.workers.values():
            if worker.queue and worker.queue[0].job == job:
                return worker.queue[0]
        return None

    @rule(
        asks=st.sampled_from(sorted(CHOICES)),
        restarts=st.sampled_from([0, 1, -1]),
        together=st.sampled_from([1, 3]),
        out_of_order=st.booleans(),
        detached=st.booleans(),
        keeps=st.booleans(),
        wants=st.booleans(),
    )
    def create_actor(
        self,
        asks: str,
        restarts: int,
        together: int,
        out_of_order: bool,
        detached: bool,
        keeps: bool,
        wants: bool,
    ) -> None:
        self.actor_ids.append(b"a%d" % len(self.actor_ids))
        self.world.actor(
            "A",
            *CHOICES[asks],
            actor_id=self.actor_ids[-1],
            max_restarts=restarts,
            max_concurrency=together,
            out_of_order=out_of_order,
            detached=detached,
            lasting=None if keeps else (),
            missing=self._missing(wants),
        )

    @precondition(lambda self: self.actor_ids)
    @rule(
        data=st.data(),
        caller=st.sampled_from([b"d1", b"d2"]),
        wants=st.booleans(),
        retries=st.sampled_from([0, 1]),
        copies=st.integers(1, 4),
    )
    def call(self, data: st.DataObject, caller: bytes, wants: bool, retries: int, copies: int) -> None:
        actor_id = data.draw(st.sampled_from(self.actor_ids))
        for _ in range(copies):
            missing = self._missing(wants and copies < 3)
            self.world.call("m", actor_id=actor_id, caller=caller, missing=missing, retries_left=retries)

    @precondition(lambda self: self.world.tasks)
    @rule(data=st.data(), force=st.booleans(), recursive=st.booleans())
    def cancel(self, data: st.DataObject, force: bool, recursive: bool) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.world.tasks)))
        self.world.notify(ev.CancelRequested(task_id, force, recursive))

    @precondition(lambda self: self.actor_ids)
    @rule(data=st.data(), no_restart=st.booleans(), graceful=st.booleans())
    def kill(self, data: st.DataObject, no_restart: bool, graceful: bool) -> None:
        actor_id = data.draw(st.sampled_from(self.actor_ids))
        self.world.notify(ev.ActorKillRequested(actor_id, no_restart, graceful))

    @precondition(lambda self: self.unready)
    @rule(data=st.data())
    def object_comes(self, data: st.DataObject) -> None:
        object_id = data.draw(st.sampled_from(self.unready))
        self.unready.remove(object_id)
        self.world.notify(ev.ObjectsReady([object_id]))

    @precondition(lambda self: self.unready)
    @rule()
    def argument_fails(self) -> None:
        for record in list(self.world.scheduler.waiting()):
            if record.missing:
                self.world.outcomes[record.task.task_id] = "argument failed"
                self.world.notify(ev.ArgumentFailed(record.task.task_id))
                return

    @rule(job=st.sampled_from([1, 2]))
    def end_job(self, job: int) -> None:
        self.world.notify(ev.JobEnded(job))

    # --- workers --------------------------------------------------------------------------------------------------

    def _ready(self) -> list[FakeWorker]:
        return [worker for worker in self.world.workers.values() if worker.state == "ready"]

    def _at_work(self) -> list[FakeWorker]:
        return [worker for worker in self._ready() if worker.queue or worker.calls]

    @rule()
    def workers_come_up(self) -> None:
        self.world.ready()

    @precondition(lambda self: self._at_work())
    @rule(data=st.data(), failed=st.booleans(), after_s=st.sampled_from([0.0001, 0.01, 1.0]), again=st.booleans())
    def task_returns(self, data: st.DataObject, failed: bool, after_s: float, again: bool) -> None:
        worker = data.draw(st.sampled_from(self._at_work()))
        loaded = data.draw(st.booleans())
        self._return_one(worker, after_s, failed=failed, retry=failed and again, loaded=loaded)

    @precondition(lambda self: self._with_another_choice())
    @rule(data=st.data())
    def task_raises_what_its_next_choice_answers(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(self._with_another_choice()))
        self.world.returns(worker.queue[0], 0.01, failed=True, fall_back="MemoryError: no room")

    @precondition(lambda self: self._on_devices())
    @rule(data=st.data())
    def task_leaves_memory_on_its_device(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(self._on_devices()))
        self.world.returns(worker.queue[0], 0.01, retire="it kept 3 GiB")

    def _with_another_choice(self) -> list[FakeWorker]:
        found = []
        for worker in self._at_work():
            record = self.world.scheduler.task_record(worker.queue[0].task_id) if worker.queue else None
            if record is not None and record.choice + 1 < len(record.task.terms.choices):
                found.append(worker)
        return found

    def _on_devices(self) -> list[FakeWorker]:
        return [worker for worker in self._at_work() if worker.devices and worker.queue and worker.actor is None]

    @precondition(lambda self: self._at_work())
    @rule(rounds=st.integers(1, 40))
    def many_return_quickly(self, rounds: int) -> None:
        for _ in range(rounds):
            for worker in self._at_work()[:1]:
                self._return_one(worker, 0.0001)

    def _return_one(
        self, worker: FakeWorker, after_s: float, failed: bool = False, retry: bool = False, loaded: bool = False
    ) -> None:
        task = worker.queue[0] if worker.queue else next(iter(worker.calls.values()))
        retry = retry and task.retries_left != 0
        self.world.returns(task, after_s, failed=failed and not retry, retry=retry, loaded=loaded)

    @precondition(lambda self: any(worker.recalled for worker in self._ready()))
    @rule(data=st.data())
    def prefetched_come_back(self, data: st.DataObject) -> None:
        """Not those that the head still holds back, until their arguments are there; so the first may come, too."""
        for worker in self._ready():
            if worker.recalled:
                is_idle = not worker.blocked and data.draw(st.booleans())
                self.world.gives_back(worker, 0 if is_idle else 1, data.draw(st.sampled_from([None, 1, 2])))

    @precondition(lambda self: [worker for worker in self._at_work() if not worker.blocked])
    @rule(data=st.data())
    def block(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from([worker for worker in self._at_work() if not worker.blocked]))
        worker.blocked = True
        self.world.notify(ev.WorkerBlocked(worker.worker_id))

    @precondition(lambda self: any(worker.blocked for worker in self._ready()))
    @rule()
    def unblock(self) -> None:
        self._unblock_all()

    def _unblock_all(self) -> None:
        for worker in self._ready():
            if worker.blocked:
                worker.blocked = False
                self.world.notify(ev.WorkerUnblocked(worker.worker_id))

    @rule()
    def its_zygote_is_replaced(self) -> None:
        self.world.notify(ev.SparesOutdated())

    @precondition(lambda self: self.world.workers)
    @rule(data=st.data())
    def worker_dies(self, data: st.DataObject) -> None:
        worker_id = data.draw(st.sampled_from(list(self.world.workers)))
        self.world.dies(self.world.workers[worker_id])

    @precondition(lambda self: self._used())
    @rule(data=st.data(), gone=st.booleans())
    def worker_is_spoiled(self, data: st.DataObject, gone: bool) -> None:
        worker = data.draw(st.sampled_from(self._used()))
        sent = [(task, task.retries_left) for task in worker.queue]
        self.world.is_spoiled(worker)
        assert worker.state == "stopping"
        if gone:
            self.world.dies(worker, "exited with code 0")
            for task, retries in sent:
                assert task.retries_left == retries and self.world.outcomes.get(task.task_id) != "worker crashed"

    def _used(self) -> list[FakeWorker]:
        """Those that have run a plain task, and begun nothing since."""
        return [worker for worker in self._ready() if worker.ran and worker.actor is None]

    @rule()
    def stopped_ones_go(self) -> None:
        for worker in self.world.stopping():
            self.world.dies(worker, "ended")

    # --- nodes, devices, groups -----------------------------------------------------------------------------------

    @precondition(lambda self: len(self.node_ids) < 3)
    @rule(gpus=st.integers(0, 1), zone=st.sampled_from(["a", "c"]))
    def add_node(self, gpus: int, zone: str) -> None:
        name = f"n{len(self.node_ids) + 1}"
        self.node_ids.append(name.encode())
        self.world.add_node(node(name, gpus, labels={"zone": zone}, CPU=2))

    @precondition(lambda self: self.node_ids)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        node_id = data.draw(st.sampled_from(self.node_ids))
        if node_id in self.world.scheduler.node_ids():
            self.world.notify(ev.NodeRemoved(node_id))

    @precondition(lambda self: self.gpus)
    @rule(free=st.sampled_from([0, 3000, UNIT]))
    def others_lease(self, free: int) -> None:
        reason = "" if free == UNIT else "held by notebook b.ipynb"
        self.world.notify(ev.DeviceChanged(HEAD, "GPU", 0, free, reason))

    @precondition(lambda self: self.gpus)
    @rule(lost=st.booleans())
    def device_is_lost_or_back(self, lost: bool) -> None:
        self.world.notify(ev.DeviceChanged(HEAD, "GPU", 0, 0 if lost else UNIT, "lost: Xid 79" if lost else "", lost))

    @precondition(lambda self: any(sent.devices for sent in self.world.sent))
    @rule()
    def lease_is_refused(self) -> None:
        for command in reversed(self.world.sent[-5:]):
            worker = self.world.workers.get(command.worker_id)
            fresh = worker and worker.state == "ready" and not worker.ran and not worker.blocked
            if command.devices and worker and fresh and worker.queue == [command.task]:
                resource, parts = next(iter(command.devices.items()))
                worker.queue.clear()
                worker.devices.clear()
                worker.actor = None
                refused = ev.AssignmentRefused(command.task.task_id, resource, parts[0][0], 0, "notebook b.ipynb")
                self.world.notify(refused)
                return

    @precondition(lambda self: len(self.group_ids) < 3)
    @rule(
        bundles=st.sampled_from(sorted(BUNDLES)),
        strategy=st.sampled_from(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]),
        job=st.sampled_from([1, 2]),
        refuses=st.booleans(),
    )
    def ask_for_group(self, bundles: str, strategy: str, job: int, refuses: bool) -> None:
        self.group_ids.append(b"g%d" % (len(self.group_ids) + 1))
        self.world.notify(
            GroupRequested(self.group_ids[-1], "g", BUNDLES[bundles], strategy, job, refuse_infeasible=refuses)
        )

    @precondition(lambda self: self.group_ids)
    @rule(data=st.data())
    def remove_group(self, data: st.DataObject) -> None:
        self.world.notify(ev.GroupRemoveRequested(data.draw(st.sampled_from(self.group_ids))))

    # --- time and errors ------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.001, 0.006, 1.0, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.time_passes(seconds)

    @rule()
    def an_unknown_worker_is_refused(self) -> None:
        before = self.world.scheduler.counts()
        for event in (
            ev.WorkerReady(b"?", 1),
            ev.TasksReturned(b"?", [ev.TaskReturn(b"?")]),
            ev.WorkerDied(b"?", "?"),
            ev.WorkerSpoiled(b"?", "?"),
        ):
            try:
                self.world.notify(event)
            except IllegalEvent:
                continue
            raise AssertionError(f"{event} was accepted")
        assert self.world.scheduler.counts() == before

    @rule()
    def questions_change_nothing(self) -> None:
        scheduler = self.world.scheduler
        for record in [*scheduler.waiting(), *scheduler.running()]:
            explanation = scheduler.explain(record.task.task_id, self.world.now)
            assert explanation is not None and explanation.sentence
        for node_id in scheduler.node_ids():
            scheduler.node_available(node_id)
            scheduler.device_holders(node_id)
        scheduler.check()

    # --- the end --------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self._let_all_end()
        scheduler = self.world.scheduler
        for actor_id in self.actor_ids:
            self.world.notify(ev.ActorKillRequested(actor_id))
        for group_id in self.group_ids:
            self.world.notify(ev.GroupRemoveRequested(group_id))
        self._let_all_end()
        left = [str(record) for record in (*scheduler.waiting(), *scheduler.running(), *self._internal())]
        assert not left, f"these never ended: {left}"
        assert all(task_id in self.world.outcomes for task_id in self.world.tasks), "a task has no outcome"
        for node_id in scheduler.node_ids():
            assert scheduler.node_available(node_id) == scheduler.node_totals(node_id)
        assert all(actor.state is ActorStatus.DEAD for actor in scheduler.actor_records())

    def _internal(self) -> list[TaskRecord]:
        """Those of nbaccel's own that are not over: no list of the scheduler's has them."""
        tasks = [task for task in self.world.tasks.values() if task.terms.internal]
        records = [self.world.scheduler.task_record(task.task_id) for task in tasks]
        return [record for record in records if record is not None and not record.over]

    def _let_all_end(self) -> None:
        """Workers work, objects come; what can never start, or waits for a dead end, is cancelled at last."""
        if self.unready:
            self.world.notify(ev.ObjectsReady(self.unready))
            self.unready = []
        for node_id, resource, index in self.world.amounts:
            self.world.notify(ev.DeviceChanged(node_id, resource, index, UNIT, ""))
        self._work_on()
        for record in [*self.world.scheduler.waiting(), *self._internal()]:
            if record.task.kind is TaskKind.ACTOR_CREATION:
                self.world.notify(ev.ActorKillRequested(record.task.actor_id or b""))
            else:
                self.world.notify(ev.CancelRequested(record.task.task_id))
        self._work_on()

    def _work_on(self) -> None:
        for _ in range(2000):
            before = len(self.world.workers), len(self.world.sent), len(self.world.outcomes)
            self.world.ready()
            self.stopped_ones_go()
            self._unblock_all()
            for worker in self._ready():
                if worker.recalled:
                    self.world.gives_back(worker)
            for worker in self._at_work():
                self._return_one(worker, 0.001)
            self.world.time_passes(0.1)
            same = before == (len(self.world.workers), len(self.world.sent), len(self.world.outcomes))
            if same and not self._at_work() and not self.world.stopping():
                return
        raise AssertionError("the workers are never done")


AnyOrder.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = AnyOrder.TestCase
