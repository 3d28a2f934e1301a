"""When the head takes a rest to give memory back, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nbaccel.local_engine.head.idle_compaction import LOOK_S, TOO_MANY, WORTH_IT, IdleCompaction
from tests.local_engine.head.seams import Clock


class Part:
    """Writes down when its records go and come back."""

    def __init__(self, name: str, done: list[str]) -> None:
        self.name = name
        self.done = done
        self.fails = False
        self.comes_back = True

    def let_go(self) -> Callable[[], None]:
        if self.fails:
            raise MemoryError(self.name)
        self.done.append(f"{self.name} go")
        return self.come

    def come(self) -> None:
        if not self.comes_back:
            raise MemoryError(self.name)
        self.done.append(f"{self.name} come")


class Resting:
    """A rest of a scheduler and another part."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.ended = 0
        self.left = 0
        self.bars = Part("bars", self.done)
        self.clock = Clock()
        self.rest = IdleCompaction(self.clock, self, lambda: [self.bars.let_go], lambda: self.done.append("trim"))

    def let_go_of_ended(self, pack: object) -> Callable[[], None]:
        return Part("tasks", self.done).let_go()

    def ended_so_far(self) -> int:
        return self.ended

    def unfinished(self) -> int:
        return self.left

    def work(self, tasks: int = WORTH_IT) -> None:
        self.ended += tasks
        self.rest.stir()


@pytest.fixture
def resting() -> Resting:
    return Resting()


def test_in_a_rest_all_parts_go_before_the_first_comes_back(resting: Resting) -> None:
    resting.work()
    resting.clock.jump(3 * LOOK_S)
    assert resting.done == ["tasks go", "bars go", "bars come", "tasks come", "trim"]


def test_there_is_no_rest_while_something_happens(resting: Resting) -> None:
    for _ in range(20):
        resting.work()
        resting.clock.jump(LOOK_S)
    assert not resting.done
    resting.clock.jump(LOOK_S)
    assert resting.done


def test_after_few_tasks_there_is_none(resting: Resting) -> None:
    resting.work(WORTH_IT - 1)
    resting.clock.jump(10 * LOOK_S)
    assert not resting.done
    resting.work(1)
    resting.clock.jump(10 * LOOK_S)
    assert resting.done.count("trim") == 1


def test_there_is_a_second_one_when_something_has_happened_since_and_no_third(resting: Resting) -> None:
    resting.work()
    resting.clock.jump(10 * LOOK_S)
    for _ in range(3):
        resting.rest.stir()
        resting.clock.jump(10 * LOOK_S)
    assert resting.done.count("trim") == 2


def test_there_is_none_while_many_tasks_wait(resting: Resting) -> None:
    resting.left = TOO_MANY + 1
    resting.work()
    resting.clock.jump(10 * LOOK_S)
    assert not resting.done
    resting.left = 0
    resting.rest.stir()
    resting.clock.jump(10 * LOOK_S)
    assert resting.done


def test_what_has_gone_comes_back_even_if_another_part_fails(resting: Resting) -> None:
    resting.bars.fails = True
    resting.work()
    with pytest.raises(MemoryError):
        resting.clock.jump(3 * LOOK_S)
    assert resting.done == ["tasks go", "tasks come"]


def test_the_others_come_back_even_if_one_cannot(resting: Resting) -> None:
    resting.bars.comes_back = False
    resting.work()
    with pytest.raises(MemoryError):
        resting.clock.jump(3 * LOOK_S)
    assert resting.done == ["tasks go", "bars go", "tasks come"]


def test_a_head_at_rest_has_no_timer(resting: Resting) -> None:
    resting.work()
    resting.clock.jump(10 * LOOK_S)
    assert not resting.clock._timers
