"""A real head in this process, with workers, a driver and a clock that are made up: every order is really carried out.

The machine has two devices that count as real, so that leases are taken. Workers exist as connections only; a pid of
theirs belongs to no process. `fault` makes the next order of a kind raise at one of the calls that it makes.
"""

from __future__ import annotations

import builtins
import inspect
import os
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from nbaccel import accelerators
from nbaccel.accelerators import DeviceKind
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.devices.node_devices import head_spec, offered_of
from nbaccel.local_engine.head.loop import Head
from nbaccel.local_engine.side_processes.zygote import Order
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.quantities import UNIT
from nbaccel.scheduling.terms import ActorTerms, Choice, TaskKind, Terms
from nbaccel.views.observer_lines import Question
from nbaccel.views.snapshot import Snapshot

FIRST_PID = 5_000_000  # above what the kernel gives
KILLED, LEFT = 9, 0  # wait statuses
_ABOUT_PROCESSES = ("kill_sessions", "kill_group", "kill_orphans", "descends_from")
_GUARDS = {"RetryUntilSuccess", "FailedCommands", "_failed", "_in_words"}  # what catches, and what answers
_HERE = str(Path(__file__).parent)


class Fault(Exception):
    """What an order runs into."""


class FakeWorker:
    """The other end of a worker's connection."""

    def __init__(self, worker_id: bytes, pid: int, sock: socket.socket) -> None:
        self.worker_id, self.pid, self.sock = worker_id, pid, sock
        self.reader = framing.FrameReader(wire.decode_to_client)
        self.runs: list[wire.RunTask] = []
        self.status: int | None = None  # how it ended, once it has


class _NoOutputs:
    """Workers that print nothing."""

    def open(self, worker: Any) -> tuple[int, int]:
        return os.open(os.devnull, os.O_WRONLY), os.open(os.devnull, os.O_WRONLY)

    def last_lines(self, worker: Any) -> str:
        return ""

    def drain(self, then: Callable[[], None]) -> None:
        then()


class HeadWorld:
    """Owns the head; `settle` lets everything happen that can happen now."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="nb-world-")
        self._environ = dict(os.environ)
        self._processes = {name: getattr(process, name) for name in _ABOUT_PROCESSES}
        os.environ["NBACCEL_LEASE_DIR"] = os.path.join(self.folder, "leases")
        self._now = 1000.0  # it stands still but for jumps: what is due does not depend on how fast the machine is
        process.kill_sessions = self._kill
        process.kill_group = lambda group: None  # type: ignore[assignment]
        process.kill_orphans = lambda sessions, dead, living: None  # type: ignore[assignment]
        process.descends_from = lambda pid, parent: pid in self.workers
        zygote, self._zygote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._arena = os.memfd_create("nbaccel-test-arena")
        options: dict[str, object] = {"num_cpus": 2}
        config = Config("world", self.folder, 1 << 20, options, token="t")
        self.head = Head(config, self._arena, zygote, clock=lambda: self._now)
        self.wiring = self.head.wiring
        self.wiring.outputs = self.wiring.workers._pipes = _NoOutputs()  # type: ignore[assignment]
        self._zygote.setblocking(False)
        self.workers: dict[int, FakeWorker] = {}
        self._helpers: list[int] = []  # connections of processes that never answer
        self.values: dict[bytes, int] = {}  # object -> its status, as the driver knows it
        self.streams: dict[bytes, bool] = {}  # task -> whether its end was told
        self.newest: Snapshot | None = None  # that the driver was sent while it watches
        self.expected: list[bytes] = []  # objects that the driver waits for
        self.submitted: list[bytes] = []
        self.actors: list[bytes] = []
        self.groups: list[bytes] = []
        self.fault_fired = 0
        self._add_node()
        self._join()
        self.settle()

    # ---- making

    def _add_node(self) -> None:
        nodes, setup = self.wiring.nodes, self.wiring.devices.setup
        nodes.detection = accelerators.detect(setup._machine, simulate="nvidia:2xH100")
        offered = offered_of(nodes.detection, {}, setup._machine.environ)
        offered.devices = {
            name: [msgspec.structs.replace(device, kind=DeviceKind.REAL) for device in devices]
            for name, devices in offered.devices.items()
        }
        nodes.add(head_spec(nodes, offered, setup._options, setup._arena_bytes), offered)

    def _join(self) -> None:
        theirs, self._driver = socket.socketpair()
        self.head.authentication.let_in(theirs, is_our_driver=True)
        self._reader = framing.FrameReader(wire.decode_to_client)
        python = "{}.{}".format(*sys.version_info)
        self.send(wire.Hello("driver", "t", os.getpid(), wire.VERSION, python, sys.prefix))
        self.wiring.poll.once()
        body, fds, _flags, _address = socket.recv_fds(self._driver, 65536, 4)
        for fd in fds:
            os.close(fd)
        (welcome,) = self._reader.feed(body)
        self._ids = IdMaker(welcome.job)
        self._driver.setblocking(False)
        self.send(wire.DefineFunction(b"f", b"", "f"))
        for number, template in enumerate(TEMPLATES.values()):
            self.send(wire.DefineTemplate(number, template))

    # ---- the driver

    def send(self, *messages: Any) -> None:
        self._driver.send(wire.frame(list(messages)))

    def submit(self, name: str, after: bytes | None = None, actor_id: bytes = b"") -> bytes:
        task_id = self._ids.task_id()
        slots: list[Any] = [(0, return_id(after, 0))] if after is not None else []
        self.send(wire.Submit(task_id, list(TEMPLATES).index(name), b"", slots, actor_id=actor_id))
        if TEMPLATES[name].kind is CREATION:
            return task_id
        self.submitted.append(task_id)
        self.expected += [return_id(task_id, index) for index in range(max(1, TEMPLATES[name].num_returns))]
        if TEMPLATES[name].num_returns == wire.STREAMING:
            self.streams[task_id] = False
        self.settle()
        return task_id

    def submit_together(self, name: str, number: int) -> list[bytes]:
        """Submit so many in one frame, without arguments."""
        ids = [self._ids.task_id() for _ in range(number)]
        self.send(*(wire.Submit(id, list(TEMPLATES).index(name)) for id in ids))
        self.submitted += ids
        self.expected += [return_id(id, 0) for id in ids]
        self.settle()
        return ids

    def create_actor(self, name: str) -> bytes:
        actor_id = self._ids.actor_id()
        self.actors.append(actor_id)
        self.submit(name, actor_id=actor_id)
        self.settle()
        return actor_id

    def ask(self, request: int, question: Question[Any]) -> None:
        self.send(wire.QuestionMessage(request, question.tag(), question.body()))

    def ask_for_group(self) -> None:
        group_id = os.urandom(16)
        self.groups.append(group_id)
        ready = self._ids.put_id()
        self.ask(1, asks.CreateGroup(group_id, [{"CPU": 1.0, "GPU": 1.0}], "PACK"))
        self.ask(2, asks.WhenGroupReady(group_id, ready, b""))
        self.expected.append(ready)
        self.settle()

    def _driver_heard(self, message: Any) -> None:
        if type(message) is wire.ObjectValue:
            self.values[message.object_id] = message.value.status
        elif type(message) is wire.ObjectValues:
            self.values |= dict.fromkeys(message.object_ids, wire.OK)
        elif type(message) is wire.ObjectReady:
            self.send(wire.Want(message.object_ids))
        elif type(message) is wire.StreamEnd:
            self.streams[message.task_id] = True
        elif type(message) is wire.SnapshotMessage:
            self.newest = msgspec.msgpack.decode(message.body, type=Snapshot)

    def watch(self) -> None:
        """The driver looks on from now on."""
        (peer,) = (peer for peer in self.wiring.peers.values() if peer.role == "driver")
        self.wiring.watchers.watch(peer, wire.Watch(on=True, metrics=False))
        self.shown()

    def shown(self) -> dict[str, int]:
        """How many tasks are in which state, as the newest snapshot says it a moment later."""
        self.jump(0.3)
        assert self.newest is not None
        return {state: number for state, number in self.newest.counts.items() if number}

    # ---- the workers

    def running(self) -> list[FakeWorker]:
        return [worker for worker in self.workers.values() if worker.runs and worker.status is None]

    def returns(self, worker: FakeWorker, *, failed: bool = False) -> None:
        run = worker.runs.pop(0)
        record = self.wiring.scheduler.task_record(run.task_id)
        returns = record.task.terms.returns if record is not None else 1
        value = wire.Value(wire.RAISED if failed else wire.OK, b"x")
        results = [wire.ReturnValue(value) for _ in range(max(1, returns))]
        worker.sock.send(wire.frame([wire.Done(run.task_id, results, failed=failed, note="ValueError" * failed)]))
        self.settle()

    def return_together(self, worker: FakeWorker, number: int) -> None:
        """A worker says in one frame that so many of its tasks have ended well, each at once."""
        runs, worker.runs = worker.runs[:number], worker.runs[number:]
        if not runs or worker.status is not None:
            return
        results = [wire.ReturnValue(wire.Value(wire.OK, b"x"))]
        worker.sock.send(wire.frame([wire.Done(run.task_id, results, times=[5.0, 5.0, 5.0, 5.0]) for run in runs]))
        self.settle()

    def dies(self, worker: FakeWorker, status: int = KILLED) -> None:
        if worker.status is None:
            worker.status = status
            worker.sock.close()

    def _kill(self, pids: set[int]) -> None:
        for pid in pids & set(self.workers):
            self.dies(self.workers[pid])

    def _worker_heard(self, worker: FakeWorker, message: Any) -> None:
        if type(message) is wire.RunTask:
            worker.runs.append(message)
        elif type(message) is wire.RunTasks:
            worker.runs += [wire.RunTask(id, message.template, args) for id, args in _pairs(message)]
        elif type(message) is wire.Recall:
            back, worker.runs = worker.runs[1:], worker.runs[:1]
            worker.sock.send(wire.frame([wire.GivenBack([run.task_id for run in back])]))
        elif type(message) is wire.Exit:
            self.dies(worker, LEFT)

    def _fork(self) -> bool:
        try:
            body, fds, _flags, _address = socket.recv_fds(self._zygote, 65536, 8)
        except BlockingIOError:
            return False
        order = msgspec.msgpack.decode(body, type=Order)
        if order.role != "worker":
            self._helpers += fds
            return True
        sock = socket.socket(fileno=fds[0])
        sock.setblocking(False)
        for fd in fds[1:]:
            os.close(fd)
        worker = FakeWorker(order.id, FIRST_PID + len(self.workers), sock)
        self.workers[worker.pid] = worker
        try:
            sock.send(wire.frame([wire.WorkerHello(worker.worker_id, worker.pid)]))
        except OSError:
            self.dies(worker)
        return True

    # ---- time

    def settle(self) -> None:
        """Go on until nobody has anything to say."""
        quiet = 0
        while quiet < 3:
            self.wiring.poll.at(self._now, lambda: None)
            try:
                self.wiring.poll.once()
                self.wiring.flush()
            except Fault:
                pass  # as in the head's own loop
            self.wiring.scheduler.check()
            quiet = 0 if self._everybody_reads() else quiet + 1

    def _everybody_reads(self) -> bool:
        something = False
        while self._fork():
            something = True
        for message in _read(self._driver, self._reader) or ():
            self._driver_heard(message)
            something = True
        for worker in list(self.workers.values()):
            something |= self._worker_reads(worker)
        return something

    def _worker_reads(self, worker: FakeWorker) -> bool:
        if worker.status is None:
            messages = _read(worker.sock, worker.reader)
            if messages is None:
                self.dies(worker)  # the head has closed its connection
            for message in messages or ():
                self._worker_heard(worker, message)
            return bool(messages)
        known = self.wiring.workers.by_pid.get(worker.pid)
        if known is not None and known.status is None:
            self.wiring.retry_until_success(lambda: self.wiring.workers._reaped(known, worker.status or 0))
            return True
        return False

    def jump(self, seconds: float) -> None:
        self._now += seconds
        self.settle()

    # ---- faults

    @contextmanager
    def fault(self, kind: type, call: int) -> Iterator[None]:
        """The next order of this kind raises at its call-th call, or when it is done if it makes fewer."""
        acts = self.wiring.orders._acts
        act = acts[kind]

        def raising(command: Any) -> None:
            acts[kind] = act
            self.fault_fired += 1
            sys.setprofile(_Counter(call))
            try:
                act(command)
            finally:
                sys.setprofile(None)
            raise Fault("at the end")

        acts[kind] = raising
        try:
            yield
        finally:
            acts[kind] = act

    # ---- the end

    def finish(self) -> None:
        """Everything ends as it would: workers work, actors and groups give back what they keep, results are read."""
        self._work_on()
        for actor_id in self.actors:
            self.send(wire.KillActor(actor_id))
        for group_id in self.groups:
            self.ask(3, asks.RemoveGroup(group_id))
        self.settle()
        self._work_on()
        self.send(wire.Want([id for id in self.expected if id not in self.values]))
        for _ in range(4):
            self.jump(20.0)

    def _work_on(self) -> None:
        idle = 0
        while idle < 6:  # what is tried again is tried within seconds
            for worker in self.running():
                self.returns(worker)
                idle = 0
            self.jump(1.0)
            idle += 1

    def let_go(self) -> None:
        """The driver holds nothing any more."""
        streamed = [return_id(task_id, index) for task_id in self.streams for index in range(1, 4)]
        self.send(wire.DropRef([*self.expected, *streamed, *self.actors]))
        self.settle()

    def end(self) -> None:
        for worker in self.workers.values():
            worker.sock.close()
        for peer in list(self.wiring.peers.values()):
            self.wiring.connections.drop(peer)
        self.wiring.zygotes.close()
        for role in (self.wiring.devices.prober, self.wiring.store._mover):
            role.close()
        for fd in [*self._helpers, self._arena]:
            os.close(fd)
        self._driver.close()
        self._zygote.close()
        self.wiring.poll.close()
        for name, function in self._processes.items():
            setattr(process, name, function)
        os.environ.clear()
        os.environ.update(self._environ)

    @property
    def leases(self) -> list[str]:
        return [path.name for path in Path(self.folder, "leases").iterdir() if path.read_bytes()]


class _Counter:
    """A profiler that raises at one of the calls that our code makes."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event not in ("call", "c_call") or "/local_engine/" not in frame.f_code.co_filename:
            return
        if event == "c_call" and _is_of_memory(argument):
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            return  # it may be the end of one that was left early: what that raises reaches nobody
        if frame.f_code.co_qualname.split(".")[0] in _GUARDS or frame.f_code.co_filename.startswith(_HERE):
            return
        self._left -= 1
        if self._left < 0:
            sys.setprofile(None)
            raise Fault(f"at {frame.f_code.co_qualname}, line {frame.f_lineno} of {frame.f_code.co_filename}")


def _is_of_memory(function: object) -> bool:
    """Whether it is a method of a dict, a list, …, or a built-in function: such do not fail; nor does `close`."""
    owner = getattr(function, "__self__", None)
    return (
        getattr(function, "__name__", "") == "close"
        or isinstance(owner, (dict, list, set, deque, bytes, bytearray, str, type))
        or owner is builtins
    )


def _pairs(message: wire.RunTasks) -> zip[tuple[bytes, bytes]]:
    return zip(message.task_ids, message.args, strict=True)


def _read(sock: socket.socket, reader: framing.FrameReader) -> list[Any] | None:
    messages: list[Any] = []
    while True:
        try:
            data = sock.recv(1 << 20)
        except BlockingIOError:
            return messages
        except OSError:
            return None
        if not data:
            return messages or None
        messages += reader.feed(data)


def _asks(**amounts: float) -> tuple[Choice, ...]:
    return (Choice(tuple((name, round(amount * UNIT)) for name, amount in sorted(amounts.items()))),)


TASK, CREATION = TaskKind.TASK, TaskKind.ACTOR_CREATION
TEMPLATES = {
    "task": Terms("task", TASK, function_key=b"f", choices=_asks(CPU=1), max_retries=1),
    "pair": Terms("pair", TASK, function_key=b"f", choices=_asks(CPU=1), num_returns=2, max_retries=0),
    "train": Terms(
        "train", TASK, function_key=b"f", choices=_asks(CPU=1, GPU=1), fresh=True, max_calls=1, max_retries=0
    ),
    "half": Terms("half", TASK, function_key=b"f", choices=_asks(GPU=0.5), max_retries=1),
    "stream": Terms("stream", TASK, function_key=b"f", choices=_asks(CPU=1), num_returns=wire.STREAMING, max_retries=0),
    "actor": Terms(
        "Actor.__init__",
        CREATION,
        function_key=b"f",
        choices=_asks(CPU=1),
        actor=ActorTerms(lasting=(), max_restarts=1),
    ),
    "learner": Terms("Learner.__init__", CREATION, function_key=b"f", choices=_asks(GPU=1)),
    "call": Terms("Actor.call", TaskKind.ACTOR_CALL, choices=_asks(), method="call"),
}
