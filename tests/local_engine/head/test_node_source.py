"""A node comes when its time is over, whatever the machine's clock says meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine.head import autoscaling
from nbaccel.local_engine.head.autoscaling import NodeSource
from nbaccel.scheduling.commands import RequestNode
from nbaccel.scheduling.growth import Launch
from nbaccel.views.snapshot import ArrivalRow
from tests.local_engine.head.seams import Clock


class House:
    """A source of nodes of one type, and the scheduler that asks it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.launches: list[Launch] = []
        kinds = [SimpleNamespace(spec=SimpleNamespace(name="gpu"), usual_s=None)]
        scheduler: Any = SimpleNamespace(launches=lambda: self.launches, node_types=lambda: kinds)
        nodes: Any = SimpleNamespace(add=self._add)
        notified: Any = lambda event: None  # noqa: E731 - nothing is told here
        self.source = NodeSource(
            self.clock, scheduler, nodes, nodes, notified, {"gpu": {"num_gpus": 1, "arrives_after_s": 30.0}}
        )

    def _add(self, options: dict[str, Any], node_type: str, launch: int) -> str:
        self.launches = [each for each in self.launches if each.number != launch]
        return f"{launch:056x}"

    def ask(self) -> None:
        self.launches.append(Launch(1, "gpu", self.clock.now()))
        self.source.ask(RequestNode("gpu", 1))

    def row(self) -> ArrivalRow:
        (row,) = self.source.arrival_rows()
        return row


@pytest.mark.parametrize("clock_says", [0.0, 4e9], ids=["an hour that was long ago", "a year that is to come"])
def test_a_node_comes_after_its_time_whatever_the_machines_clock_says(
    monkeypatch: pytest.MonkeyPatch, clock_says: float
) -> None:
    house = House()
    house.ask()
    house.clock.jump(10.0)
    monkeypatch.setattr(autoscaling, "time", SimpleNamespace(time=lambda: clock_says))
    assert house.row().since == clock_says - 10.0, "its age is what it was"
    house.clock.jump(19.0)
    assert house.launches
    house.clock.jump(1.0)
    assert not house.launches
