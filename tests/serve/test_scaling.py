"""Replicas that come with the demand and go without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbaccel
from nbaccel import serve
from nbaccel.serve.controlling import Scaler
from nbaccel.serve.records import AutoscalingConfig
from tests.rig import Gate, wait_until
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


def test_a_demand_that_lasts_grows_at_once_to_what_it_needs_within_the_bounds() -> None:
    scaler = Scaler(AutoscalingConfig(max_replicas=4, target_ongoing_requests=2), 1)
    assert [scaler.look(7, now) for now in (0.0, 1.9)] == [1, 1]
    assert scaler.look(7, 2.0) == 4
    assert scaler.wish(100) == 4 and scaler.wish(0) == 1


def test_a_burst_that_ends_grows_nothing() -> None:
    scaler = Scaler(AutoscalingConfig(max_replicas=4), 1)
    scaler.look(9, 0.0)
    scaler.look(1, 1.0)
    assert scaler.look(9, 2.5) == 1


def test_it_shrinks_after_its_delay_to_the_most_that_was_wished_meanwhile() -> None:
    scaler = Scaler(AutoscalingConfig(max_replicas=4, target_ongoing_requests=1), 4)
    assert [scaler.look(demand, now) for demand, now in ((1, 0.0), (3, 30.0), (1, 59.0))] == [4, 4, 4]
    assert scaler.look(1, 60.0) == 3


def test_a_deployment_grows_with_what_waits_at_the_door_and_shrinks_afterwards(door: Door) -> None:
    gate = Gate.remote()
    bounds = {"max_replicas": 3, "target_ongoing_requests": 1, "upscale_delay_s": 0, "downscale_delay_s": 0}

    @serve.deployment(max_ongoing_requests=1, autoscaling_config=bounds)
    class Model:
        async def __call__(self, request: Any) -> str:
            await gate.wait.remote()
            return "ok"

    handle = serve.run(Model.bind())

    def serving() -> int:
        return serve.status().applications["default"].deployments["Model"].replica_states.get("RUNNING", 0)

    responses = [handle.remote(None) for _ in range(4)]
    wait_until(lambda: serving() == 3, "three replicas")
    nbaccel.get(gate.open.remote())
    assert [each.result() for each in responses] == ["ok"] * 4
    wait_until(lambda: serving() == 1, "one replica")


def test_it_grows_only_within_what_is_free(door: Door) -> None:
    gate = Gate.remote()
    bounds = {"max_replicas": 5, "target_ongoing_requests": 1, "upscale_delay_s": 0}

    @serve.deployment(ray_actor_options={"num_gpus": 1}, autoscaling_config=bounds)
    class Model:
        async def __call__(self, request: Any) -> str:
            await gate.wait.remote()
            return "ok"

    handle = serve.run(Model.bind(), route_prefix=None)
    responses = [handle.remote(None) for _ in range(5)]

    def states() -> dict[str, int]:
        return serve.status().applications["default"].deployments["Model"].replica_states

    wait_until(lambda: states() == {"RUNNING": 2}, "both devices")
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 5, "the requests")
    assert states() == {"RUNNING": 2}
    nbaccel.get(gate.open.remote())
    assert [each.result() for each in responses] == ["ok"] * 5


def test_no_replica_at_all_is_read_as_one(door: Door, capfd: Any) -> None:
    @serve.deployment(autoscaling_config={"min_replicas": 0, "max_replicas": 2})
    def hello() -> str:
        return "hello"

    serve.run(hello.bind())
    assert door().text == "hello"
    serve.run(hello.options(num_replicas="auto", autoscaling_config=None).bind())
    assert door().text == "hello"
