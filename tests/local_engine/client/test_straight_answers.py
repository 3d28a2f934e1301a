"""What a caller makes of an answer whose result comes through the head, in whatever order the two arrive."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.holdings import Holdings
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.straight_calls import StraightCalls
from nbaccel.local_engine.client.values import Values
from nbaccel.local_engine.wire.ids import return_id
from tests.local_engine.head_world import TEMPLATES
from tests.rig import wait_until

ACTOR, TASK = b"a" * 16, b"t" * 24
ID = return_id(TASK, 0)
VALUE = wire.Value(wire.RAISED, b"\x00error")


class WatchedHoldings(Holdings):
    """Ref counts of a process to which the head sends a value in the very moment in which it learns of its object."""

    head_sends = True

    def publish(self, id: bytes) -> None:
        if self.head_sends:
            self.head_sends = False
            self._link.receivers[wire.ObjectValue](wire.ObjectValue(id, VALUE))
        super().publish(id)


class Caller:
    """A process with one call under way at an actor, whose end of the connection is the test's."""

    def __init__(self, *, head_sends: bool) -> None:
        self._ends = socket.socketpair()
        self.link = Link(self._ends[0], on_lost=lambda why: None)
        self.holdings = WatchedHoldings(self.link)
        self.holdings.head_sends = head_sends
        self.values = Values(self.link, self.holdings, -1)
        self.straight = StraightCalls(self.link, self.holdings, self.values)
        self.straight.learn(ACTOR, TEMPLATES["learner"])
        way = self.straight.way_of(ACTOR)
        assert way is not None
        ours, self.actor = socket.socketpair()
        self.link.keep_sockets([ours.fileno()])
        self.link.receivers[wire.Connected](wire.Connected(ACTOR, os.fstat(ours.detach()).st_ino))
        self.holdings.created_privately(ID)
        with way.lock:
            self.straight.call(way, TASK, 1, TEMPLATES["call"], b"")

    def head_sends(self) -> None:
        self.link.receivers[wire.ObjectValue](wire.ObjectValue(ID, VALUE))

    def actor_answers(self) -> None:
        """The head has the result."""
        self.actor.sendall(wire.frame([wire.Done(TASK, [])]))
        wait_until(lambda: self.straight.book.find(TASK) is None, "the answer to be taken")

    def close(self) -> None:
        self.straight.close()
        for sock in (*self._ends, self.actor):
            sock.close()


@pytest.fixture
def make() -> Iterator[Any]:
    made: list[Caller] = []

    def caller(*, head_sends: bool = False) -> Caller:
        made.append(Caller(head_sends=head_sends))
        return made[-1]

    yield caller
    for each in made:
        each.close()


def test_a_result_that_comes_from_the_head_before_the_answer_is_known(make: Any) -> None:
    caller = make()
    caller.head_sends()
    caller.actor_answers()
    assert caller.values.known_here(ID) is VALUE and not caller.holdings.is_private(ID)


def test_a_result_that_comes_from_the_head_after_the_answer_is_known(make: Any) -> None:
    caller = make()
    caller.actor_answers()
    caller.head_sends()
    assert caller.values.known_here(ID) is VALUE and not caller.holdings.is_private(ID)


def test_a_result_that_comes_from_the_head_while_the_answer_is_taken_is_known(make: Any) -> None:
    caller = make(head_sends=True)
    caller.actor_answers()
    wait_until(lambda: not caller.holdings.is_private(ID), "the result to be the head's")
    assert caller.values.known_here(ID) is VALUE
