"""Who holds what another waits for: each amount belongs to its own resource, each device to its own node."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling.explain import HolderFact, named

HERE, THERE = b"here", b"there"


def of(task: int, *held: tuple[str, int | None], amount: float = 1, node: bytes = HERE) -> list[HolderFact]:
    """What one task named `train` holds: (resource, index of the device)."""
    return [
        HolderFact(name, round(amount * UNIT), "train", "", 0.0, node, index, task_id=bytes([task]))
        for name, index in held
    ]


def several(count: int, per_task: int = 1, cpus: int = 1) -> list[HolderFact]:
    """This many tasks, each with this many GPUs of its own and as many facts of a CPU."""
    facts = []
    for task in range(count):
        gpus = [("GPU", task * per_task + number) for number in range(per_task)]
        facts += of(task, *[("CPU", None)] * cpus, *gpus)
    return facts


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (several(4), "train × 4 on 4 GPUs, with 4 CPUs"),
        (of(0, *[("GPU", index) for index in range(5)]), "train on 5 GPUs"),
        (of(0, ("GPU", 0), ("GPU", 1), ("GPU", 2)) + of(1, ("GPU", 3), ("GPU", 4)), "train × 2 on 5 GPUs"),
        (several(1), "train on GPU 0, with 1 CPU"),
        (several(2), "train × 2 on GPU 0 and GPU 1, with 2 CPUs"),
        (of(0, ("CPU", None), ("CPU", None)), "train with 2 CPUs"),
        (
            [fact for task in range(3) for fact in of(task, ("CPU", None), ("GPU", task), ("TPU", task))],
            "train × 3 on 3 GPUs and 3 TPUs, with 3 CPUs",
        ),
        (of(0, ("GPU", 0), ("memory", None)), "train on GPU 0, with 1 byte of memory"),
    ],
)
def test_amounts_of_different_resources_are_never_added(facts: list[HolderFact], said: str) -> None:
    assert named(facts, None) == said
    assert named(reversed(facts), None).count("with") == said.count("with")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (several(6, cpus=0), "train × 6 on 6 GPUs"),
        ([f for task in range(6) for f in of(task, ("GPU", task), amount=0.5)], "train × 6 on 0.5 of each of 6 GPUs"),
        (
            [f for task in range(6) for f in of(task, ("GPU", task), amount=0.5 if task else 1)],
            "train × 6 on 3.5 of 6 GPUs",
        ),
    ],
)
def test_parts_of_many_devices_are_not_told_as_fewer_whole_ones(facts: list[HolderFact], said: str) -> None:
    assert named(facts, None) == said


def test_devices_with_one_number_on_two_nodes_are_counted() -> None:
    facts = of(0, ("GPU", 0)) + of(1, ("GPU", 0), node=THERE)
    assert named(facts, None) == "train × 2 on 2 GPUs"


def test_two_who_share_a_device_hold_it_together() -> None:
    facts = of(0, ("GPU", 0), amount=0.5) + of(1, ("GPU", 0), amount=0.5)
    assert named(facts, None) == "train × 2 on GPU 0"
