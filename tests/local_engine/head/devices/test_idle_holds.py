"""A device that is held for minutes and not used is named; nobody is asked anything where none is held."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from nbaccel.local_engine.head.devices.device_watch import EVERY_S, IdleHolds
from nbaccel.views.snapshot import DeviceRow, Holder
from nbaccel.views.unused_devices import IDLE_S
from tests.local_engine.head.seams import Clock

GPU: Any = SimpleNamespace(resource="GPU", id="0", lease_key="uuid-0")


class House:
    """One real device, whose load and holders a test sets."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.load: float | None = 0.0
        self.answers = True
        self.looks = 0
        self.changes = 0
        self.row = DeviceRow("n", "GPU", 0, "0", "nvidia", "NVIDIA GPU", "real")
        self.holds = IdleHolds(self.clock, lambda: [GPU], lambda: [self.row], self._look, self._changed)
        self.holds.begin()

    def hold(self, task_id: str) -> None:
        self.row.holders = [Holder("train", 1.0, task_id, cell="[3]")]

    def _look(self, devices: list[Any], then: Callable[[Any], None]) -> None:
        self.looks += 1
        then([SimpleNamespace(utilisation_percent=self.load) for _ in devices] if self.answers else None)

    def _changed(self) -> None:
        self.changes += 1


def test_a_device_that_nobody_holds_is_not_looked_at() -> None:
    house = House()
    house.clock.jump(10 * EVERY_S)
    assert house.looks == 0 and house.holds.alerts() == []


def test_a_held_device_is_looked_at_every_thirty_seconds_and_named_after_minutes_without_use() -> None:
    house = House()
    house.hold("a1")
    house.clock.jump(IDLE_S)
    assert house.looks == IDLE_S / EVERY_S and house.holds.alerts() == [] and house.changes == 0
    house.clock.jump(EVERY_S)
    (alert,) = house.holds.alerts()
    assert alert.message.startswith("GPU 0 has been held by train (cell [3]) for 5 minutes without being used.")
    assert house.changes == 1
    house.clock.jump(10 * EVERY_S)
    assert house.holds.alerts() == [alert] and house.changes == 1, "it is said once"


def test_the_line_goes_when_the_device_is_used_or_given_back() -> None:
    for end in ("used", "given back"):
        house = House()
        house.hold("a1")
        house.clock.jump(IDLE_S + EVERY_S)
        assert house.holds.alerts()
        house.load = 60.0 if end == "used" else 0.0
        house.row.holders = house.row.holders if end == "used" else []
        house.clock.jump(EVERY_S)
        assert house.holds.alerts() == [] and house.changes == 2, end


def test_the_next_holder_has_its_own_minutes() -> None:
    house = House()
    house.hold("a1")
    house.clock.jump(IDLE_S)
    house.hold("b2")
    house.clock.jump(EVERY_S)
    assert house.holds.alerts() == []
    house.clock.jump(IDLE_S)
    assert len(house.holds.alerts()) == 1


def test_an_unknown_load_is_no_reason_for_a_line() -> None:
    house = House()
    house.hold("a1")
    house.load = None
    house.clock.jump(IDLE_S + 2 * EVERY_S)
    assert house.holds.alerts() == []


def test_a_look_without_an_answer_changes_nothing() -> None:
    house = House()
    house.hold("a1")
    house.answers = False
    house.clock.jump(IDLE_S + 2 * EVERY_S)
    assert house.holds.alerts() == [] and house.changes == 0
