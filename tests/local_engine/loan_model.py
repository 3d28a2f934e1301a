"""A driver and workers that follow the rules of loans, and a real head: every connection delivers when it is told to.

```
  driver ── said ──► head ── heard ──► driver          each arrow is a line of messages in their order;
  driver ◄── Line ──► worker                           between two lines any order may come about
  worker ── said ──► head ── heard ──► worker
```
The driver's decisions are the real ones (`CallBook`, `Borrowing`); what its threads do with a message is repeated here
in a line or two, and so is what a worker's main thread does. `finish` delivers everything: then nobody may wait.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.borrowing import ENOUGH, Borrowing, LoanWay
from nbaccel.local_engine.client.call_book import TELL_S, CallBook
from nbaccel.local_engine.wire.ids import return_id, task_of
from tests.local_engine.head_world import TEMPLATES, FakeWorker, HeadWorld

TASK = list(TEMPLATES).index("task")  # one CPU, one retry
VALUE = wire.Value(wire.OK, b"x")
END = None  # of a connection


class Line:
    """A connection between the driver and a worker on loan."""

    def __init__(self) -> None:
        self.to_worker: deque[Any] = deque()
        self.to_driver: deque[Any] = deque()
        self.taken = -1
        self.sock = self  # as the driver knows it

    def shutdown(self, how: int) -> None:
        self.to_worker.append(END)


class Running:
    """A task that a worker runs."""

    def __init__(self, task_id: bytes, call: wire.StraightCall | None) -> None:
        self.task_id = task_id
        self.call = call  # of a task that came straight
        self.is_told = False
        self.waits_for = b""  # an object
        self.is_cancelled = False


class ModelWorker:
    """What a worker does between its connections."""

    def __init__(self, world: LoanModel, fake: FakeWorker) -> None:
        self.world, self.fake = world, fake
        self.heard: deque[Any] = deque()
        self.said: deque[Any] = deque([wire.DefineTemplate(TASK, TEMPLATES["task"])])
        self.loan_id = b""
        self.line: Line | None = None
        self.taken = 0
        self.running: Running | None = None
        self.cancelled: set[bytes] = set()

    @property
    def is_alive(self) -> bool:
        return self.fake.status is None

    def hears(self, message: Any) -> None:
        """Its reader thread has a message from the head."""
        if type(message) in (wire.RunTask, wire.Lent, wire.EndLoan):
            self.heard.append(message)
        elif type(message) is wire.RunTasks:
            both = zip(message.task_ids, message.args, strict=True)
            self.heard += [wire.RunTask(id, message.template, args) for id, args in both]
        elif type(message) is wire.Recall:
            back = [each for each in self.heard if type(each) is wire.RunTask]
            self.heard = deque(each for each in self.heard if each not in back)
            self.said.append(wire.GivenBack([each.task_id for each in back]))
        elif type(message) is wire.Interrupt:
            self.cancelled.add(message.task_id)
            if self.running is not None and self.running.task_id == message.task_id:
                self._wakes()
        elif type(message) is wire.ObjectValue and self.running and self.running.waits_for == message.object_id:
            self._wakes()

    def _wakes(self) -> None:
        if self.running is not None and self.running.waits_for:
            self.running.waits_for = b""
            self.said.append(wire.Unblocked())

    @property
    def may_take(self) -> bool:
        return self.is_alive and self.running is None and bool(self.heard or (self.line and self.line.to_worker))

    def takes(self) -> None:
        """Its main thread has nothing to run: the head's word comes first."""
        if self.heard:
            item = self.heard.popleft()
            if type(item) is wire.RunTask:
                self.running = Running(item.task_id, None)
            elif type(item) is wire.EndLoan:
                if item.loan_id == self.loan_id:
                    self.ends_loan()
            else:
                if self.line is not None:
                    self.ends_loan()
                self.loan_id, self.line, self.taken = item.loan_id, self.world.lines[item.loan_id], 0
            return
        assert self.line is not None
        item = self.line.to_worker.popleft()
        if item is END:
            self.ends_loan()
            return
        self.taken = item.straight
        call = wire.StraightCall(item.task_id, TASK, self.loan_id, 1.0, args=item.args)
        self.running = Running(item.task_id, call)

    def ends_loan(self) -> None:
        assert self.line is not None
        self.line.to_driver += [wire.LineEnd(self.taken), END]
        self.line.to_worker.clear()
        self.line = None
        self.said.append(wire.LoanOver(self.loan_id))
        self.loan_id = b""

    @property
    def may_go_on(self) -> bool:
        return self.is_alive and self.running is not None and not self.running.waits_for

    def asks(self) -> bytes:
        """The task submits another one and waits for it."""
        running = self.running
        assert running is not None
        self._tells(running)
        child = self.world.new_id()
        running.waits_for = return_id(child, 0)
        self.said += [
            wire.Submit(child, TASK, b"", parent=running.task_id),
            wire.Blocked(),
            wire.Want([running.waits_for]),
        ]
        return child

    def _tells(self, running: Running) -> None:
        if running.call is not None and not running.is_told:
            running.is_told = True
            self.said.append(wire.CallTold(running.call))

    def ends(self, *, is_large: bool = False) -> None:
        """The task returns, or raises because it was cancelled."""
        running, self.running = self.running, None
        assert running is not None
        failed = running.task_id in self.cancelled
        value = wire.Value(wire.RAISED, b"x") if failed else VALUE
        note = "cancelled" if failed else ""
        done = wire.Done(running.task_id, [wire.ReturnValue(value)], failed=failed, note=note, times=[1.0, 2.0])
        if running.call is not None and not (running.is_told or is_large or failed):
            assert self.line is not None
            self.line.to_driver.append(done)
            return
        self._tells(running)
        self.said.append(done)
        if running.call is not None:
            assert self.line is not None
            self.line.to_driver.append(wire.Done(running.task_id, []))

    def speaks(self) -> None:
        self.fake.sock.send(wire.frame([self.said.popleft()]))
        self.world.settle()

    def dies(self) -> None:
        """What it has written is read first."""
        while self.said and self.is_alive:
            self.speaks()
        if self.is_alive:
            self.world.dies(self.fake)
            self.world.settle()

    def is_gone(self) -> None:
        """Its connections have ended with it."""
        if self.line is not None:
            self.line.to_driver.append(END)
            self.line = None
        self.running = None
        self.heard.clear()
        self.said.clear()


class LoanModel(HeadWorld):
    """A head whose driver sends lone tasks, some of them straight to a worker on loan."""

    def __init__(self) -> None:
        self.crew: dict[bytes, ModelWorker] = {}
        self.said: deque[Any] = deque()
        self.heard: deque[Any] = deque()
        self.lines: defaultdict[bytes, Line] = defaultdict(Line)  # by loan
        self.here: dict[bytes, int] = {}  # object -> status, as the driver knows it
        self.private: set[bytes] = set()
        self.sent: list[bytes] = []  # tasks of the driver
        self.dropped: set[bytes] = set()  # those whose refs have ended
        self.children: list[bytes] = []
        self.half_taken: list[wire.Done] = []  # the answer whose first half the thread has dealt with
        self.time = 100.0
        self.lost: str | None = None
        world: Any = self  # the link, the holdings and the values, as far as loans need them
        self.book = CallBook(self.said.append, clock=lambda: self.time)
        self.borrowing = Borrowing(world, world, world, self.book, self._close, clock=lambda: self.time)
        borrower = self.borrowing.borrower(TASK, TEMPLATES["task"])
        assert borrower is not None
        self.borrower = borrower
        super().__init__()
        self.sends()  # and so there is an idle worker
        self.finish_all()

    def new_id(self) -> bytes:
        return self._ids.task_id()

    # ---- the driver's link, holdings and values

    def say_later(self, message: Any) -> None:
        self.said.append(message)

    def say(self, *messages: Any) -> None:
        if not messages or type(messages[0]) is wire.Ask:
            self.said += messages
        else:
            super().say(*messages)

    def flush(self) -> None:
        """What was said waits to be delivered."""

    def expects_some(self) -> bool:
        return False

    def known_here(self, id: bytes) -> wire.Value | None:
        return VALUE if id in self.here else None

    def publish(self, id: bytes) -> None:
        self.private.discard(id)
        if task_of(id) in self.dropped:
            self.said.append(wire.Releases([id]))

    def drops(self, task_id: bytes) -> None:
        """The last ref to its result ends."""
        id = return_id(task_id, 0)
        self.dropped.add(task_id)
        if id in self.private:
            self.private.discard(id)
        else:
            self.said.append(wire.Releases([id]))

    def _close(self, way: LoanWay) -> None:
        line: Any = way.line
        way.line = None
        line.to_worker.append(END)
        line.to_driver.clear()

    # ---- what arrives

    def _driver_heard(self, message: Any) -> None:
        if type(message) in (wire.Connected, wire.ObjectValue):
            self.heard.append(message)

    def _worker_heard(self, worker: FakeWorker, message: Any) -> None:
        if type(message) is wire.Exit:
            super()._worker_heard(worker, message)
        else:
            self._crew_of(worker).hears(message)

    def dies(self, worker: FakeWorker, status: int = 9) -> None:
        super().dies(worker, status)
        self._crew_of(worker).is_gone()

    def _crew_of(self, fake: FakeWorker) -> ModelWorker:
        if fake.worker_id not in self.crew:
            self.crew[fake.worker_id] = ModelWorker(self, fake)
        return self.crew[fake.worker_id]

    # ---- what the driver does

    def borrow(self) -> None:
        """Lone tasks have followed each other."""
        self.time += 5.0
        for _ in range(ENOUGH + 1):
            self.time += 0.001
            self.borrower.way_now()

    def sends(self) -> None:
        """Its main thread submits a task."""
        task_id = self.new_id()
        message = wire.Submit(task_id, TASK, b"")
        self.sent.append(task_id)
        self.time += 0.001
        way: Any = self.borrower.way if self.borrower.way is not None and self.borrower.way.line is not None else None
        if way is None or not self.borrowing.takes(way, message):
            self.said.append(message)
            return
        self.private.add(return_id(task_id, 0))
        message.straight = way.sent + 1
        call = self.book.begins(task_id, TASK, way.actor_id, way, message.straight, b"args")
        way.last, way.used_at = task_id, self.time
        way.line.to_worker.append(message)
        way.sent = message.straight
        call.sent = True

    def asks(self) -> None:
        """Its main thread is about to ask the head something."""
        self.book.tell()
        self.borrowing.give_back_idle()

    def cancels(self, task_id: bytes) -> None:
        self.asks()
        self.said.append(wire.Cancel(task_id, False, True))

    def looks(self, after_s: float) -> None:
        """Its thread has been woken."""
        self.time += after_s
        self.goes_on()
        self.borrowing.thread_looks(self.time)
        self.book.tell(TELL_S)

    def lines_with_news(self) -> list[LoanWay]:
        ways = list(self.borrowing.open.values())
        return [way for way in ways if way.line is not None and self.lines[way.actor_id].to_driver]

    def peeks(self, way: LoanWay) -> None:
        """A thread that waits for the task reads the answer, which its own thread takes later."""
        done = self.lines[way.actor_id].to_driver[0]
        if type(done) is wire.Done and done.results and done.task_id == way.last:
            self.here[return_id(done.task_id, 0)] = done.results[0].value.status

    def reads(self, way: LoanWay) -> None:
        """Its thread takes what a worker has sent."""
        self.goes_on()
        line: Any = way.line
        if line is None or not line.to_driver:
            return
        item = line.to_driver.popleft()
        if item is END:
            way.line = None
            self.borrowing.thread_ends(way, line)
        elif type(item) is wire.LineEnd:
            line.taken = item.taken
        else:
            if not item.results:
                self.borrowing.thread_passes(way)
                self.publish(return_id(item.task_id, 0))
            self.half_taken.append(item)
            if item.results:
                self.goes_on()

    def goes_on(self) -> None:
        """Its thread deals with the second half of an answer: other threads may have come between the two."""
        if self.half_taken:
            done = self.half_taken.pop()
            id = return_id(done.task_id, 0)
            call = self.book.returned(done, lambda value: self.here.__setitem__(id, value.status))
            if call is not None and done.results:
                self.borrowing.thread_answered(call.way)

    def hears(self) -> None:
        """Its link's thread takes what the head has sent."""
        message = self.heard.popleft()
        if type(message) is wire.Connected:
            way: Any = self.borrowing.asked[message.actor_id]
            self.borrowing.thread_connected(way)
            way.line = self.lines[message.actor_id]
            return
        id = message.object_id
        call = self.book.find(task_of(id))
        if call is None and id in self.private:
            return
        if call is not None:
            call.answered = True
            if call.way.line is None:
                self.book.failed(call.call.task_id)
            self.publish(id)
        self.here[id] = message.value.status

    def speaks(self) -> None:
        super().say(self.said.popleft())
        self.settle()

    # ---- all of it

    def _fork(self) -> bool:
        forked = super()._fork()
        for fake in list(self.workers.values()):
            self._crew_of(fake)
        return forked

    def alive(self) -> list[ModelWorker]:
        return [worker for worker in self.crew.values() if worker.is_alive]

    def step(self) -> bool:
        """Deliver and do one of everything; False if there was nothing."""
        something = False
        for side in [self, *self.alive()]:
            if side.said:
                side.speaks()
                something = True
        if self.heard:
            self.hears()
            something = True
        for way in self.lines_with_news():
            self.reads(way)
            something = True
        for worker in self.alive():
            if worker.may_go_on:
                worker.ends()
                something = True
            if worker.may_take:
                worker.takes()
                something = True
        return something

    def finish_all(self) -> None:
        """Everything is delivered and done."""
        quiet = 0
        while quiet < 3:
            self.asks()
            self.looks(1.0)
            quiet = 0 if self.step() else quiet + 1

    def waiting(self) -> list[bytes]:
        """Tasks whose results never came."""
        children = [child for child in self.children if not self._is_over(child)]
        wanted = [task_id for task_id in self.sent if task_id not in self.dropped]
        return [task_id for task_id in wanted if return_id(task_id, 0) not in self.here] + children

    def held(self) -> set[bytes]:
        """Tasks of the driver whose results the head keeps."""
        self.parts.flush()
        return {task_of(id) for id in self.parts.objects.records} & set(self.sent)

    def _is_over(self, task_id: bytes) -> bool:
        record = self.parts.scheduler.task_record(task_id)
        return record is not None and record.over

    @property
    def free_cpus(self) -> int:
        (node_id,) = self.parts.scheduler.node_ids()
        return self.parts.scheduler.node_available(node_id)["CPU"] // 10_000

    @property
    def refused(self) -> list[str]:
        return [line for line in self.parts.note.lines if "refused" in line or "Error" in line]

    def plain_task(self) -> wire.Submit:
        """A task that goes through the head."""
        self.sent.append(self.new_id())
        return wire.Submit(self.sent[-1], TASK, b"")
