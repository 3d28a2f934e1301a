"""A new placement group is compared with the cluster's nodes, once for many that ask the same."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.submission import groups
from nbaccel.ray_engine.submission.groups import RayGroups
from nbaccel.views import sinks
from nbaccel.views.snapshot import NodeRow, Runtime, Snapshot


class Places:
    """A cluster with one node; counts how often its nodes are asked for."""

    def __init__(self) -> None:
        self.asked = 0
        self.cpus = 4.0
        self.scales = False

    def nodes_only(self) -> Snapshot:
        self.asked += 1
        node = NodeRow(node_id="00" * 28, name="n", alive=True, totals={"CPU": self.cpus}, available={})
        return Snapshot(Runtime("ray", "", ""), nodes=[node])

    def autoscaler(self) -> dict[str, Any]:
        return {"groups": None, "scales": self.scales}


class Front:
    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, message: Any) -> None:
        self.said.append(message.message)


@pytest.fixture
def said() -> Any:
    before, front = sinks.installed, Front()
    sinks.install(front)  # type: ignore[arg-type]
    yield front.said
    sinks.install(before)


class World:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.places, self.made = 0.0, Places(), 0
        session: Any = SimpleNamespace(in_worker=False, refuses_infeasible=False)
        nobody: Any = None
        self.groups = RayGroups(session, nobody, nobody, self.places, {}, lambda: self.now)  # type: ignore[arg-type]
        monkeypatch.setattr(importlib.import_module("ray.util.placement_group"), "placement_group", self._made)

    def _made(self, bundles: list[dict[str, float]], **_options: Any) -> Any:
        self.made += 1
        return SimpleNamespace(id=SimpleNamespace(binary=lambda: bytes([self.made]) * 18))

    def make(self, cpus: float, strategy: str = "PACK") -> None:
        self.groups.create_group([{"CPU": cpus}] * 2, strategy, "", False, None, "")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_many_groups_that_ask_the_same_ask_for_the_nodes_once(world: World, said: list[str]) -> None:
    for _ in range(20):
        world.make(2.0)
    assert (world.made, world.places.asked, said) == (20, 1, [])
    world.make(1.0)
    world.make(2.0, "STRICT_PACK")
    assert (world.places.asked, said) == (3, [])


def test_nodes_that_have_left_are_noticed_some_seconds_later(world: World, said: list[str]) -> None:
    world.make(2.0)
    world.places.cpus = 1.0
    world.now += groups.JUDGED_FOR_S
    world.make(2.0)
    assert len(said) == 1


def test_what_can_never_be_placed_is_told_of_each_group(world: World, said: list[str]) -> None:
    world.make(5.0)
    world.make(5.0)
    assert (world.places.asked, len(said)) == (2, 2)
    assert "cannot be placed here" in said[0]


def test_a_bounded_number_is_remembered(world: World, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_JUDGED", 3)
    for cpus in range(1, 5):
        world.make(cpus / 4)
    assert len(world.groups._judged) <= 3


def test_nothing_is_never_placed_where_nodes_may_come(world: World, said: list[str]) -> None:
    bundles = [{"CPU": 3.0}] * 2
    assert world.groups.why_never_placed(bundles, "PACK") == "its 2 bundles do not fit together (PACK)"
    world.places.scales = True
    assert world.groups.why_never_placed(bundles, "PACK") == ""
    assert (world.made, said) == (0, [])
