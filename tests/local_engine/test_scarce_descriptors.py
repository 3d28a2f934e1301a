"""A driver that may open no more files calls its actors through the head."""

from __future__ import annotations

import os
from typing import Any

import pytest

import nbaccel
from tests.census import Place
from tests.local_engine.direct_programs import Called, same, sent_directly
from tests.local_engine.scarce_descriptors import room_for
from tests.rig import wait_until

ACTORS = 12


def make_and_call(count: int) -> tuple[list[Any], list[bool]]:
    """Actors, and whether the last calls of each were direct."""
    actors = [Called.options(num_cpus=0).remote() for _ in range(count)]
    for number in range(20):
        assert nbaccel.get([actor.echo.remote(number) for actor in actors]) == [number] * count
        assert nbaccel.get(same.remote(number)) == number
    return actors, [sent_directly(actor) for actor in actors]


@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_the_first_connection_may_find_no_room(own_head: Place, room: int) -> None:
    os.environ["NBACCEL_DIRECT_CALLS"] = "1"
    nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
    assert nbaccel.get(same.remote(1)) == 1
    actor = Called.options(num_cpus=0).remote()
    with room_for(room):
        assert [nbaccel.get(actor.echo.remote(number)) for number in range(10)] == list(range(10))
        assert nbaccel.snapshot().actors  # the head answers


def test_actors_of_a_driver_without_free_descriptors_are_called_through_the_head(own_head: Place) -> None:
    os.environ["NBACCEL_DIRECT_CALLS"] = "1"
    nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
    wait_until(lambda: all(make_and_call(1)[1]), "a direct call, with all that it imports")
    with room_for(3):
        actors, ways = make_and_call(ACTORS)
        pids = nbaccel.get([actor.pid.remote() for actor in actors])
    assert len(set(pids)) == ACTORS and not all(ways)
    assert nbaccel.get([actor.pid.remote() for actor in actors]) == pids
