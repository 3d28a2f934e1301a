"""How long the head keeps a function: while a client has exported it, or something that may run names it."""

from __future__ import annotations

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.tasks import submissions
from nbaccel.local_engine.head.tasks.submissions import Functions
from nbaccel.scheduling.terms import Terms
from tests.local_engine.head.seams import Clock
from tests.local_engine.head.tasks.conftest import DRIVER, WORKER, Room

CODE = wire.DefineFunction(b"f", b"code", "f", [b"actor"])


def named(room: Room) -> list[Terms]:
    """The terms that `room.functions` finds in use; a test adds to them."""
    found: list[Terms] = []
    room.functions.named_by = [lambda: found]
    return found


def test_code_is_taught_once(room: Room) -> None:
    room.receive(room.driver, CODE)
    terms = room.submit("task").terms
    room.functions.teach(room.peer, terms)
    room.functions.teach(room.peer, terms)
    assert room.peer.out == [CODE, wire.DefineTemplate(terms.number, terms)]


def test_a_function_that_nobody_names_is_forgotten_here_and_in_workers_with_what_it_captured(room: Room) -> None:
    ledger.promise(room.objects, b"actor", DRIVER)
    room.receive(room.driver, CODE)
    assert room.objects.records[b"actor"].pins == 1
    terms = room.submit("task").terms
    room.functions.teach(room.peer, terms)
    room.peer.out.clear()
    room.receive(room.driver, wire.ReleasesCode([b"f"]))
    assert room.objects.records[b"actor"].pins == 0
    assert room.out.taken(WORKER) == [wire.ForgetFunctions([b"f"])]
    room.receive(room.driver, CODE)  # it comes again, with a template that the worker knew
    room.functions.teach(room.peer, terms)
    assert room.peer.out == [CODE, wire.DefineTemplate(terms.number, terms)]


def test_a_function_stays_while_a_task_names_it(room: Room) -> None:
    room.receive(room.driver, CODE)
    found, terms = named(room), room.submit("task").terms
    found.append(terms)
    room.receive(room.driver, wire.ReleasesCode([b"f"]))
    room.functions.teach(room.peer, terms)
    found.clear()
    room.functions.look()
    room.peer.defined.clear()
    room.peer.functions.clear()
    with pytest.raises(KeyError):
        room.functions.teach(room.peer, terms)


def test_a_function_stays_while_another_client_has_it(room: Room) -> None:
    terms = room.submit("task").terms
    room.receive(room.driver, CODE)
    room.receive(room.peer, CODE)
    room.functions.client_gone(DRIVER)
    room.receive(room.peer, wire.ReleasesCode([b"unknown"]))
    room.functions.teach(room.peer, terms)
    room.functions.client_gone(WORKER)
    assert room.out.taken(WORKER)[-1] == wire.ForgetFunctions([b"f"])


def test_who_names_a_released_function_is_looked_for_more_and_more_rarely(room: Room) -> None:
    clock, looks = Clock(), list[float]()
    room.functions = Functions(room.objects, room.out.peers, room.out.send, clock)
    terms = room.submit("task").terms

    def in_use() -> list[Terms]:
        looks.append(clock.now())
        return [terms]

    room.functions.named_by = [in_use]
    room.functions.define(room.driver, CODE)
    began = clock.now()
    room.functions.released(room.driver, wire.ReleasesCode([b"f"]))
    clock.jump(1.0)
    assert [round(at - began, 2) for at in looks] == [0.0, 0.05, 0.15, 0.35, 0.75]
    clock.jump(1000.0)
    assert looks[-1] - looks[-2] == pytest.approx(submissions.LONGEST_PAUSE_S)
