"""When a driver asks for a worker on loan, when it gives one back, and what it tells when a loan ends."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.borrowing import ASK_AGAIN_S, ENOUGH, IDLE_S, NEAR_S, NOT_WORTH_S, Borrowing, LoanWay
from nbaccel.local_engine.client.call_book import CallBook
from nbaccel.local_engine.client.straight_line import StraightLine
from nbaccel.local_engine.wire.ids import return_id
from tests.local_engine.head_world import TEMPLATES

TASK = TEMPLATES["task"]
VALUE = wire.Value(wire.OK, b"x")


def id_of(number: int) -> bytes:
    return b"%024d" % number


class World:
    """A driver's loans over connections whose other end is the test's; the clock stands still."""

    def __init__(self) -> None:
        self.now = 100.0
        self.said: list[Any] = []
        self.published: list[bytes] = []
        self.closed: list[LoanWay] = []
        self.others = False  # whether another result is expected
        self.here: set[bytes] = set()
        self.lost: str | None = None
        self.book = CallBook(self.said.append, clock=lambda: self.now)
        world: Any = self  # the link, the holdings and the values, as far as loans need them
        self.borrowing = Borrowing(world, world, world, self.book, self.close, clock=lambda: self.now)
        borrower = self.borrowing.borrower(1, TASK)
        assert borrower is not None
        self.borrower = borrower
        self.ends: list[socket.socket] = []

    # the link
    def say(self, message: Any) -> None:
        self.said.append(message)

    say_later = say

    def flush(self) -> None:
        """Everything is said already."""

    # the values and the holdings
    def expects_some(self) -> bool:
        return self.others

    def known_here(self, id: bytes) -> wire.Value | None:
        return VALUE if id in self.here else None

    def publish(self, id: bytes) -> None:
        self.published.append(id)

    def close(self, way: LoanWay) -> None:
        way.line = None
        self.closed.append(way)

    # what happens
    def submits(self, after_s: float = NEAR_S / 2) -> LoanWay | None:
        self.now += after_s
        return self.borrower.way_now()

    def asks(self) -> list[bytes]:
        """The loans that were asked for."""
        return [message.body for message in self.said if type(message) is wire.Ask]

    def lent(self) -> LoanWay:
        for _ in range(ENOUGH + 1):
            assert self.submits() is None
        way = self.borrower.way
        assert way is not None
        ours, theirs = socket.socketpair()
        self.ends += [ours, theirs]
        way.line = StraightLine(ours)
        self.borrowing.thread_connected(way)
        assert self.borrower.way_now() is way
        return way

    def sends(self, way: LoanWay, number: int, *, sent: bool = True) -> None:
        way.last = id_of(number)
        self.book.begins(way.last, 1, way.actor_id, way, number, b"args").sent = sent

    def takes(self, way: LoanWay, **message: Any) -> bool:
        return self.borrowing.takes(way, wire.Submit(b"t", 1, **message))

    def answers(self, way: LoanWay, number: int, *, is_here: bool = True) -> None:
        done = wire.Done(id_of(number), [wire.ReturnValue(VALUE)] if is_here else [])
        if not is_here:
            self.borrowing.thread_passes(way)
        assert self.book.returned(done, lambda value: None) is not None
        if is_here:
            self.borrowing.thread_answered(way)

    def lost_tasks(self) -> list[tuple[bytes, bool]]:
        return [lost for message in self.said if type(message) is wire.StraightNews for lost in message.lost]

    def overs(self) -> list[tuple[bytes, bool]]:
        return [(message.loan_id, message.is_free) for message in self.said if type(message) is wire.LoanOver]


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    for end in made.ends:
        end.close()


# ---- asking


def test_lone_tasks_that_follow_each_other_ask_for_a_worker_once(world: World) -> None:
    for _ in range(ENOUGH):
        world.submits()
    assert not world.asks()
    world.submits()
    world.submits()
    assert len(world.asks()) == 1


def test_tasks_far_apart_or_beside_others_ask_for_nothing(world: World) -> None:
    for _ in range(3 * ENOUGH):
        world.submits(2 * NEAR_S)
    world.others = True
    for _ in range(3 * ENOUGH):
        world.submits()
    assert not world.asks()


def test_a_question_without_an_answer_is_asked_again_after_a_while(world: World) -> None:
    for _ in range(ENOUGH + 1):
        world.submits()
    while len(world.asks()) == 1:
        world.submits()
    assert world.now >= 100.0 + ASK_AGAIN_S
    first, second = world.asks()
    assert first == second  # the same loan: whichever question is answered


def test_tasks_with_rules_of_their_own_have_no_borrower(world: World) -> None:
    assert world.borrowing.borrower(2, TEMPLATES["pair"]) is None
    assert world.borrowing.borrower(3, TEMPLATES["train"]) is None


# ---- using


def test_one_plain_task_at_a_time_goes_to_the_worker(world: World) -> None:
    way = world.lent()
    assert world.takes(way)
    assert not world.takes(way, args=bytes(5_000))
    assert not world.takes(way, slots=[(0, b"ref")])
    assert not world.takes(way, refs=[b"ref"])
    world.sends(way, 1)
    assert not world.takes(way)
    world.answers(way, 1)
    assert world.takes(way)


def test_a_result_that_the_head_sent_does_not_free_the_worker(world: World) -> None:
    """The task may have been cancelled, and its worker be about to end."""
    way = world.lent()
    world.sends(way, 1)
    call = world.book.find(id_of(1))
    assert call is not None
    call.answered = True
    world.here.add(return_id(id_of(1), 0))
    assert not world.takes(way)


def test_a_worker_whose_answer_comes_through_the_head_is_not_idle_when_the_book_forgets_the_task(world: World) -> None:
    """The head may hear of the loan's end before it hears of the task."""
    way = world.lent()
    world.sends(way, 1)
    world.borrowing.thread_passes(way)
    assert world.book.returned(wire.Done(id_of(1), []), lambda value: None) is not None
    world.borrowing.give_back_idle()
    world.borrowing.thread_looks(world.now + 10 * IDLE_S)
    assert not world.overs() and not world.takes(way)


def test_a_result_that_was_read_by_who_waits_frees_the_worker(world: World) -> None:
    way = world.lent()
    world.sends(way, 1)
    world.here.add(return_id(id_of(1), 0))
    assert world.takes(way)
    world.borrowing.give_back_idle()  # the book does not know yet that the task has ended
    assert not world.overs()


# ---- giving back


def test_an_idle_worker_is_given_back_and_the_connection_closed(world: World) -> None:
    way = world.lent()
    world.sends(way, 1)
    world.now += 2 * IDLE_S
    world.borrowing.thread_looks(world.now)
    assert not world.overs()  # it works
    world.answers(way, 1)
    world.borrowing.thread_looks(world.now)
    assert not world.overs()
    world.now += 2 * IDLE_S
    world.borrowing.thread_looks(world.now)
    assert world.overs() == [(way.actor_id, True)] and world.closed == [way]
    assert world.borrower.way is None and not world.borrowing.open


def test_before_a_question_an_idle_worker_goes_back_and_a_busy_one_stays(world: World) -> None:
    way = world.lent()
    world.sends(way, 1)
    world.borrowing.give_back_idle()
    assert not world.overs()
    world.answers(way, 1)
    world.borrowing.give_back_idle()
    news, over = world.said[-2:]
    assert [call.task_id for call in news.ended] == [id_of(1)]
    assert (over.loan_id, over.is_free) == (way.actor_id, True)
    assert not world.takes(way)
    world.borrowing.thread_looks(world.now)
    assert world.closed == [way] and len(world.overs()) == 1


def test_a_give_back_that_was_interrupted_is_finished_by_the_thread(world: World) -> None:
    way = world.lent()
    way.is_stopped = True  # the interrupt came here
    world.borrowing.thread_looks(world.now)
    assert world.overs() == [(way.actor_id, True)] and world.closed == [way]


def test_after_an_answer_through_the_head_the_worker_ends_the_loan(world: World) -> None:
    way = world.lent()
    world.sends(way, 1)
    world.answers(way, 1, is_here=False)
    assert not world.overs() and not world.takes(way)
    assert world.ends[1].recv(100) == b""  # nothing more will come
    world.borrowing.thread_looks(world.now + 10 * IDLE_S)
    assert not world.closed
    assert way.line is not None
    way.line.taken = 1
    line, way.line = way.line, None
    world.borrowing.thread_ends(way, line)
    assert world.overs() == [(way.actor_id, False)] and not world.lost_tasks()
    asked = len(world.asks())
    for _ in range(2 * ENOUGH):
        world.submits()
    assert len(world.asks()) == asked
    world.now += NOT_WORTH_S
    for _ in range(2 * ENOUGH):
        world.submits()
    assert len(world.asks()) == asked + 1


# ---- the end of a connection


@pytest.mark.parametrize(
    ("taken", "sent", "lost"),
    [(-1, True, True), (-1, False, True), (1, True, True), (0, True, False), (0, False, None)],
    ids=["died", "died and interrupted", "begun", "not begun", "never sent"],
)
def test_what_is_open_when_a_connection_ends_is_told(world: World, taken: int, sent: bool, lost: bool | None) -> None:
    way = world.lent()
    world.sends(way, 1, sent=sent)
    line, way.line = way.line, None
    assert line is not None
    line.taken = taken
    world.borrowing.thread_ends(way, line)
    task_id = id_of(1)
    assert world.lost_tasks() == ([] if lost is None else [(task_id, lost)])
    opened = [call for message in world.said if type(message) is wire.StraightNews for call in message.opened]
    assert [(call.task_id, call.args) for call in opened] == ([] if lost is None else [(task_id, b"args")])
    assert world.published == ([] if lost is None else [return_id(task_id, 0)])
    assert world.overs() == [(way.actor_id, False)]
    assert world.book.find(task_id) is None
