"""A thread that waits reads a reply itself: nothing is torn, lost or taken twice, wherever it is interrupted."""

from __future__ import annotations

import dis
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client import direct_calls, values
from nbaccel.local_engine.client.direct_calls import ActorConnection, InlineReads, OpenCall
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.wire.ids import return_id
from tests.rig import wait_until

TASK, OTHER = b"t" * 24, b"o" * 24
ID = return_id(TASK, 0)


def frame(*task_ids: bytes) -> bytes:
    """The replies to these calls in one frame."""
    return bytes(wire.frame([wire.DirectReply(task_id, b"\x00value", []) for task_id in task_ids]))


class Caller:
    """One call that is under way, its line, and what our thread would do, one look at a time."""

    def __init__(self) -> None:
        self._ends = socket.socketpair()
        self.link = Link(self._ends[0], on_lost=lambda why: None)
        self.values = Values(self.link, ReferenceCounts(self.link), -1)
        ours, self.actor = socket.socketpair()
        self.line = ActorConnection(b"actor")
        self.line.open(ours)
        self.call = OpenCall(TASK, ID, 1, self.line, 0.0)
        self.reads = InlineReads(self.values)
        self.reads.add(self.line)
        self.values.others_wait = self.reads.others_wait
        self.values.expect((ID,))
        self.taken: list[bytes] = []
        self.ended = False

    def read_here(self) -> bool:
        return self.reads.read(ID, self.call)

    def look(self) -> None:
        """One look of our thread."""
        for fd, _kind in self.reads.poll(0.0):
            if not self.reads.is_bell(fd):
                self.reads.receive(self.line)
                self._take(self.line)
        for line in self.reads.take_received():
            self._take(line)

    def _take(self, line: ActorConnection) -> None:
        for answers in line.take():
            self.ended = self.ended or answers is None
            self.taken += [done.task_id for done in answers or ()]
            for done in answers or ():
                self.values.note(return_id(done.task_id, 0), wire.Value(wire.OK, b"\x00value"))

    def close(self) -> None:
        self.reads.close()
        for sock in (*self._ends, self.line.sock, self.actor):
            sock.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    made.close()


def test_whoever_waits_has_the_value_and_our_thread_takes_the_answer_once(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    assert caller.values.known_here(ID) is not None
    assert caller.taken == []
    caller.look()
    caller.look()
    assert caller.taken == [TASK]


def test_the_next_answer_is_read_by_our_thread_if_nobody_waits_any_more(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    caller.look()
    caller.actor.sendall(frame(OTHER))
    caller.look()
    assert caller.taken == [TASK, OTHER]


def test_our_thread_reads_nothing_while_somebody_waits(caller: Caller) -> None:
    caller.line.left_until = float("inf")
    caller.reads._left[caller.line] = None
    caller.actor.sendall(frame(TASK))
    caller.look()
    assert not caller.line.came


@pytest.mark.parametrize(
    "data",
    [frame(TASK, OTHER), frame(OTHER), frame(TASK)[:7], b"\xff\xff\xff\x7f"],
    ids=["two", "another", "a part", "no frame"],
)
def test_what_is_not_just_the_one_answer_is_left_to_our_thread(caller: Caller, data: bytes) -> None:
    caller.actor.sendall(data)
    assert not caller.read_here()
    assert not caller.values.known_here(ID)
    assert not caller.line.is_clear
    assert any(caller.reads.is_bell(fd) for fd, _kind in caller.reads.poll(0.0))
    assert list(caller.line.came) == [data]


def test_the_rest_of_a_frame_of_which_a_part_was_read_here_is_put_to_it(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK)[:7])
    assert not caller.read_here()
    caller.actor.sendall(frame(TASK)[7:] + frame(OTHER))
    assert not caller.read_here()  # it is not clear: a thread that began here would read from the middle
    caller.look()
    caller.look()
    assert caller.taken == [TASK, OTHER]
    assert caller.line.is_clear


def test_the_end_of_the_connection_is_left_to_our_thread(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    caller.actor.close()
    caller.values.forget(ID)
    assert not caller.read_here()
    caller.look()
    assert caller.taken == [TASK]
    assert caller.ended


def test_a_value_that_came_otherwise_is_found_without_reading(caller: Caller) -> None:
    caller.values.note(ID, wire.Value(wire.OK, b"\x00value"))
    assert caller.read_here()


def test_a_value_that_others_wait_for_too_is_left_to_our_thread(caller: Caller) -> None:
    caller.values.when_known([ID], lambda id: None)
    caller.actor.sendall(frame(TASK))
    assert not caller.read_here()
    caller.look()
    caller.look()
    assert caller.taken == [TASK]


def test_whoever_begins_to_wait_meanwhile_has_our_thread_rung(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    caller.reads.poll(0.0)
    caller.values.when_known([OTHER], lambda id: None)
    assert any(caller.reads.is_bell(fd) for fd, _kind in caller.reads.poll(0.0))


def test_whoever_waits_goes_on_when_the_head_takes_the_call(caller: Caller) -> None:
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(caller.read_here()))
    thread.start()
    wait_until(lambda: caller.reads.are_any_left() or seen, "the thread that waits")
    caller.call.over = True
    caller.reads.call_is_over()
    thread.join(60)
    assert seen == [False]
    assert not caller.read_here()  # it is over: nobody waits at the connection


def test_to_settle_waits_until_our_thread_has_taken_what_was_read_here(caller: Caller) -> None:
    caller.reads.settle()  # nothing has come: no need to wait
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    seen: list[list[bytes]] = []

    def settle() -> None:
        caller.reads.settle()
        seen.append(caller.taken[:])

    thread = threading.Thread(target=settle)
    thread.start()
    wait_until(lambda: caller.reads._settling, "the thread that settles")
    caller.look()
    thread.join(60)
    assert seen == [[TASK]]


def test_nobody_waits_for_our_thread_after_its_end(caller: Caller) -> None:
    caller.actor.sendall(frame(TASK))
    assert caller.read_here()
    caller.reads.ends()
    caller.reads.settle()
    assert not caller.read_here() or caller.values.known_here(ID)


# ---- interrupts


class Interrupt(BaseException):
    """What a signal handler raises."""


OURS = {module.__file__ for module in (direct_calls, values)}
CHECKS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD")  # after these Python runs signal handlers


def interrupted_at(moment: int, work: Callable[[], Any]) -> bool:
    """Raise Interrupt where Python looks for signals in our code for the `moment`-th time. False: there are fewer."""
    seen = 0
    before: dict[FrameType, str] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in OURS:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            was_checked = before.get(frame) in CHECKS
            before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if was_checked:
                seen += 1
                if seen == moment:
                    raise Interrupt
        return trace

    traced = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except Interrupt:
        return True
    finally:
        sys.settrace(traced)
    return False


@pytest.mark.parametrize("comes", ["whole", "in parts", "with another"])
def test_an_interrupt_between_any_two_bytecodes_loses_nothing(comes: str) -> None:
    whole = frame(TASK) + frame(OTHER) if comes == "with another" else frame(TASK)
    first = whole[:9] if comes == "in parts" else whole
    moment = 0
    is_interrupted = True
    while is_interrupted:
        moment += 1
        caller = Caller()
        try:
            caller.actor.sendall(first)
            is_interrupted = interrupted_at(moment, caller.read_here)
            caller.actor.sendall(whole[len(first) :])
            caller.line.left_until = min(caller.line.left_until, 1.0)  # its time is over
            for _ in range(3):
                caller.look()
            assert caller.taken == ([TASK, OTHER] if comes == "with another" else [TASK]), moment
            assert caller.read_here(), moment  # the wait can be repeated
            caller.actor.sendall(frame(b"n" * 24))
            caller.look()
            caller.look()
            assert caller.taken[-1] == b"n" * 24, moment  # our thread listens as before
            assert caller.line.is_clear
        finally:
            caller.close()
    assert moment > 20
