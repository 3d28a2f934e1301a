"""How long nodes of a type take to come, and that no change of the machine's clock moves a node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine.head import node_source
from nbaccel.local_engine.head.node_source import REMEMBERED, NodeSource
from nbaccel.scheduling.commands import AskNode
from nbaccel.scheduling.growth import Launch
from nbaccel.views import node_tables, tables
from nbaccel.views.snapshot import ArrivalRow, Runtime, Snapshot
from tests.local_engine.head.seams import Clock


class House:
    """A source of nodes of one type, and the scheduler that asks it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.launches: list[Launch] = []
        self.options = {"num_gpus": 1, "arrives_after_s": 30.0}
        scheduler: Any = SimpleNamespace(launches=lambda: self.launches)
        nodes: Any = SimpleNamespace(add=self._add)
        told: Any = lambda event: None  # noqa: E731 - nothing is told here
        self.source = NodeSource(self.clock, scheduler, nodes, nodes, told, {"gpu": self.options})

    def _add(self, options: dict[str, Any], node_type: str, launch: int) -> str:
        self.launches = [each for each in self.launches if each.number != launch]
        return f"{launch:056x}"

    def ask(self, number: int = 1) -> None:
        self.launches.append(Launch(number, "gpu", self.clock.now()))
        self.source.ask(AskNode("gpu", number))

    def row(self) -> ArrivalRow:
        (row,) = self.source.arrival_rows()
        return row


def test_the_usual_time_of_a_type_is_the_median_of_its_last_arrivals() -> None:
    house = House()
    house.ask()
    assert house.row().usually_s is None
    house.clock.jump(30.0)
    for number in range(REMEMBERED):  # the first one is forgotten: 10, 20 … 90 s are left
        house.options["arrives_after_s"] = 10.0 * (number + 1)
        house.ask(number + 2)
        house.clock.jump(100.0)
    house.ask(99)
    assert house.row().usually_s == 50.0
    now = house.row().since + 5.0
    text = tables.as_text(
        node_tables.nodes(Snapshot(Runtime("local", "0", "3"), time=now, arrivals=house.source.arrival_rows()))
    )
    assert "arriving for 5.0 s (usually 50 s)" in text


@pytest.mark.parametrize("clock_says", [0.0, 4e9], ids=["an hour that was long ago", "a year that is to come"])
def test_a_node_comes_after_its_time_whatever_the_machines_clock_says(
    monkeypatch: pytest.MonkeyPatch, clock_says: float
) -> None:
    house = House()
    house.ask()
    house.clock.jump(10.0)
    monkeypatch.setattr(node_source, "time", SimpleNamespace(time=lambda: clock_says))
    assert house.row().since == clock_says - 10.0, "its age is what it was"
    house.clock.jump(19.0)
    assert house.launches
    house.clock.jump(1.0)
    assert not house.launches
