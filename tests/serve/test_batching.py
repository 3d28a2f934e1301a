"""Batches: who goes into which, what comes back, and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from nbaccel import serve
from nbaccel.serve.exceptions import RayServeException
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


def together(*calls: Any) -> list[Any]:
    """Wait for all of them; an exception is in its place."""

    async def gathered() -> list[Any]:
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(gathered())


class Recorder:
    """A batched method whose time never comes: only a full batch begins."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    @serve.batch(max_batch_size=3, batch_wait_timeout_s=1000)
    async def double(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        return [2 * item for item in items]

    @serve.batch(max_batch_size=10, batch_wait_timeout_s=0)
    def plain(self, items: list[int], factors: list[int]) -> list[int]:
        return [item * factor for item, factor in zip(items, factors, strict=True)]

    @serve.batch(max_batch_size=2, batch_wait_timeout_s=1000)
    async def short(self, items: list[int]) -> list[int]:
        return items[:1]

    @serve.batch(max_batch_size=2, batch_wait_timeout_s=1000)
    async def fails(self, items: list[int]) -> list[int]:
        raise KeyError(items)

    @serve.batch(max_batch_size=2, batch_wait_timeout_s=1000)
    async def streams(self, items: list[int]) -> AsyncIterator[list[int]]:
        for step in range(3):
            yield [item + step for item in items]


def test_a_full_batch_begins_at_once_and_results_go_back_by_position() -> None:
    made = Recorder()
    assert together(*(made.double(item) for item in range(6))) == [0, 2, 4, 6, 8, 10]
    assert made.batches == [[0, 1, 2], [3, 4, 5]]


def test_a_batch_that_is_not_full_begins_when_its_time_is_up() -> None:
    made = Recorder()
    made.double.set_batch_wait_timeout_s(0.01)
    try:
        assert together(made.double(1), made.double(2)) == [2, 4]
    finally:
        made.double.set_batch_wait_timeout_s(1000)


def test_a_plain_function_is_batched_in_a_thread_and_a_wait_of_zero_sends_what_there_is() -> None:
    made = Recorder()
    assert together(made.plain(2, factors=5), made.plain(3, factors=7)) == [10, 21]


def test_a_wrong_length_is_an_error_with_both_numbers_and_the_next_batch_works() -> None:
    made = Recorder()
    for error in together(made.short(1), made.short(2)):
        assert isinstance(error, RayServeException)
        assert "1 results for 2 items" in str(error)
    assert together(*(made.double(item) for item in range(3))) == [0, 2, 4]


def test_an_exception_goes_to_all_of_the_batch() -> None:
    made = Recorder()
    assert [type(error) for error in together(made.fails(1), made.fails(2))] == [KeyError, KeyError]


def test_a_batched_generator_gives_each_its_own_stream() -> None:
    made = Recorder()

    async def items(start: int) -> list[int]:
        return [item async for item in made.streams(start)]

    assert together(items(0), items(10)) == [[0, 1, 2], [10, 11, 12]]


def test_a_batch_has_the_size_that_a_function_of_its_items_gives() -> None:
    seen: list[list[str]] = []

    @serve.batch(max_batch_size=5, batch_wait_timeout_s=0.01, batch_size_fn=lambda items: sum(map(len, items)))
    async def join(items: list[str]) -> list[int]:
        seen.append(items)
        return [len(item) for item in items]

    assert together(join("abc"), join("de"), join("f")) == [3, 2, 1]
    assert seen == [["abc", "de"], ["f"]]


def test_a_caller_that_was_cancelled_is_in_no_batch() -> None:
    made = Recorder()

    async def program() -> list[int]:
        left = asyncio.ensure_future(made.double(1))
        await asyncio.sleep(0)
        left.cancel()
        return list(await asyncio.gather(*(made.double(item) for item in (2, 3, 4))))

    assert asyncio.run(program()) == [4, 6, 8]


def test_the_limit_of_a_replica_follows_its_batches(door: Door) -> None:
    class Embedder:
        @serve.batch(max_batch_size=16, batch_wait_timeout_s=1000)
        async def embed(self, texts: list[str]) -> list[int]:
            return [len(texts)] * len(texts)

        async def __call__(self, text: str) -> int:
            return await self.embed(text)  # type: ignore[no-any-return]

    made = serve.deployment(Embedder)
    assert made.max_ongoing_requests == 16
    handle = serve.run(made.bind(), route_prefix=None)
    assert {response.result() for response in [handle.remote("a") for _ in range(16)]} == {16}
    with pytest.raises(ValueError, match=r"lets 5 requests in at once .* need 16"):
        made.options(max_ongoing_requests=5).bind()


def test_wrong_limits_are_refused_where_they_are_given() -> None:
    with pytest.raises(ValueError, match="max_batch_size"):
        serve.batch(max_batch_size=0)
    with pytest.raises(ValueError, match="batch_wait_timeout_s"):
        serve.batch(batch_wait_timeout_s=-1)
    with pytest.raises(TypeError, match="async or plain"):
        serve.batch(3)
