"""What a caller makes of a call that the head takes: its result comes as that of any other call."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.direct_calls import ActorClient
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id
from tests.local_engine.head_world import TEMPLATES
from tests.rig import wait_until

ACTOR, TASK = b"a" * 16, b"t" * 24
ID = return_id(TASK, 0)
VALUE = wire.Value(wire.RAISED, b"\x00error")
ENDED = failures.failed("ActorDiedError", "it died")


class Caller:
    """A process with one call under way at an actor, whose end of the connection is the test's."""

    def __init__(self) -> None:
        self._ends = socket.socketpair()
        self.link = Link(self._ends[0], on_lost=lambda why: None)
        self.references = ReferenceCounts(self.link)
        self.values = Values(self.link, self.references, -1)
        self.client = ActorClient(self.link, self.references, self.values)
        self.client.learn(ACTOR, TEMPLATES["learner"])
        connection = self.client.connection_to(ACTOR)
        assert connection is not None
        ours, self.actor = socket.socketpair()
        self.link.keep_sockets([ours.fileno()])
        self.link.receivers[wire.Connected](wire.Connected(ACTOR, os.fstat(ours.detach()).st_ino))
        self.references.created_privately(ID)
        with connection.lock:
            self.client.call(connection, TASK, 1, TEMPLATES["call"], b"")

    def head_sends(self, value: wire.Value = VALUE) -> None:
        self.link.receivers[wire.ObjectValue](wire.ObjectValue(ID, value))

    def head_takes(self) -> None:
        self.link.receivers[wire.CallsTaken](wire.CallsTaken([TASK]))

    def actor_replies(self) -> None:
        self.actor.sendall(wire.frame([wire.DirectReply(TASK, b"\x00here", [1.0, 2.0])]))
        wait_until(lambda: self.client.calls.find(TASK) is None, "the reply to be taken")

    def sent(self) -> list[Any]:
        """What waits to be sent to the head."""
        self.client.calls.report()
        return [message for message in self.link._outbox if type(message) in (wire.CallReports, wire.DropRef)]

    def close(self) -> None:
        self.client.close()
        for sock in (*self._ends, self.actor):
            sock.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    made.close()


def test_a_result_that_comes_here_is_nobody_elses(caller: Caller) -> None:
    caller.actor_replies()
    assert caller.values.known_here(ID) == wire.Value(wire.OK, b"\x00here")
    assert caller.references.is_private(ID)


def test_a_call_that_the_head_takes_gets_its_result_from_there(caller: Caller) -> None:
    caller.head_takes()
    assert not caller.references.is_private(ID)
    caller.head_sends()
    assert caller.values.known_here(ID) is VALUE
    (report,) = caller.sent()
    assert report == wire.CallReports(taken=[TASK])


def test_a_call_that_was_reported_as_open_is_not_reported_again_when_the_head_takes_it(caller: Caller) -> None:
    caller.client.calls.report()
    before = len(caller.sent())
    caller.head_takes()
    assert len(caller.sent()) == before


def test_a_result_of_the_head_whose_ref_has_gone_is_released(caller: Caller) -> None:
    caller.link.when_ended[bytes]([ID])
    caller.head_takes()
    assert wire.DropRef([ID]) in caller.sent()
    caller.head_sends()
    assert caller.values.known_here(ID) is None


def test_a_reply_that_was_sent_before_the_actor_died_counts(caller: Caller) -> None:
    caller.actor.sendall(wire.frame([wire.DirectReply(TASK, b"\x00here", [1.0, 2.0])]))
    caller.head_sends(ENDED)
    wait_until(lambda: caller.client.calls.find(TASK) is None, "the reply to be taken")
    assert caller.values.known_here(ID) == wire.Value(wire.OK, b"\x00here")


def test_a_call_that_its_actor_has_not_answered_before_its_end_has_failed(caller: Caller) -> None:
    caller.head_sends(ENDED)
    wait_until(lambda: caller.values.known_here(ID) is not None, "the failure")
    assert caller.values.known_here(ID) is ENDED
    assert not caller.references.is_private(ID)


def test_a_failure_that_comes_after_the_end_of_the_connection_is_taken_at_once(caller: Caller) -> None:
    caller.actor.close()
    wait_until(lambda: not caller.client.connections, "the end of the connection")
    caller.head_sends(ENDED)
    assert caller.values.known_here(ID) is ENDED
