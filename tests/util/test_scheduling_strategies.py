"""Strategies as objects: what they refuse, and what they say to the scheduler."""

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.scheduling_strategies import (
    DoesNotExist,
    Exists,
    In,
    NodeAffinitySchedulingStrategy,
    NodeLabelSchedulingStrategy,
    NotIn,
    PlacementGroupSchedulingStrategy,
)

NOBODY = "ab" * 28


@nbaccel.remote
def here():
    return nbaccel.get_runtime_context().get_node_id()


@nbaccel.remote
class Actor:
    def call(self): ...


def test_a_node_id_has_56_hex_digits():
    for wrong in ("abc", "xy" * 28, ""):
        with pytest.raises(ValueError, match="Invalid node_id"):
            NodeAffinitySchedulingStrategy(wrong, soft=False)


def test_a_hard_wish_for_a_node_that_is_not_there_fails():
    strategy = NodeAffinitySchedulingStrategy(NOBODY, soft=False)
    with pytest.raises(exceptions.TaskUnschedulableError):
        nbaccel.get(here.options(scheduling_strategy=strategy).remote())
    with pytest.raises(exceptions.ActorUnschedulableError):
        nbaccel.get(Actor.options(scheduling_strategy=strategy).remote().call.remote())


def test_a_soft_one_does_not():
    strategy = NodeAffinitySchedulingStrategy(NOBODY, soft=True)
    assert nbaccel.get(here.options(scheduling_strategy=strategy).remote()) == nbaccel.nodes()[0]["NodeID"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NodeLabelSchedulingStrategy({}), "cannot both be empty"),
        (lambda: NodeLabelSchedulingStrategy({"zone": "a"}), "operator"),
        (lambda: NodeLabelSchedulingStrategy({1: In("a")}), "must be of type str"),
        (lambda: NodeLabelSchedulingStrategy(["zone"]), "must be a map"),
        (lambda: In(), "non-empty tuple"),
        (lambda: NotIn("a", 2), "position 1"),
    ],
)
def test_label_conditions_that_cannot_be_meant_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_conditions_are_said_in_the_schedulers_words():
    strategy = NodeLabelSchedulingStrategy(
        {"zone": In("a", "b"), "disk": Exists()}, soft={"old": DoesNotExist(), "arch": NotIn("arm")}
    )
    assert strategy.hard_pairs() == [("disk", "exists()"), ("zone", "in(a,b)")]
    assert strategy.soft_pairs() == [("arch", "!in(arm)"), ("old", "!exists()")]


def test_no_group_means_outside_of_any():
    strategy = PlacementGroupSchedulingStrategy(placement_group=None)
    assert nbaccel.get(here.options(scheduling_strategy=strategy).remote()) == nbaccel.nodes()[0]["NodeID"]
