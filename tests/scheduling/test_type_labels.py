"""`label_selector={"ray.io/accelerator-type": …}` on machines with cards of several types."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import DeviceSpec
from nbaccel.scheduling.terms import Choice, Placement
from tests.scheduling.world import World, choice, node

LABEL = "ray.io/accelerator-type"
CARDS = [DeviceSpec("GPU", 0, type="A100"), DeviceSpec("GPU", 1, type="T4"), DeviceSpec("GPU", 2, type="L4")]


def world(label: str = "A100", devices: list[DeviceSpec] = CARDS) -> World:
    return World(node("head", devices, labels={LABEL: label}, CPU=8))


def asks(condition: str, **amounts: float) -> Choice:
    return choice(Placement(labels=((LABEL, condition),)), CPU=1, **amounts)


@pytest.mark.parametrize(
    ("condition", "index"),
    [("T4", 1), ("A100", 0), ("in(T4, L4)", 1), ("!A100", 1), ("!in(A100,T4)", 2), ("exists()", 0)],
)
def test_the_right_card_is_given(condition: str, index: int) -> None:
    w = world()
    task = w.submit("f", asks(condition, GPU=1))
    w.ready()
    assert w.devices_of(task) == {"GPU": [(index, UNIT)]}


def test_two_of_a_type_are_not_made_up_of_two_types() -> None:
    w = world()
    assert "T4" in w.scheduler.feasibility(asks("T4", GPU=2)).reason


def test_a_type_that_no_card_has_is_a_label_that_no_node_has() -> None:
    assert w_reason(world(), "H100") == f"no node has the labels {LABEL}=H100"


def w_reason(w: World, condition: str) -> str:
    return w.scheduler.feasibility(asks(condition, GPU=1)).reason


def test_a_task_without_devices_runs_on_a_node_that_has_the_type() -> None:
    w = world()
    task = w.submit("f", asks("L4"))
    w.ready()
    assert w.is_sent(task)


def test_a_label_that_the_user_gave_speaks_of_the_node_not_of_its_cards() -> None:
    w = world("lab-cards")
    task = w.submit("f", asks("lab-cards", GPU=3))
    w.ready()
    assert w.is_sent(task)


def test_cards_of_unknown_type_go_by_the_nodes_label() -> None:
    w = world("Z9", [DeviceSpec("GPU", 0)])
    task = w.submit("f", asks("Z9", GPU=1))
    w.ready()
    assert w.is_sent(task)
