"""Who reads for a worker: its main thread while it has nothing to run, else the reader; never both, never none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.worker.worker_link import LASTS_S, WorkerLink
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
    made.link.send(wire.Blocked())
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
    ends.link.send(wire.Blocked())
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
