"""Connections between drivers and actors: whoever has come and gone, no process keeps a descriptor."""

from __future__ import annotations

import gc
import os
from functools import partial
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from tests.census import Place
from tests.heads import rows
from tests.local_engine.direct_programs import Called, call, sent_directly
from tests.rig import wait_until

ACTORS, HANDLES, DRIVERS = 100, 10, 50


def of_process(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def connections() -> int:
    started: Any = engines.started()
    return len(started.direct.listened)


def are_direct(made: list[Any], handles: list[Any]) -> bool:
    """Call by each handle; whether each actor has had a direct call."""
    assert nbaccel.get([call(handle, "echo", 2) for handle in handles]) == [2] * len(handles)
    return all(sent_directly(actor) for actor in made)


def call_through_many_handles(actors: int) -> None:
    """Call each of some actors by ten handles, at first through the head, then directly, and let all of them go."""
    made = [Called.options(num_cpus=0).remote() for _ in range(actors)]
    handles = [handle for actor in made for handle in nbaccel.get(nbaccel.put([actor] * HANDLES))]
    assert nbaccel.get([call(handle, "echo", 1) for handle in handles]) == [1] * len(handles)
    wait_until(lambda: connections() == actors, "all connections")
    wait_until(partial(are_direct, made, handles), "direct calls")  # some may leave just before a line is in use
    del made, handles
    gc.collect()
    wait_until(lambda: connections() == 0, "the end of all connections")
    wait_until(lambda: not [row for row in rows("actors") if row["state"] != "DEAD"], "the end of all actors")


def test_a_thousand_handles_to_a_hundred_actors_leave_no_descriptor(own_head: Place) -> None:
    os.environ["NBACCEL_DIRECT_CALLS"] = "1"
    nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
    head = nbaccel.snapshot().runtime.pid
    call_through_many_handles(2)
    before = {pid: of_process(pid) for pid in (os.getpid(), head)}
    call_through_many_handles(ACTORS)
    for pid, number in before.items():
        wait_until(lambda pid=pid, number=number: of_process(pid) <= number, "the last descriptor to be closed")


@pytest.mark.slow
def test_fifty_drivers_of_one_head_leave_no_descriptor(own_head: Place) -> None:
    place = own_head
    os.environ["NBACCEL_DIRECT_CALLS"] = "1"
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto")
        head = nbaccel.snapshot().runtime.pid
        call_through_many_handles(1)
        before = of_process(os.getpid()), of_process(head)
        for _ in range(DRIVERS):
            nbaccel.shutdown()
            nbaccel.init(address="auto")
            call_through_many_handles(1)
        wait_until(lambda: of_process(os.getpid()) <= before[0], "this process's last descriptor to be closed")
        wait_until(lambda: of_process(head) <= before[1], "the head's last descriptor to be closed")
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0
