"""The meeting point of a worker group: messages, when to stop, and meetings."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

import pytest

from nbaccel.train.mailbox import Mailbox


def run(body: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(body, 30))


async def started(size: int = 2, first: int = 0) -> Mailbox:
    box = Mailbox()
    await box.begin(0, size, first)
    return box


def test_messages_come_in_order_and_once() -> None:
    async def body() -> None:
        box = await started()
        for number in range(3):
            assert await box.put(0, 1, "report", number, {"n": number}) is None
        first, messages = await box.take(0, 0)
        assert first == 0 and [each[2] for each in messages] == [0, 1, 2]
        assert await box.take(0, 0) == (3, [])

    run(body())


def test_a_question_waits_for_news() -> None:
    async def body() -> None:
        box = await started()
        asked = asyncio.create_task(box.take(0, 30))
        await asyncio.sleep(0)
        await box.put(0, 0, "report", 0, {})
        first, messages = await asked
        assert first == 0 and len(messages) == 1
        assert await box.take(0, 0.001) == (1, [])

    run(body())


def test_all_ranks_stop_after_the_same_report() -> None:
    async def body() -> None:
        box = await started(first=10)
        await box.put(0, 0, "report", 10, {})
        await box.put(0, 0, "report", 11, {})
        await box.stop(0)
        # Rank 0 may have called report 12 before it reads the answer to 11, but not 13. Rank 1 learns it with its 10.
        assert await box.put(0, 1, "report", 10, {}) == 13
        assert await box.put(0, 0, "report", 12, {}) == 13
        await box.stop(0)
        assert await box.put(0, 0, "report", 13, {}) == 13

    run(body())


def test_what_an_ended_worker_group_says_is_dropped() -> None:
    async def body() -> None:
        box = await started()
        await box.begin(1, 2, 5)
        assert await box.put(0, 0, "report", 3, {}) is None
        await box.stop(0)
        assert await box.take(1, 0) == (0, []) and await box.put(1, 0, "report", 5, {}) is None

    run(body())


def test_ranks_meet_and_get_what_rank_zero_gave() -> None:
    async def body() -> None:
        box = await started(3)
        waiting = [asyncio.create_task(box.meet(0, "broadcast/1", rank, rank + 10)) for rank in (2, 0)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        assert await box.meet(0, "broadcast/1", 1, 11) == 10
        assert await asyncio.gather(*waiting) == [10, 10]

    run(body())


def test_a_new_worker_group_lets_go_of_those_who_wait() -> None:
    async def body() -> None:
        box = await started(2)
        waiting = asyncio.create_task(box.meet(0, "barrier/1", 0, None))
        await asyncio.sleep(0)
        await box.begin(1, 2, 0)
        assert await waiting is None

    run(body())


async def waiting(box: Mailbox, report: int) -> asyncio.Task[None]:
    """A rank that waits for the commit of this report."""
    asked = asyncio.create_task(box.when_committed(0, report))
    for _ in range(3):
        await asyncio.sleep(0)
    return asked


def test_a_rank_waits_for_the_commit_of_its_last_checkpoint() -> None:
    async def body() -> None:
        box = await started()
        third = await waiting(box, 2)
        await box.committed(0, 1)
        await box.when_committed(0, 1)
        assert not third.done()
        await box.committed(0, 2)
        await third

    run(body())


@pytest.mark.parametrize("how", ["stop", "a new worker group", "the run's end", "a part is missing"])
def test_a_rank_that_waits_for_a_commit_goes_on_when_nobody_is_to_wait(how: str) -> None:
    async def body() -> None:
        box = await started()
        asked = await waiting(box, 0)
        match how:
            case "stop":
                await box.stop(0)
            case "a new worker group":
                await box.begin(1, 2, 0)
            case "the run's end":
                await box.begin(-1, 0, 0)
            case _:
                await box.committed(0, math.inf)
                await box.committed(0, 0)
        await asked
        await box.when_committed(0, 5)

    run(body())
