"""The order of an actor's calls: whichever of the two ways each takes, they run as their caller made them."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.direct_calls import ActorConnection
from nbaccel.local_engine.worker.direct_calls import LEAVE, NOTHING, DirectCallReceiver
from tests.local_engine.head_world import TEMPLATES


class _NoHead:
    def send_later(self, message: Any) -> None:
        raise AssertionError("nothing is sent to the head")

    flush = send_later


class Ways:
    """A caller's and an actor's end of a connection; `queue` is what the head sends."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.line = ActorConnection(b"actor")
        self.line.open(ours)
        self.inbox = DirectCallReceiver(theirs, b"actor", _NoHead())
        self.queue: SimpleQueue[Any] = SimpleQueue()

    def close(self) -> None:
        self.line.sock.close()
        self.inbox.sock.close()

    def direct(self, number: int, task_id: bytes = b"s") -> None:
        assert self.line.wrote_whole([wire.DirectSubmit(task_id, 1, b"", number)])

    def next(self) -> Any:
        return self.inbox.next_of(self.queue)


def answers_to(line: ActorConnection) -> list[bytes]:
    """The calls whose answers have come."""
    line.receive()
    return [done.task_id for answers in line.take() for done in answers or ()]


@pytest.fixture
def ways() -> Iterator[Ways]:
    made = Ways()
    yield made
    made.close()


def test_a_call_of_the_head_waits_for_the_direct_ones_before_it(ways: Ways) -> None:
    ways.queue.put(wire.RunTask(b"h", 1, b"", after=2))
    assert ways.next() is None
    ways.direct(1, b"s1")
    ways.direct(2, b"s2")
    ways.inbox.read()
    assert [ways.next().task_id for _ in range(3)] == [b"s1", b"s2", b"h"]


def test_nothing_of_the_head_overtakes_a_call_that_is_held(ways: Ways) -> None:
    ways.queue.put(wire.RunTask(b"h", 1, b"", after=1))
    ways.queue.put(wire.RunTask(b"other", 1, b""))
    ways.queue.put(None)
    assert ways.next() is None
    ways.direct(1, b"s")
    ways.inbox.read()
    assert [ways.next().task_id for _ in range(3)] == [b"s", b"h", b"other"]
    assert ways.next() is LEAVE


def test_the_end_of_the_caller_lets_what_it_held_back_run(ways: Ways) -> None:
    ways.direct(1, b"s")
    ways.queue.put(NOTHING)
    ways.queue.put(wire.RunTask(b"h", 1, b"", after=7))
    ways.line.sock.close()
    ways.inbox.read()
    ways.inbox.read()
    assert [ways.next().task_id for _ in range(2)] == [b"s", b"h"]
    assert ways.inbox.has_ended
    assert not ways.inbox.trouble


def test_an_answer_that_nobody_takes_leaves_the_calls_that_still_wait_to_be_read(ways: Ways) -> None:
    ways.direct(1, b"s1")
    ways.inbox.read()
    ways.direct(2, b"s2")
    ways.line.stop_reading()
    assert not ways.inbox._send([wire.DirectReply(b"s1", b"x", [])])
    assert not ways.inbox.has_ended
    ways.inbox.read()
    assert [ways.next().task_id for _ in range(2)] == [b"s1", b"s2"]


def test_a_number_that_an_interrupt_repeats_holds_nothing_up(ways: Ways) -> None:
    ways.direct(1, b"s")
    ways.direct(1, b"again")
    ways.queue.put(wire.RunTask(b"h", 1, b"", after=1))
    ways.inbox.read()
    assert {ways.next().task_id for _ in range(3)} == {b"s", b"again", b"h"}


def test_terms_come_on_the_connection_that_uses_them(ways: Ways) -> None:
    terms = TEMPLATES["call"]
    assert ways.line.wrote_whole([wire.DefineTemplate(4, terms), wire.DirectSubmit(b"s", 4, b"", 1)])
    ways.inbox.read()
    assert ways.inbox.templates[4].method == "call"


def test_an_answer_reaches_the_caller_and_one_that_comes_too_late_is_no_trouble(ways: Ways) -> None:
    ways.inbox._send([wire.DirectReply(b"s", b"x", [])])
    assert answers_to(ways.line) == [b"s"]
    ways.line.sock.close()
    assert not ways.inbox._send([wire.DirectReply(b"t", b"x", [])])
    ways.inbox.read()
    assert ways.inbox.has_ended
    assert not ways.inbox.trouble


def test_an_actor_whose_code_closed_its_connection_says_so(ways: Ways) -> None:
    ways.inbox.sock.close()
    ways.inbox._send([wire.DirectReply(b"t", b"x", [])])
    assert "broken" in ways.inbox.trouble


def test_a_full_line_keeps_what_the_socket_does_not_take(ways: Ways) -> None:
    ways.line.outbox.extend(wire.DirectSubmit(b"%d" % number, 1, bytes(50_000), number) for number in range(1, 200))
    assert ways.line.write()
    assert not ways.line.wrote_whole([wire.DirectSubmit(b"late", 1, b"", 200)])
    seen: list[bytes] = []
    while len(seen) < 199:
        ways.inbox.read()
        while (item := ways.next()) is not None:
            seen.append(item.task_id)
        ways.line.write()
    assert seen == [b"%d" % number for number in range(1, 200)]


class OrderMachine(RuleBasedStateMachine):
    """One caller, one actor, a head that delays and drops calls: what runs is in the order in which it was made."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = Ways()
        self.way = self.ways.line
        self.way.templates = {1}
        self.count = 0
        self.at_head: deque[wire.Submit] = deque()  # in order, as the head keeps a caller's calls
        self.ran: list[int] = []
        self.expected: list[int] = []
        self.direct_ones = 0

    def teardown(self) -> None:
        while self.at_head:
            self.head_sends()
        for _ in range(len(self.expected) + 2):
            self.actor_runs()
        self.ways.close()
        assert self.ran == self.expected

    @rule(may=st.booleans())
    def call(self, may: bool) -> None:
        self.count += 1
        task_id = b"%d" % self.count
        self.expected.append(self.count)
        if may and self.way.is_free(1):
            self.way.outbox.append(wire.DirectSubmit(task_id, 1, b"", self.way.sent + 1))
            self.way.sent += 1
            self.direct_ones += 1
        else:
            self.way.went_through_head(task_id, 1)
            self.at_head.append(wire.Submit(task_id, 1, after=self.way.sent))

    @rule()
    def line_is_written(self) -> None:
        self.ways.line.write()

    @precondition(lambda self: bool(self.at_head))
    @rule()
    def head_sends(self) -> None:
        call = self.at_head.popleft()
        self.ways.queue.put(wire.RunTask(call.task_id, 1, b"", after=call.after))

    @precondition(lambda self: bool(self.at_head))
    @rule(data=st.data())
    def head_fails_a_call(self, data: st.DataObject) -> None:
        """An argument failed, or it was cancelled: it never reaches the actor, and others may wait before it."""
        call = data.draw(st.sampled_from(list(self.at_head)))
        self.at_head.remove(call)
        self.expected.remove(int(call.task_id))
        self.way.came_back(call.task_id, has_run=False)

    @rule()
    def actor_runs(self) -> None:
        self.ways.line.write()
        self.ways.inbox.sock.setblocking(False)
        try:
            self.ways.inbox.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            pass
        else:
            self.ways.inbox.read()
        item = self.ways.next()
        if item is not None:
            self.ran.append(int(item.task_id))
            if type(item) is wire.RunTask:
                self.way.came_back(item.task_id, has_run=True)


TestOrderMachine = OrderMachine.TestCase
TestOrderMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
