"""Records of ended tasks that were packed and made again say what they said before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nbaccel.local_engine.head.idle_compaction import LOOK_S, WORTH_IT, pack
from nbaccel.local_engine.head.records import entry_of
from nbaccel.scheduling.tasks import TaskRecord
from tests.local_engine.head_world import HeadWorld


@pytest.fixture
def world() -> Iterator[HeadWorld]:
    made = HeadWorld()
    yield made
    made.end()


def run_all(world: HeadWorld, number: int) -> None:
    world.submit_together("task", number)
    while workers := world.running():
        for worker in workers:
            world.return_together(worker, 64)


def fields(part: Any) -> list[Any]:
    return [getattr(part, name) for name in part.__struct_fields__]


def facts(record: TaskRecord) -> list[Any]:
    """All that is said of a task; what it shares with others by identity."""
    task, entry = record.task, entry_of(record.task)
    said = [*fields(record)[1:], *fields(task), *fields(entry)[1:], *fields(entry.submit)]
    return [id(part) if isinstance(part, msgspec.Struct) else part for part in said if part is not entry]


def known(world: HeadWorld) -> dict[int, list[Any]]:
    return {record.seq: facts(record) for record in world.wiring.scheduler.ended()}


def test_what_is_known_of_ended_tasks_stays_the_same_and_in_its_order(world: HeadWorld) -> None:
    run_all(world, 40)
    world.submit("task")
    world.returns(world.running()[0], failed=True)
    before, stories = known(world), [record.story for record in world.wiring.scheduler.ended()]
    world.wiring.scheduler.let_go_of_ended(pack)()
    world.wiring.scheduler.check()
    assert known(world) == before and list(known(world)) == list(before)
    for record in world.wiring.scheduler.ended():
        assert world.wiring.scheduler.task_record(record.task.task_id) is record
    after = [record.story for record in world.wiring.scheduler.ended()]
    made_anew = sum(new is not old for new, old in zip(after, stories, strict=True))
    assert made_anew >= 40  # all but the failed one, whose call is kept to be run again


def test_a_record_that_somebody_else_holds_stays_that_one(world: HeadWorld) -> None:
    run_all(world, 6)
    held = next(world.wiring.scheduler.ended())
    entry = entry_of(list(world.wiring.scheduler.ended())[2].task)
    world.wiring.scheduler.let_go_of_ended(pack)()
    records = list(world.wiring.scheduler.ended())
    assert records[0] is held and entry_of(records[2].task) is entry
    assert len(records) == 6


def test_tasks_that_have_not_ended_stay_where_they_are(world: HeadWorld) -> None:
    run_all(world, 4)
    ids = world.submit_together("task", 10)
    waiting = [world.wiring.scheduler.task_record(id) for id in ids]
    world.wiring.scheduler.let_go_of_ended(pack)()
    assert [world.wiring.scheduler.task_record(id) for id in ids] == waiting
    while workers := world.running():
        for worker in workers:
            world.return_together(worker, 4)
    assert all(record is not None and record.over for record in waiting)


def test_after_many_tasks_and_a_rest_the_head_knows_what_it_knew(world: HeadWorld) -> None:
    run_all(world, WORTH_IT)
    before, oldest = known(world), list(world.wiring.scheduler.ended())[-1].story
    moves = [worker.story for worker in world.wiring.scheduler._workers.records.values()]
    world.jump(1.1 * LOOK_S)
    world.jump(1.1 * LOOK_S)
    assert list(world.wiring.scheduler.ended())[-1].story is not oldest
    assert known(world) == before and len(before) == WORTH_IT
    assert [worker.story for worker in world.wiring.scheduler._workers.records.values()] == moves
    run_all(world, 4)
    assert len(known(world)) == WORTH_IT
