"""A link whose far end is another worker: calls go out, results come back, and sentences name it."""

from __future__ import annotations

import socket
from queue import SimpleQueue
from typing import Any

import pytest

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link, callee, caller
from nbaccel.views.observer_lines import ReadNotes
from tests.rig import DEADLINE_S

RUN = wire.RunTask(b"t" * 24, 1, b"", [], None, None, 0, 0, b"a" * 16, "")


def test_a_call_goes_straight_to_a_worker_and_its_result_comes_back() -> None:
    ours, theirs = socket.socketpair()
    lost: SimpleQueue[str] = SimpleQueue()
    results: SimpleQueue[Any] = SimpleQueue()
    to_actor = Link(ours, on_lost=lost.put, far_end=callee("the worker of Counter"))
    to_caller = Link(theirs, on_lost=lost.put, far_end=caller("the driver"))
    to_actor.receivers[wire.Done] = results.put
    to_caller.receivers[wire.RunTask] = lambda run: to_caller.say(wire.Done(run.task_id, []))
    for link in (to_actor, to_caller):
        link.start("test")
    to_actor.say(RUN)
    assert results.get(timeout=DEADLINE_S) == wire.Done(RUN.task_id, [])
    to_caller.close()
    assert lost.get(timeout=DEADLINE_S) == "the worker of Counter closed the connection"
    to_actor.close()


def test_the_error_of_a_lost_worker_is_not_that_of_a_lost_head() -> None:
    ours, theirs = socket.socketpair()
    link = Link(ours, on_lost=lambda why: None, far_end=callee("the worker of Counter"))
    link.start("test")
    theirs.close()
    with pytest.raises(exceptions.ActorUnavailableError, match="the worker of Counter"):
        link.ask(ReadNotes(), timeout_s=DEADLINE_S)
    link.close()


def test_a_worker_cannot_say_to_another_what_only_the_head_may_say() -> None:
    ours, theirs = socket.socketpair()
    lost: SimpleQueue[str] = SimpleQueue()
    link = Link(ours, on_lost=lost.put, far_end=caller("the driver"))
    link.start("test")
    theirs.sendall(wire.frame([wire.Exit()]))
    assert "the driver sent what this version of nbaccel cannot read" in lost.get(timeout=DEADLINE_S)
    link.close()
    theirs.close()
