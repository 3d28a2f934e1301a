"""Actors and their names: what happens to them, and what is answered to those who look for one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import actors as actors_module
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.connections import Later, QuestionError
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.scheduling.commands import ActorChanged
from nbaccel.scheduling.events import ActorKillRequested
from nbaccel.scheduling.terms import ActorTerms, Task, TaskKind, Terms
from nbaccel.views.observer_lines import table_of

PEER: Any = SimpleNamespace(client_id=1, job=1, worker=None)


class House:
    """Actors, and what they tell others."""

    def __init__(self) -> None:
        self.objects = ObjectTables()
        self.events: list[Any] = []
        self.unpinned: list[bytes] = []
        self.settled: list[bytes] = []
        self.lived: list[Any] = []
        self.frees = 0
        self.actors = Actors(
            SimpleNamespace(task_record=lambda id: None),  # type: ignore[arg-type]
            self.objects, self.events.append,
            unpin=lambda entry, task: self.unpinned.append(task.task_id),
            free_unheld=self._free, settled=self.settled.append, lived=self.lived.append, lives=lambda actor: None,
        )  # fmt: skip
        self.table = table_of(*self.actors.answers())

    def _free(self) -> None:
        self.frees += 1

    def ask(self, question: Any) -> Any:
        return self.table[question.tag()].answer(PEER, question)

    def create(self, actor_id: bytes, name: str = "", *, detached: bool = False) -> TaskEntry:
        terms = Terms(
            "Actor.__init__", TaskKind.ACTOR_CREATION, function_key=b"f", job=1, class_name="Actor",
            actor=ActorTerms(name=name, namespace="ns", detached=detached),
        )  # fmt: skip
        entry = TaskEntry(wire.Submit(actor_id * 2, 0, actor_id=actor_id), terms, 1, 0.0)
        self.actors.submitted(PEER, entry, Task(terms, actor_id * 2, entry, actor_id=actor_id))
        return entry

    def changes(self, actor_id: bytes, state: str, why: str = "") -> None:
        self.actors.changed(ActorChanged(actor_id, state, why))

    def state(self, actor_id: bytes) -> str:
        return self.actors.by_id[actor_id].state


@pytest.fixture
def house() -> House:
    return House()


def test_an_actor_lives_where_it_was_placed(house: House) -> None:
    house.create(b"a")
    assert house.state(b"a") == "PENDING_CREATION"
    house.actors.placed(b"a", b"w", b"n", {"GPU": ["0"]})
    house.changes(b"a", "ALIVE")
    actor = house.actors.by_id[b"a"]
    assert (actor.state, actor.worker_id, actor.device_ids) == ("ALIVE", b"w", {"GPU": ["0"]})
    house.changes(b"a", "RESTARTING")
    house.changes(b"a", "PENDING")
    assert (actor.restarts, actor.state) == (1, "PENDING_CREATION")


def test_a_dead_actor_lets_go_of_its_arguments_and_of_its_name(house: House) -> None:
    house.create(b"a", "keeper")
    house.ask(asks.ReserveName("other", "ns", b"b"))
    house.changes(b"a", "DEAD", "it was killed")
    assert house.unpinned == [b"aa"] and house.actors.by_id[b"a"].why == "it was killed"


def test_the_last_handle_ends_an_actor_once_and_a_detached_one_never(house: House) -> None:
    house.create(b"a")
    house.create(b"d", detached=True)
    for actor_id in (b"a", b"a", b"d"):
        house.actors.out_of_scope(actor_id)
    (event,) = house.events
    assert type(event) is ActorKillRequested and (event.actor_id, event.graceful) == (b"a", True)


def test_a_handle_of_an_actor_that_nobody_knows_is_forgotten(house: House) -> None:
    ledger.promise(house.objects, b"x", 1)
    house.objects.actor_ids.add(b"x")
    house.actors.out_of_scope(b"x")
    assert not house.objects.records and not house.objects.actor_ids


def test_the_error_of_a_constructor_is_kept_for_the_calls(house: House) -> None:
    house.actors.creation_failed(house.create(b"a"), wire.Value(wire.RAISED, b"error"))
    house.actors.creation_failed(house.create(b"b"), wire.Value(wire.FAILED, b"no environment"))
    assert house.actors.by_id[b"a"].creation_error == b"error"
    assert house.actors.by_id[b"b"].creation_failure.data == b"no environment"


def test_only_the_latest_dead_are_kept(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actors_module, "MOST_DEAD", 2)
    for number in range(4):
        house.create(b"%d" % number)
        house.changes(b"%d" % number, "DEAD")
    assert list(house.actors.by_id) == [b"2", b"3"]


# ---- names


def test_a_name_is_taken_before_its_actor_is_made(house: House) -> None:
    assert house.ask(asks.ReserveName("keeper", "ns", b"a"))
    assert not house.ask(asks.ReserveName("keeper", "ns", b"b")) and house.frees == 1
    assert house.ask(asks.ReserveName("keeper", "other", b"c"))


def test_who_looks_for_an_actor_that_is_on_its_way_waits_for_it(house: House) -> None:
    house.ask(asks.ReserveName("keeper", "ns", b"a"))
    with pytest.raises(Later) as later:
        house.ask(asks.FindActor("keeper", "ns"))
    assert later.value.actor_id == b"a" and house.settled == []
    house.create(b"a", "keeper")
    assert house.settled == [b"a"]
    assert house.ask(asks.FindActor("keeper", "ns")).class_name == "Actor"


def test_an_unknown_name_is_refused_with_what_there_is(house: House) -> None:
    house.ask(asks.ReserveName("keeper", "ns", b"a"))
    house.create(b"a", "keeper")
    with pytest.raises(QuestionError, match="Named actors there: keeper"):
        house.ask(asks.FindActor("kepeer", "ns"))
    with pytest.raises(QuestionError, match="lives in namespace 'ns'"):
        house.ask(asks.FindActor("keeper", "elsewhere"))


def test_names_of_a_process_that_ended_before_it_made_the_actor_are_free(house: House) -> None:
    house.ask(asks.ReserveName("keeper", "ns", b"a"))
    house.actors.names.client_gone(PEER.client_id)
    assert house.settled == [b"a"]
    assert house.ask(asks.ReserveName("keeper", "ns", b"b"))


def test_names_of_a_job_are_free_when_it_ends_but_for_detached_actors(house: House) -> None:
    for actor_id, name, detached in ((b"a", "mortal", False), (b"d", "detached", True)):
        house.ask(asks.ReserveName(name, "ns", actor_id))
        house.create(actor_id, name, detached=detached)
    house.actors.names.job_ended(1)
    assert house.ask(asks.ListNamedActors(None)) == [("detached", "ns")]
