"""Events go to the scheduler one after the other, and commands to the component that carries them out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine.head.decisions import CommandHandlers, Decisions
from nbaccel.scheduling.commands import WakeAt, Warn
from nbaccel.scheduling.events import ObjectsReady, TimePassed
from nbaccel.scheduling.moves import IllegalEvent
from tests.local_engine.head.seams import Clock


class Desk:
    """A scheduler that answers as it is told, and those around it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.received: list[Any] = []
        self.commands: dict[str, list[Any]] = {}
        self.carried: list[Any] = []
        self.seen: list[int] = []  # how many events had been heard whenever views were told
        self.notes: list[str] = []
        self.stopping = ""
        self.decisions = Decisions(
            self.clock,
            SimpleNamespace(handle=self._handle),  # type: ignore[arg-type]
            self, changed=lambda: self.seen.append(len(self.received)), note=self.notes.append,
        )  # fmt: skip
        self.decisions.carry_out = self._carry_out

    def _handle(self, event: Any, now: float) -> list[Any]:
        if event == "illegal":
            raise IllegalEvent("TasksReturned", "a task", "ENDED")
        self.received.append(event)
        return self.commands.get(str(event), [])

    def _carry_out(self, commands: Any) -> None:
        for command in commands:
            self.carried.append(command)
            self.decisions.notify("told meanwhile")  # type: ignore[arg-type]
            self.carried.append("done")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_what_happens_while_an_order_is_carried_out_is_told_when_it_is_done(desk: Desk) -> None:
    desk.commands["first"] = ["order"]
    desk.decisions.notify("first")  # type: ignore[arg-type]
    assert desk.received == ["first", "told meanwhile"] and desk.carried == ["order", "done"]
    assert desk.seen == [2]


def test_views_are_told_of_an_event_that_orders_nothing(desk: Desk) -> None:
    desk.decisions.notify("one more task waits")  # type: ignore[arg-type]
    assert desk.carried == [] and desk.seen == [1]


def test_an_event_that_cannot_be_is_noted_and_holds_up_nobody(desk: Desk) -> None:
    desk.decisions.notify("illegal")  # type: ignore[arg-type]
    desk.decisions.notify("next")  # type: ignore[arg-type]
    assert desk.received == ["next"] and "an event was refused: " in desk.notes[0]


def test_a_head_that_stops_decides_nothing_more(desk: Desk) -> None:
    desk.stopping = True
    desk.decisions.notify("event")  # type: ignore[arg-type]
    assert desk.received == []


def test_the_scheduler_is_woken_once_for_the_earliest_wish(desk: Desk) -> None:
    now = desk.clock.now()
    for pause_s in (3.0, 1.0, 2.0):
        desk.decisions.wake_at(WakeAt(now + pause_s))
    desk.clock.jump(1.0)
    assert desk.received == [TimePassed()]
    desk.clock.jump(1.0)
    assert desk.received == [TimePassed()]  # it wishes again for what it still waits for


def test_whatever_an_order_raises_the_others_are_carried_out_and_it_is_answered() -> None:
    done: list[Any] = []
    answered: list[tuple[Any, str]] = []
    notified: list[Any] = []

    def act(command: Warn) -> None:
        if command.message == "bad":
            raise OSError("no")
        done.append(command.message)

    orders = CommandHandlers(
        {Warn: act}, notified.append, lambda act: act(),  # type: ignore[arg-type]
        answer=lambda command, error: answered.append((command.message, str(error))),  # type: ignore[union-attr]
        ready=[b"x"],
    )  # fmt: skip
    orders.carry_out([Warn(1, "kind", None, message) for message in ("good", "bad", "last")])
    assert done == ["good", "last"] and answered == [("bad", "no")]
    assert notified == [ObjectsReady([b"x"])]
