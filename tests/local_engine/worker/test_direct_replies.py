"""Which results go to the caller directly, and which through the head."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.worker.direct_calls import DirectCallReceiver
from nbaccel.local_engine.worker.worker_link import WorkerLink
from tests.local_engine.head_world import TEMPLATES

SMALL = wire.ReturnValue(wire.Value(wire.OK, b"x"))
LARGE = wire.ReturnValue(wire.Value(wire.OK, None, 64, 1_000_000))
WITH_REFS = wire.ReturnValue(wire.Value(wire.OK, b"x"), [b"ref"])
RAISED = wire.ReturnValue(wire.Value(wire.RAISED, b"error"))


class Actor:
    """The process of an actor without its threads; the head's and the caller's ends are the test's."""

    def __init__(self) -> None:
        self._ours, self._head = socket.socketpair()
        theirs, self.caller = socket.socketpair()
        self.link = WorkerLink(self._ours, SimpleQueue(), on_lost=lambda why: None)
        self.link.direct = self._receiver = DirectCallReceiver(theirs, b"actor", self.link)
        self._receiver.templates[1] = TEMPLATES["call"]

    def begins(self, *task_ids: bytes) -> None:
        for number, task_id in enumerate(task_ids):
            self.link.begin(wire.DirectSubmit(task_id, 1, b"", number))

    def to_caller(self) -> list[list[Any]]:
        """What the caller got, frame by frame."""
        self.caller.setblocking(False)
        try:
            data = self.caller.recv(1 << 16)
        except BlockingIOError:
            return []
        frames = []
        while data:
            size = framing.LENGTH_BYTES + framing.announced(data)
            frames.append(framing.whole_frame(data[:size], wire.decode_to_caller))
            data = data[size:]
        return frames

    def to_head(self) -> list[Any]:
        self._head.setblocking(False)
        try:
            return framing.FrameReader(wire.decode_to_head).feed(self._head.recv(1 << 16))
        except BlockingIOError:
            return []

    def close(self) -> None:
        for sock in (self._ours, self._head, self._receiver.sock, self.caller):
            sock.close()


@pytest.fixture
def actor() -> Iterator[Actor]:
    made = Actor()
    yield made
    made.close()


def done(task_id: bytes, result: wire.ReturnValue = SMALL, **how: Any) -> wire.Done:
    return wire.Done(task_id, [result], times=[1.0, 2.0, 3.0, 4.0], **how)


def test_a_small_result_goes_to_the_caller_alone(actor: Actor) -> None:
    actor.begins(b"a")
    assert actor.link.reply(done(b"a"))
    assert actor.to_caller() == [[wire.DirectReply(b"a", b"x", [1.0, 2.0, 3.0, 4.0])]]
    assert actor.to_head() == []


def test_what_came_through_the_head_is_not_answered_here(actor: Actor) -> None:
    assert not actor.link.reply(done(b"a"))
    assert not actor.link.hold_reply(done(b"a"))
    assert actor.to_caller() == actor.to_head() == []


@pytest.mark.parametrize(
    ("result", "how"),
    [(LARGE, {}), (WITH_REFS, {}), (RAISED, {"failed": True}), (SMALL, {"exiting": True})],
    ids=["large", "with refs", "error", "the actor ends"],
)
@pytest.mark.parametrize("at", ["once", "the end of the turn"])
def test_all_else_goes_through_the_head_to_which_the_call_is_reported_first(
    actor: Actor, at: str, result: wire.ReturnValue, how: dict[str, Any]
) -> None:
    actor.begins(b"a")
    if at == "once":
        actor.link.reply(done(b"a", result, **how))
    else:
        actor.link.hold_reply(done(b"a", result, **how))
        actor.link.flush_replies()
    report, answer = actor.to_head()
    (call,) = report.opened
    assert (type(report), call.task_id, call.actor_id) == (wire.CallReports, b"a", b"actor")
    assert answer == done(b"a", result, **how)
    assert actor.to_caller() == []


def test_any_of_the_calls_that_run_may_have_caused_a_message_so_all_are_reported(actor: Actor) -> None:
    actor.begins(b"a", b"b")
    actor.link.send(wire.AddRef([b"ref"]))
    actor.begins(b"c")
    for task_id in (b"a", b"b", b"c"):
        actor.link.reply(done(task_id))
    report, *sent = actor.to_head()
    assert [call.task_id for call in report.opened] == [b"a", b"b"]
    assert sent == [wire.AddRef([b"ref"]), done(b"a"), done(b"b")]
    assert actor.to_caller() == [[wire.DirectReply(b"c", b"x", [1.0, 2.0, 3.0, 4.0])]]


def test_the_answers_of_one_turn_of_the_loop_are_one_frame(actor: Actor) -> None:
    actor.begins(b"a", b"b", b"c")
    for task_id in (b"a", b"b", b"c"):
        assert actor.link.hold_reply(done(task_id))
    assert actor.to_caller() == []
    actor.link.flush_replies()
    (frame,) = actor.to_caller()
    assert [answer.task_id for answer in frame] == [b"a", b"b", b"c"]
    actor.link.flush_replies()
    assert actor.to_caller() == []


@pytest.mark.parametrize("at", ["once", "the end of the turn"])
def test_answers_to_a_connection_that_its_caller_has_closed_go_through_the_head(actor: Actor, at: str) -> None:
    actor.begins(b"a")
    actor.caller.close()
    if at == "once":
        actor.link.reply(done(b"a"))
    else:
        actor.link.hold_reply(done(b"a"))
        actor.link.flush_replies()
    report, answer = actor.to_head()
    assert [call.task_id for call in report.opened] == [b"a"]
    assert answer == done(b"a")
