"""What may be asked of this engine: its node, what runs and waits, and what the running code is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import __version__
from nbaccel.handles.options import TaskOptions
from nbaccel.handles.remote import ObjectRef
from nbaccel.host_address import host_address
from nbaccel.local_engine.client.terms import asked
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.local_engine.worker import unheard_exits
from nbaccel.local_engine.worker.execution import ActorExit, Running, current_run
from nbaccel.quantities import ACCELERATORS, UNIT
from nbaccel.scheduling.explain import HolderFact
from nbaccel.scheduling.moves import CANCELLED, FAILED
from nbaccel.scheduling.tasks import KEEP_ENDED
from nbaccel.scheduling.terms import Choice, Terms
from nbaccel.views import task_filter, trace_events
from nbaccel.views.snapshot import ActorRow, Alert, DeviceRow, GroupRow, Holder, NodeRow, Runtime, Snapshot, TaskRow
from nbaccel.views.task_filter import FoundTasks, TaskFilter

if TYPE_CHECKING:
    from nbaccel.debug_engine.workers import Worker

MOST_ROWS = 100
MOST_GROUPS = 50
_STATES = {"PENDING": "PENDING_CREATION"}


class View:
    """Mixed into the engine."""

    # ---- what the running code may ask about itself

    def context(self: Any) -> dict[str, Any]:
        running = current_run.get()
        terms = running.terms if running is not None else None
        worker = self._worker()
        creation = worker.creation if worker is not None else None
        owner = creation or running
        group_id = _spec(owner).placement.group_id if owner is not None and owner.terms.choices else None
        devices = (owner.run.devices or {}) if owner is not None else {}
        return {
            "job_id": "00000001",
            "node_id": self.machine.node_id.hex(),
            "worker_id": (worker.worker_id if worker is not None else b"\xff" * 28).hex(),
            "task_id": running.task_id.hex() if running is not None else None,
            "task_name": terms.name if terms is not None else None,
            "task_function_name": self.stage.execution.function_name(running, creation)
            if running is not None
            else None,
            "actor_id": creation.run.actor_id.hex() if creation is not None else None,
            "actor_name": creation.terms.actor.name if creation is not None else None,
            "class_name": creation.terms.class_name if creation is not None else None,
            "namespace": self.namespace,
            "accelerator_ids": {name: [] for name in ACCELERATORS} | devices,
            "assigned_resources": _assigned(owner),
            "is_canceled": bool(running and running.cancelled),
            "fallback_taken": bool(owner and owner.run.choice),
            "fallback_label": _spec(owner).label if owner is not None and owner.run.choice else "",
            "runtime_env": (owner.terms.runtime_env if owner is not None else b"{}").decode(),
            "attempt": running.run.attempt if running is not None else 0,
            "reconstructed": bool(creation and creation.run.attempt),
            "placement_group_id": group_id.hex() if group_id else None,
            "captures": bool(owner and owner.terms.capture),
            "session_name": "debug",
            "session_dir": os.getcwd(),
            "address": "debug",
            "is_worker": running is not None,
        }

    def _worker(self: Any) -> Worker | None:
        running = current_run.get()
        record = self.stage.scheduler.task_record(running.task_id) if running is not None else None
        return self.stage.workers.get(record.task.payload.worker_id) if record is not None else None

    def actor_devices(self: Any) -> dict[str, list[str]]:
        worker = self._worker()
        return dict((worker.creation.run.devices if worker is not None and worker.creation is not None else None) or {})

    def current_actor(self: Any) -> Any:
        worker = self._worker()
        if worker is None or worker.creation is None:
            raise RuntimeError("This code does not run in an actor.")
        terms = worker.creation.terms
        methods = codec.load_code(terms.actor.methods)
        return self.actors.handle(worker.creation.run.actor_id, terms.class_name, methods, counted=False)

    def exit_actor(self: Any) -> None:
        worker = self._worker()
        if worker is None or worker.creation is None:
            raise TypeError("exit_actor() was called, but this code does not run in an actor.")
        running = current_run.get()
        if running is not None:
            running.leaves = True  # what is raised here may end in a task of asyncio's that nobody waits for
        unheard_exits.silence()
        raise ActorExit

    def report_progress(self: Any, done: float, total: float) -> None:
        """Whoever debugs sees where the code is."""

    # ---- the cluster

    def nodes(self: Any) -> list[dict[str, Any]]:
        row = self._node()
        return [
            {"NodeID": row.node_id, "Alive": True, "NodeManagerAddress": row.address, "NodeManagerHostname": row.name,
             "NodeName": row.name, "alive": True, "Resources": row.totals, "Labels": row.labels}
        ]  # fmt: skip

    def _node(self: Any) -> NodeRow:
        spec, scheduler = self.machine.spec, self.stage.scheduler
        totals = {name: amount / UNIT for name, amount in scheduler.node_totals(spec.node_id).items()}
        available = {name: amount / UNIT for name, amount in scheduler.node_available(spec.node_id).items()}
        return NodeRow(spec.node_id.hex(), spec.name, True, True, totals, available, dict(spec.labels), host_address())

    def cluster_resources(self: Any) -> dict[str, float]:
        return dict(self._node().totals)

    def available_resources(self: Any) -> dict[str, float]:
        return {name: amount for name, amount in self._node().available.items() if amount}

    def create_group(
        self: Any,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: Any,
        soft_node: str,
    ) -> bytes:
        return bytes(self.groups.create(bundles, strategy, name, detached, bundle_labels))

    def group_ready(self: Any, group_id: bytes, value: Any) -> ObjectRef[Any]:
        id = return_id(self.ids.task_id(), 0)
        self.groups.ready(group_id, id, self.store(codec.dump(value, []))[0])
        ref: ObjectRef[Any] = self.ref(id)
        return ref

    def find_group(self: Any, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.groups.find(name)
        return found

    def remove_group(self: Any, group_id: bytes) -> None:
        self.groups.remove(group_id)

    def group_table(self: Any, group_id: bytes | None) -> dict[str, Any]:
        if group_id is not None:
            return dict(self.groups.row(group_id))
        return {row["placement_group_id"]: row for row in self.groups.rows()}

    # ---- pictures and reasons

    def snapshot(self: Any) -> Snapshot:
        counts = self.stage.scheduler.counts()
        failed = (self._task_row(record) for record in self.stage.scheduler.ended() if record.state is FAILED)
        return Snapshot(
            runtime=Runtime(
                "debug", __version__, sys.version.split()[0], os.getpid(), "debug", started_at=self.started_at, job=1
            ),
            time=time.time(),
            nodes=[self._node()],
            devices=self._devices(),
            tasks=self._task_rows(MOST_ROWS),
            actors=self._actor_rows(),
            groups=[GroupRow.from_table(row) for row in self.groups.rows()][-MOST_GROUPS:],
            alerts=Alert.of_failures(counts, next(failed, None), self.started_at),
            counts=counts,
        )

    def tasks(self: Any, wanted: TaskFilter) -> FoundTasks:
        return task_filter.find(self._task_rows(KEEP_ENDED), wanted)

    def _devices(self: Any) -> list[DeviceRow]:
        scheduler, node_id = self.stage.scheduler, self.machine.node_id
        holders: dict[tuple[str, int], list[Holder]] = {}
        for held in scheduler.device_holders(node_id):
            holders.setdefault((held.resource, held.index), []).append(_holder(held))
        free = {
            (device.spec.resource, device.spec.index): device.room() / UNIT for device in scheduler.devices(node_id)
        }
        return [
            DeviceRow(
                node_id.hex(), resource, device.index, device.id, device.vendor, device.family, device.kind.value,
                device.type, device.name, device.uuid, free=free[resource, device.index],
                holders=holders.get((resource, device.index), []),
            )
            for resource, devices in self.machine.offered.devices.items()
            for device in devices
        ]  # fmt: skip

    def _task_rows(self: Any, most: int) -> list[TaskRow]:
        scheduler = self.stage.scheduler
        waiting = list(islice(scheduler.waiting(), most))
        records = [*islice(scheduler.running(), most), *waiting, *scheduler.ended_and_failed(most, most)]
        return [self._task_row(record) for record in records]

    def _task_row(self: Any, record: Any) -> TaskRow:
        task, entry = record.task, record.task.payload
        explanation = None if record.over else self.stage.scheduler.explain(task.task_id, time.monotonic())
        function = task.name if entry.terms.kind else entry.terms.method
        choice = task.terms.choices[record.choice] if task.terms.choices else None
        return TaskRow(
            task.task_id.hex(), task.name, task.kind.words, record.state.name, task.job,
            demand={name: amount / UNIT for name, amount in choice.demand} if choice is not None else {},
            device_ids=entry.device_ids or {}, node_id=entry.node_id.hex() or None,
            worker_id=entry.worker_id.hex() or None, pid=os.getpid(),
            actor_id=task.actor_id.hex() if task.actor_id else None,
            parent_task_id=task.parent_task_id.hex() if task.parent_task_id else None, cell=task.terms.cell,
            submitted_at=entry.submitted_at, started_at=entry.started_at, finished_at=entry.finished_at,
            why=entry.note or (explanation.sentence if explanation is not None else ""), attempt=record.attempt,
            function=function, error_type=_error_type(record) if entry.failed else "",
            choice=choice.label if choice is not None else "", choice_why=record.choice_why,
        )  # fmt: skip

    def _actor_rows(self: Any) -> list[ActorRow]:
        creations = [worker.creation for worker in self.stage.workers.values() if worker.creation is not None]
        running = {creation.run.actor_id: creation for creation in creations}
        return [
            self._actor_row(actor_id, terms, running.get(actor_id))
            for actor_id, terms in self.actors.terms.items()
            if actor_id in self.stage.actor_states
        ]

    def _actor_row(self: Any, actor_id: bytes, terms: Terms, creation: Running | None) -> ActorRow:
        state, record = self.stage.actor_states[actor_id], self.stage.scheduler.actor_record(actor_id)
        choice = terms.choices[record.creation.choice] if record is not None and terms.choices else None
        return ActorRow(
            actor_id.hex(), terms.class_name, _STATES.get(state, state), 1, terms.actor.name, terms.actor.namespace,
            demand=_assigned(creation), device_ids=(creation.run.devices if creation is not None else None) or {},
            node_id=self.machine.node_id.hex(), pid=os.getpid(), cell=terms.cell, detached=terms.actor.detached,
            choice=choice.label if choice is not None else "",
            choice_why=record.creation.choice_why if record is not None else "",
        )  # fmt: skip

    def state(self: Any, what: str, limit: int) -> list[dict[str, Any]]:
        rows: list[Any] = {
            "tasks": lambda: self._task_rows(limit),
            "actors": self._actor_rows,
            "nodes": lambda: [self._node()],
            "groups": self.groups.rows,
            "objects": self.values.rows,
            "jobs": lambda: [
                {"job_id": "00000001", "status": "RUNNING", "entrypoint": "debug", "start_time": self.started_at,
                 "pid": os.getpid()}
            ],
        }.get(what, list)()  # fmt: skip
        return list(msgspec.to_builtins(rows[:limit]))

    def request_resources(
        self: Any,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        return False

    def object_locations(self: Any, refs: Sequence[ObjectRef[Any]]) -> list[dict[str, Any]]:
        sizes = {row["object_id"]: row["object_size"] for row in self.values.rows()}
        return [{"node_ids": [], "object_size": sizes.get(ref.hex()), "did_spill": False} for ref in refs]

    def timeline(self: Any) -> list[dict[str, Any]]:
        rows = [row for row in self._task_rows(MOST_ROWS) if row.started_at is not None]
        return [event for row in rows for event in _events(row, self._times(row))]

    def _times(self: Any, row: TaskRow) -> list[float]:
        record = self.stage.scheduler.task_record(bytes.fromhex(row.task_id))
        return list(record.task.payload.times) if record is not None else []

    def explain(self: Any, what: str | None) -> list[dict[str, Any]]:
        scheduler, now = self.stage.scheduler, time.monotonic()
        groups = []
        if what is None:
            ids = [record.task.task_id for record in islice(scheduler.waiting(), MOST_ROWS)]
            groups = [each.spec.group_id for each in scheduler.group_records() if each.state.name != "CREATED"]
        else:
            id = bytes.fromhex(what)
            actor = scheduler.actor_record(id)
            ids = [actor.task.task_id if actor is not None else id[:24]]
            groups = [id] if scheduler.group_record(id) is not None else []
        found = [(id, scheduler.explain(id, now)) for id in ids]
        found += [(id, scheduler.explain_group(id, now)) for id in groups]
        return [_reason(id.hex(), explanation) for id, explanation in found if explanation is not None]

    def probe(self: Any, options: TaskOptions) -> Any:
        choice = asked(options)
        explanation = self.stage.scheduler.explain_choice(choice, time.monotonic())
        verdict = "now" if explanation.fits_now else "busy" if explanation.ever else "never"
        return _reason("", explanation) | {"verdict": verdict}

    def recycle(self: Any) -> int:
        return 0

    def watch(self: Any, callback: Callable[[Any], None] | None, *, metrics: bool = True, rows: int = 0) -> None:
        """One picture: while somebody looks, nothing runs, and while something runs, nobody looks."""
        if callback is not None:
            callback(None if self.ended else self.snapshot())

    def cancel_by_id(self: Any, task_id: str, *, force: bool = False) -> None:
        """What a picture shows is over: a task runs while the picture waits."""

    def kill_by_id(self: Any, actor_id: str) -> None:
        from nbaccel.scheduling.events import ActorKillAsked

        self.stage.tell(ActorKillAsked(bytes.fromhex(actor_id)))

    def only_in_history(self: Any, ids: list[bytes]) -> None:
        """Nothing is ever moved to disk here."""

    def logs(self: Any, task_id: str | None, *, tail: int) -> str:
        return ""


def _error_type(record: Any) -> str:
    return "TASK_CANCELLED" if record.state is CANCELLED else "TASK_EXECUTION_EXCEPTION"


def _holder(held: Any) -> Holder:
    creation = getattr(held.held_by, "creation", None)
    task = getattr(creation or held.held_by, "task", None)
    if task is None:
        return Holder("placement group", held.amount / UNIT)
    task_id = None if creation is not None else task.task_id.hex()
    actor_id = task.actor_id.hex() if creation is not None else None
    return Holder(
        task.name.removesuffix(".__init__"), held.amount / UNIT, task_id, actor_id, os.getpid(), task.terms.cell
    )


def _reason(id: str, explanation: Any) -> dict[str, Any]:
    return {
        "id": id, "name": explanation.name, "state": explanation.state, "sentence": explanation.sentence,
        "asks": explanation.asks, "fits_now": explanation.fits_now, "ever": explanation.ever,
        "resources": list(explanation.resources), "fragmented": explanation.fragmented, "reason": explanation.reason,
        "deadlock": explanation.deadlock, "kept": explanation.kept,
        "holders": [_blocker(fact) for fact in explanation.holders],
        "elsewhere": list(explanation.elsewhere), "missing": [id.hex() for id in explanation.missing],
    }  # fmt: skip


def _blocker(fact: HolderFact) -> dict[str, Any]:
    ids = {"task_id": fact.task_id, "actor_id": fact.actor_id, "group_id": fact.group_id}
    return {
        "name": fact.name, "resource": fact.resource, "amount": fact.amount / UNIT, "cell": fact.cell,
        "pid": os.getpid(), "for_life": fact.for_life, "blocked": fact.blocked, "ending": fact.ending,
        **{key: id.hex() if id is not None else None for key, id in ids.items()},
    }  # fmt: skip


def _spec(owner: Running) -> Choice:
    return owner.terms.choices[owner.run.choice]


def _assigned(owner: Running | None) -> dict[str, float]:
    if owner is None or not owner.terms.choices:
        return {}
    return {name: amount / UNIT for name, amount in owner.terms.demand_of(owner.run.choice)}


def _events(row: TaskRow, times: Sequence[float]) -> list[dict[str, Any]]:
    facts = {"task_id": row.task_id, "state": row.state}
    end = row.finished_at or time.time()
    return trace_events.of_task(row.name, row.started_at or end, end, "this process", {}, facts, times)
