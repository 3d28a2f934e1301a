"""The outputs of `%accel_nodes` change in place as long as nodes come and go, and then stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable

import msgspec
import pytest

from nbaccel.notebook import views
from nbaccel.notebook.growing_magics import ENDED, FOLLOWED_S, LEFT, QUIET_TICK_S, TICK_S, Following
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, Runtime, Snapshot

GPU = NodeTypeRow("gpu", "virtual", {"CPU": 1.0, "GPU": 1.0}, max=2)


class Engine:
    """Remembers who reads."""

    def __init__(self) -> None:
        self.readers: dict[str, Callable[[Snapshot | None], None]] = {}
        self.asked_for_metrics = False

    def watch(
        self, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, reader: str = "view"
    ) -> None:
        self.asked_for_metrics |= metrics and callback is not None
        if callback is None:
            self.readers.pop(reader, None)
        else:
            self.readers[reader] = callback

    def push(self, snapshot: Snapshot | None) -> None:
        for callback in list(self.readers.values()):
            callback(copy.deepcopy(snapshot))


class Outputs:
    """What each output shows, and how often it was drawn."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.drawn = 0
        self.is_last = False

    def show(self, data: dict[str, str], metadata: dict[str, str]) -> None:
        assert set(data) == {"text/plain", "text/html"}
        self.shown.append(data["text/plain"])

    def draw(self, data: dict[str, str]) -> None:
        assert not self.is_last
        self.shown = [data["text/plain"]] * len(self.shown)
        self.drawn += 1

    def draw_last(self, data: dict[str, str]) -> None:
        self.draw(data)
        self.is_last = True


class Notebook:
    """A following whose clock and thread are the test's."""

    def __init__(self, now: Snapshot) -> None:
        self.time = 100.0
        self.engine, self.outputs = Engine(), Outputs()
        self.following = Following(
            self.engine, now, self.outputs, lambda snapshot, note: views.nodes_of(snapshot, None, note), "nodes",
            clock=lambda: self.time,
        )  # fmt: skip

    def jump(self, seconds: float) -> float | None:
        self.time += seconds
        return self.following.look()


def cluster(*nodes: NodeRow, arrivals: list[ArrivalRow] | None = None) -> Snapshot:
    return Snapshot(
        Runtime("local", "0.1.0", "3.11.7"),
        time=1000.0,
        nodes=[NodeRow("head", "head", totals={"CPU": 1.0}), *nodes],
        node_types=[GPU],
        arrivals=arrivals or [],
    )


COMING = cluster(arrivals=[ArrivalRow("1", "gpu", "virtual", "arriving", 999.0)])
HERE = cluster(NodeRow("1", "gpu-1", totals={"CPU": 1.0, "GPU": 1.0}, node_type="gpu"))


def test_a_node_that_comes_and_goes_is_one_line_that_changes_in_place() -> None:
    notebook = Notebook(COMING)
    assert "arriving for 1.0 s" in notebook.outputs.shown[0]
    assert notebook.jump(4.0) == TICK_S
    assert "arriving for 5.0 s" in notebook.outputs.shown[0]
    notebook.engine.push(HERE)
    assert notebook.jump(0.5) == QUIET_TICK_S
    assert "gpu-1" in notebook.outputs.shown[0] and "arriving for" not in notebook.outputs.shown[0]
    idle = msgspec.structs.replace(HERE.nodes[1], idle_since=1000.0, leaves_at=1020.0)
    notebook.engine.push(cluster(idle))
    assert notebook.jump(12.0) == TICK_S
    assert "idle for 12 s, leaves in 8.0 s" in notebook.outputs.shown[0]
    notebook.engine.push(cluster())
    notebook.jump(0.5)
    assert "gpu-1" not in notebook.outputs.shown[0]
    assert len(notebook.outputs.shown) == 1


def test_what_looks_the_same_is_not_drawn_again() -> None:
    notebook = Notebook(HERE)
    notebook.engine.push(HERE)
    notebook.jump(QUIET_TICK_S)
    assert notebook.outputs.drawn == 0
    assert not notebook.engine.asked_for_metrics


def test_outputs_are_left_as_they_are_long_after_the_last_node_has_come() -> None:
    notebook = Notebook(COMING)
    notebook.jump(2 * FOLLOWED_S)
    assert "arriving for" in notebook.outputs.shown[0] and not notebook.outputs.is_last
    notebook.engine.push(HERE)
    assert notebook.jump(FOLLOWED_S - 1) == QUIET_TICK_S
    assert notebook.jump(1.0) is None
    assert notebook.outputs.shown[0].endswith(LEFT) and notebook.outputs.is_last
    notebook.following.run()
    assert notebook.engine.readers == {}
    assert not notebook.following.shows_also(notebook.engine, HERE)


def test_another_output_shows_the_same_and_is_followed_as_well() -> None:
    notebook = Notebook(COMING)
    notebook.jump(FOLLOWED_S)
    assert notebook.following.shows_also(notebook.engine, COMING)
    notebook.engine.push(HERE)
    notebook.jump(1.0)
    assert len(notebook.outputs.shown) == 2 and all("gpu-1" in text for text in notebook.outputs.shown)
    assert list(notebook.engine.readers) == ["nodes"]
    assert not notebook.following.shows_also(Engine(), HERE)


@pytest.mark.parametrize("more", [None, HERE])
def test_the_end_of_the_cluster_is_told_and_nothing_is_drawn_after_it(more: Snapshot | None) -> None:
    notebook = Notebook(HERE)
    notebook.engine.push(None)
    assert notebook.outputs.shown[0].endswith(ENDED) and "gpu-1" in notebook.outputs.shown[0]
    notebook.engine.push(more)
    assert notebook.jump(1.0) is None
    assert notebook.outputs.drawn == 1
