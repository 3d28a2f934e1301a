"""Who reads for a worker: its main thread while it has nothing to run, else the reader; never both, never none."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.worker.straight_inbox import NOTHING
from nbaccel.local_engine.worker.worker_link import LASTS_S, WorkerLink
from tests.local_engine.head_world import TEMPLATES
from tests.rig import DEADLINE_S


class Ends:
    """A worker's link and the head's side of it; Exit stands for work, Blocked is answered beside it."""

    def __init__(self, lasts_s: float = LASTS_S) -> None:
        self.head, mine = socket.socketpair()
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.beside: SimpleQueue[tuple[Any, str]] = SimpleQueue()  # (message, the thread that took it)
        self.lost: SimpleQueue[str] = SimpleQueue()
        self.link = WorkerLink(mine, self.inbox, on_lost=self.lost.put, lasts_s=lasts_s)
        self.link.receivers[wire.Exit] = self.inbox.put
        self.link.receivers[wire.Recall] = lambda message: self.beside.put((message, threading.current_thread().name))
        self.link.start("test")

    def send(self, *messages: Any) -> None:
        self.head.sendall(wire.frame(list(messages)))

    def end(self) -> None:
        self.head.close()
        self.lost.get(timeout=DEADLINE_S)  # its reader has seen the end, or the main thread of the test had


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.end()


@pytest.fixture
def short_work() -> Iterator[Ends]:
    """Whatever the main thread works at is short, however busy the machine is: only a call wakes the reader."""
    made = Ends(lasts_s=3600)
    yield made
    made.link.say(wire.Blocked())
    made.end()


def test_an_idle_main_thread_reads_for_itself(short_work: Ends) -> None:
    ends = short_work
    for _ in range(200):
        ends.send(wire.Recall(), wire.Exit())
        assert type(ends.link.next_item()) is wire.Exit
        assert ends.beside.get_nowait()[1] == threading.current_thread().name


def test_the_reader_takes_over_when_work_lasts(ends: Ends) -> None:
    ends.send(wire.Exit())
    ends.link.next_item()
    ends.send(wire.Recall())
    assert ends.beside.get(timeout=DEADLINE_S)[1] == "nbaccel-test-reader"


def test_a_worker_that_says_something_is_listened_to(ends: Ends) -> None:
    ends.send(wire.Exit())
    ends.link.next_item()
    ends.link.say(wire.Blocked())
    assert ends.head.recv(100)
    ends.send(wire.Recall())
    assert ends.beside.get(timeout=DEADLINE_S)[1] == "nbaccel-test-reader"


def test_work_that_comes_while_the_reader_reads_reaches_the_main_thread(ends: Ends) -> None:
    for _ in range(50):
        ends.send(wire.Exit())
        ends.link.next_item()
        ends.send(wire.Recall())
        ends.beside.get(timeout=DEADLINE_S)  # the reader has the turn, and waits for more
        ends.send(wire.Exit())
        assert type(ends.link.next_item()) is wire.Exit


def test_nothing_is_lost_while_turns_change(ends: Ends) -> None:
    count = 3_000
    sender = threading.Thread(target=lambda: [ends.send(wire.Exit(), wire.Recall()) for _ in range(count)])
    sender.start()
    for number in range(count):
        ends.link.next_item()
        if number % 100 == 0:
            ends.beside.get(timeout=DEADLINE_S)  # work that waits for what only the reader can bring
    sender.join(DEADLINE_S)
    for _ in range(count - count // 100):
        ends.beside.get(timeout=DEADLINE_S)


def test_the_end_of_the_head_is_noticed_while_work_lasts(ends: Ends) -> None:
    ends.send(wire.Exit())
    ends.link.next_item()
    ends.head.close()
    why = ends.lost.get(timeout=DEADLINE_S)
    assert "the head closed the connection" in why
    ends.lost.put(why)


def test_a_head_that_cannot_be_understood_is_lost(ends: Ends) -> None:
    ends.send(wire.Exit())
    ends.link.next_item()
    ends.head.sendall(b"\x05\0\0\0\x91\x91\xa2\xc6\xc6")  # a name in bad UTF-8
    why = ends.lost.get(timeout=DEADLINE_S)
    assert "sent what this version of nbaccel cannot read" in why
    ends.lost.put(why)


# ---- loans


class Loan:
    """A worker that is lent, and its driver's end of the connection."""

    def __init__(self, ends: Ends, loan_id: bytes) -> None:
        self.ends, self.loan_id = ends, loan_id
        self.driver, theirs = socket.socketpair()
        lent = wire.Lent(loan_id, os.fstat(theirs.fileno()).st_ino)
        socket.send_fds(ends.head, [wire.frame([lent])], [theirs.fileno()])
        theirs.close()
        self._reader = framing.FrameReader(wire.decode_to_caller)
        while ends.link.straight is None or ends.link.straight.actor_id != loan_id:
            assert ends.link.next_item() is NOTHING

    def send(self, task_id: bytes, number: int) -> None:
        template = [wire.DefineTemplate(1, TEMPLATES["task"])] if number == 1 else []
        self.driver.sendall(wire.frame([*template, wire.Submit(task_id, 1, b"args", straight=number)]))

    def answers(self, task_id: bytes) -> None:
        assert self.ends.link.straight is not None
        assert self.ends.link.ends_straight(task_id) is not None
        assert self.ends.link.straight.answer([wire.Done(task_id, [])])

    def last_word(self) -> int:
        """Everything up to the end of the connection has come; the number in the worker's last word."""
        messages: list[Any] = []
        try:
            while data := self.driver.recv(1 << 16):
                messages += self._reader.feed(data)
        except ConnectionResetError:
            pass  # the worker has left a task unread
        self.driver.close()
        assert type(messages[-1]) is wire.LineEnd
        return int(messages[-1].taken)


def heard(ends: Ends, count: int) -> list[Any]:
    """The next messages to the head."""
    reader, messages = framing.FrameReader(wire.decode_to_head), list[Any]()
    while len(messages) < count:
        messages += reader.feed(ends.head.recv(1 << 16))
    return messages


@pytest.fixture
def lent() -> Iterator[Ends]:
    made = Ends(lasts_s=3600)
    yield made
    made.send(wire.Exit())
    while type(made.link.next_item()) is not wire.Exit:
        pass
    made.link.say(wire.Blocked())
    made.end()


def begun(ends: Ends) -> tuple[wire.RunTask, Any]:
    """The main thread begins the next task of the loan."""
    while (item := ends.link.next_item()) is NOTHING:
        pass
    return ends.link.begin(item)


def test_a_worker_on_loan_takes_tasks_of_its_driver_and_work_of_the_head(lent: Ends) -> None:
    loan = Loan(lent, b"loan")
    loan.send(b"a", 1)
    run, terms = begun(lent)
    assert (run.task_id, run.args, run.actor_id, terms) == (b"a", b"args", b"", TEMPLATES["task"])
    loan.answers(b"a")
    lent.send(wire.Exit())
    assert type(lent.link.next_item()) is wire.Exit
    loan.driver.close()


def test_a_worker_tells_the_arguments_of_a_task_whose_code_speaks(lent: Ends) -> None:
    loan = Loan(lent, b"loan")
    loan.send(b"a", 1)
    begun(lent)
    lent.link.say(wire.Blocked())
    told, blocked = heard(lent, 2)
    assert (told.call.task_id, told.call.actor_id, told.call.args) == (b"a", b"loan", b"args")
    assert type(blocked) is wire.Blocked
    loan.driver.close()


def test_a_recalled_worker_says_which_tasks_it_has_begun(lent: Ends) -> None:
    loan = Loan(lent, b"loan")
    loan.send(b"a", 1)
    begun(lent)
    lent.inbox.put(wire.EndLoan(b"loan"))  # the reader has brought it
    loan.send(b"b", 2)
    loan.answers(b"a")
    assert lent.link.next_item() is NOTHING and lent.link.straight is None
    assert [message.loan_id for message in heard(lent, 1)] == [b"loan"]
    assert loan.last_word() == 1


def test_a_driver_that_gives_its_worker_back_closes_the_connection(lent: Ends) -> None:
    loan = Loan(lent, b"loan")
    loan.send(b"a", 1)
    loan.driver.shutdown(socket.SHUT_WR)
    begun(lent)
    loan.answers(b"a")
    assert lent.link.next_item() is NOTHING and lent.link.straight is None
    assert [message.loan_id for message in heard(lent, 1)] == [b"loan"]
    assert loan.last_word() == 1


def test_a_new_loan_takes_the_place_of_one_that_was_given_back(lent: Ends) -> None:
    first = Loan(lent, b"first")
    second = Loan(lent, b"second")
    assert [message.loan_id for message in heard(lent, 1)] == [b"first"]
    assert first.last_word() == 0
    lent.send(wire.EndLoan(b"first"), wire.Exit())  # it crossed the end of that loan
    assert lent.link.next_item() is NOTHING
    assert type(lent.link.next_item()) is wire.Exit
    second.send(b"a", 1)
    assert lent.link.next_item().task_id == b"a"
    second.driver.close()


def test_a_process_that_leaves_between_two_tasks_says_so_to_its_driver(lent: Ends) -> None:
    loan = Loan(lent, b"loan")
    loan.send(b"a", 1)
    lent.link.say_last()
    lent.link.straight = None
    assert loan.last_word() == 0


def test_a_worker_on_loan_knows_whether_the_next_task_comes_at_once(lent: Ends) -> None:
    assert not lent.link.is_called_soon()
    loan = Loan(lent, b"loan")
    assert not lent.link.is_called_soon()
    loan.send(b"a", 1)
    assert lent.link.is_called_soon()
    loan.driver.close()
