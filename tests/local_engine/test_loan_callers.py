"""A driver that has a worker on loan dies, or the head does: before, in or after the flight of a task."""

from __future__ import annotations

import pytest

import nbaccel
from tests.census import Place
from tests.heads import rows
from tests.local_engine import loan_programs
from tests.rig import wait_until

WAYS = {"through the head": "0", "on loan": "1"}


@pytest.mark.parametrize("by", ["another", "nobody"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_driver_dies(own_head: Place, way: str, by: str) -> None:
    """The result of the task in flight is wanted by another or by nobody; the driver itself wants nothing any more."""
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto", namespace="cells")
        program = loan_programs.BORROWER.format(is_kept=by == "another")
        if way == "0":
            program = loan_programs.through_the_head(program)
        driver = place.start(program, NBACCEL_STRAIGHT_CALLS="1", NBACCEL_LOANS=way)
        assert driver.stdout is not None
        said = driver.stdout.readline().split()
        while said and said[0] != "ready":
            said = driver.stdout.readline().split()
        assert said, driver.communicate()
        driver.kill()
        driver.communicate()
        keeper = nbaccel.get_actor("keeper")
        if by == "another":
            assert nbaccel.get(keeper.outcome.remote("in flight")) == "WorkerCrashedError"
        assert nbaccel.get(keeper.outcome.remote("after")) == 5
        nbaccel.kill(keeper)
        wait_until(lambda: not rows("objects"), "the last object to go")
        wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all to be free")
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_head_dies(place: Place, way: str) -> None:
    program = loan_programs.ORPHAN
    if way == "0":
        program = loan_programs.through_the_head(program)
    done = place.run(program, NBACCEL_STRAIGHT_CALLS="1", NBACCEL_LOANS=way)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "in flight, for the caller: HeadDiedError",
        "in flight, for another: HeadDiedError",
        "after, for the caller: 5",
        "after, for another: HeadDiedError",
        "before: HeadDiedError",
    ]
