"""Many models in one deployment: which are kept, and where requests go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from nbaccel import serve
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


class Many:
    def __init__(self) -> None:
        self.loads: list[str] = []

    @serve.multiplexed(max_num_models_per_replica=2)
    async def load(self, model_id: str) -> str:
        self.loads.append(model_id)
        await asyncio.sleep(0)
        if model_id == "broken":
            raise KeyError(model_id)
        return f"model {model_id}"

    async def __call__(self, request: Any) -> list[Any]:
        model = await self.load(serve.get_multiplexed_model_id())
        return [model, serve.get_replica_context().replica_tag]

    async def loaded(self) -> list[str]:
        return self.loads


def test_a_model_is_loaded_once_and_the_least_recently_used_one_goes() -> None:
    async def program() -> list[str]:
        made = Many()
        assert await asyncio.gather(*(made.load("a") for _ in range(3))) == ["model a"] * 3
        for model in ("b", "a", "c", "a", "b"):
            await made.load(model)
        return made.loads

    assert asyncio.run(program()) == ["a", "b", "c", "b"]


def test_a_model_that_cannot_be_loaded_is_tried_again_by_the_next_who_asks() -> None:
    async def program() -> list[str]:
        made = Many()
        for _ in range(2):
            with pytest.raises(KeyError):
                await made.load("broken")
        return made.loads

    assert asyncio.run(program()) == ["broken", "broken"]


def test_requests_go_to_the_replica_that_had_their_model(door: Door) -> None:
    handle = serve.run(serve.deployment(Many).options(num_replicas=2).bind())
    for model in ("a", "b"):
        tags = {tuple(door("/", serve_multiplexed_model_id=model).json) for _ in range(6)}
        assert len(tags) == 1 and tags.pop()[0] == f"model {model}"
        assert handle.options(multiplexed_model_id=model).remote(None).result()[0] == f"model {model}"
