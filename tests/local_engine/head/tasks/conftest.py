"""What the tasks' room is given in tests: real books, a scheduler that only listens, peers without processes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.records import Environments, Job, TaskEntry, WorkerProcess
from nbaccel.local_engine.head.tasks.flow import StreamRelay
from nbaccel.local_engine.head.tasks.submissions import Arguments, Functions, SubmissionIntake
from nbaccel.local_engine.wire.ids import IdMaker
from nbaccel.scheduling.terms import Task
from tests.local_engine.head.seams import Outbox, outbox
from tests.local_engine.head_world import TEMPLATES

DRIVER, WORKER = 1, 2
JOB = 1


class Room:
    """A driver (client 1) and a worker (client 2); `receive` says something, `events` is what the scheduler learned."""

    def __init__(self, out: Outbox) -> None:
        self.out = out
        self.objects, self.environments = ObjectTables(), Environments()
        self.functions = Functions(self.objects, out.peers, out.send)
        self.events: list[Any] = []
        self.records: dict[bytes, Any] = {}
        self.scheduler: Any = SimpleNamespace(task_record=self.records.get)
        self.filled: list[tuple[bytes, wire.Value]] = []
        self.were_read: list[bytes] = []
        self.broken: list[tuple[bytes, bytes]] = []  # task, argument
        self.created: list[bytes] = []
        self.driver, self.peer = out.add(DRIVER), out.add(WORKER, "worker")
        self.driver.job = JOB
        self.worker = WorkerProcess(b"w" * 28, b"n", self.peer, None)
        self.peer.worker = self.worker
        self.arguments = Arguments(self.objects)
        hello = wire.Hello("driver", "", 1, wire.VERSION, "3.12", "/usr", infeasible="raise")
        self.jobs = {JOB: Job(JOB, DRIVER, hello, "", name="a.ipynb")}
        self.submissions = SubmissionIntake(
            self.objects, self.arguments, self.functions, self.environments, self.jobs, self.events.append, self,
            fill=lambda id, value, refs, owner: self.filled.append((id, value)), read=self.were_read.extend,
            cancelled=lambda task_id: None,
            actor_submitted=lambda peer, entry, task: self.created.append(entry.submit.actor_id),
            zygote_for=lambda prefix, python: prefix, is_shared=True,
        )  # fmt: skip
        self.streams = StreamRelay(
            self.scheduler, self.objects, out.peers, {self.worker.worker_id: self.worker}, out.send,
            self.events.append, fill=lambda id, value, refs, owner: self.filled.append((id, value)),
            filled=lambda value, client: None, placed=lambda id, node: None,
        )  # fmt: skip
        self.handlers = {
            **self.submissions.handlers(), **self.streams.of_clients(), **self.streams.of_workers()
        }  # fmt: skip
        self._ids = IdMaker(JOB)
        for number, terms in enumerate(TEMPLATES.values()):
            self.receive(self.driver, wire.DefineTemplate(number, terms))

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None:
        self.broken.append((task.task_id, id))

    def receive(self, peer: Peer, message: Any) -> list[Any]:
        """What the scheduler is told of it."""
        self.handlers[type(message)](peer, message)
        events, self.events[:] = list(self.events), []
        return events

    def submit(self, name: str, *arguments: bytes, refs: tuple[bytes, ...] = (), actor_id: bytes = b"") -> Any:
        """Have the driver submit a task; the Task that the scheduler is told of."""
        slots: list[Any] = list(enumerate(arguments))
        message = wire.Submit(
            self._ids.task_id(), list(TEMPLATES).index(name), b"", slots, list(refs), actor_id=actor_id
        )
        (event, *others) = self.receive(self.driver, message)
        self.others = others
        return event.tasks[0]

    def runs(self, name: str) -> bytes:
        """Submit a task that the worker runs; its id."""
        task = self.submit(name)
        entry: TaskEntry = task.payload
        entry.worker_id = self.worker.worker_id
        self.records[task.task_id] = SimpleNamespace(task=task, over=False, hold=None)
        return bytes(task.task_id)

    def there(self, id: bytes, value: wire.Value) -> bytes:
        """An object that has come, and that the driver holds."""
        ledger.promise(self.objects, id, DRIVER)
        ledger.fill(self.objects, id, value, [])
        return id


@pytest.fixture
def room() -> Iterator[Room]:
    with outbox() as out:
        yield Room(out)
