"""Any sequence of requests and releases, beside a rule book of a few lines: the same devices, and nothing is leaked."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import HEAD, World, node

QUANTITIES = [0.0001, 0.1, 0.25, 0.3333, 0.5, 0.6, 0.9999, 1, 2, 3, 5]


def by_the_book(free: list[int], amount: int, partitions: set[int]) -> list[tuple[int, int]] | None:
    """The devices that a demand must get of those with so much free; None when it must wait.

    Whole devices are the lowest-numbered that are unused, two or more never from partitions. A fraction goes to the
    fullest device that holds it, the lowest-numbered of equals, and to one only.
    """
    if amount >= UNIT:
        count = amount // UNIT
        unused = [index for index, left in enumerate(free) if left == UNIT and (count == 1 or index not in partitions)]
        return [(index, UNIT) for index in unused[:count]] if len(unused) >= count else None
    holding = sorted((left, index) for index, left in enumerate(free) if left >= amount)
    return [(holding[0][1], amount)] if holding else None


class Packing(RuleBasedStateMachine):
    """Tasks come, get what the book says or do not start, and end in any order and way."""

    @initialize(count=st.integers(1, 4), data=st.data())
    def begin(self, count: int, data: st.DataObject) -> None:
        self.partitions = data.draw(st.sets(st.integers(0, count - 1)))
        specs = [DeviceSpec("GPU", index, is_partition=index in self.partitions) for index in range(count)]
        self.world = World(node("head", specs, CPU=1000))
        self.free = [UNIT] * count
        self.held: dict[bytes, tuple[Task, list[tuple[int, int]]]] = {}

    @rule(quantity=st.sampled_from(QUANTITIES))
    def ask(self, quantity: float) -> None:
        expected = by_the_book(self.free, round(quantity * UNIT), self.partitions)
        task = self.world.gpu_task("f", quantity)
        self.world.ready()
        assert self.world.is_sent(task) == (expected is not None), f"{quantity} of {self.free}"
        if expected is None:
            self.world.notify(ev.CancelRequested(task.task_id))
            return
        assert self.world.devices_of(task) == {"GPU": expected}
        self._book(expected, -1)
        self.held[task.task_id] = (task, expected)

    def _book(self, parts: list[tuple[int, int]], sign: int) -> None:
        for index, amount in parts:
            self.free[index] += sign * amount

    @precondition(lambda self: self.held)
    @rule(data=st.data(), how=st.sampled_from(["returns", "fails", "dies", "is killed when cancelled"]))
    def release(self, data: st.DataObject, how: str) -> None:
        task, parts = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        worker = self.world.worker_of(task)
        if how == "is killed when cancelled":
            self.world.notify(ev.CancelRequested(task.task_id, force=True))
        elif how != "dies":
            self.world.returns(task, failed=how == "fails")
        self.world.dies(worker)
        self._book(parts, +1)

    @invariant()
    def the_books_agree(self) -> None:
        if hasattr(self, "world"):
            rooms = [device.free_amount() for device in self.world.scheduler.devices(HEAD)]
            assert rooms == self.free

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for task, parts in self.held.values():
            worker = self.world.worker_of(task)
            self.world.returns(task)
            self.world.dies(worker)
            self._book(parts, +1)
        scheduler = self.world.scheduler
        assert self.free == [UNIT] * len(self.free)
        assert scheduler.node_available(HEAD) == scheduler.node_totals(HEAD)
        assert not scheduler.device_holders(HEAD)
        assert not list(scheduler.waiting()) and not list(scheduler.running())


Packing.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestPacking = Packing.TestCase
