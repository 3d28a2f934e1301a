"""A driver that has a worker on loan dies, or the head does: before, in or after the flight of a task."""

from __future__ import annotations

import pytest

import nbaccel
from tests.census import Place
from tests.heads import rows
from tests.local_engine import loan_programs
from tests.rig import wait_until

WAYS = {"through the head": "0", "on loan": "1"}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_driver_dies(own_head: Place, way: str) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto", namespace="cells")
        program = loan_programs.BORROWER
        if way == "0":
            program = program.replace("programs.on_loan(programs.same, ", "programs.same.remote(")
            program = program.replace("programs.on_loan(programs.wait_for, ", "programs.wait_for.remote(")
        driver = place.start(program, NBACCEL_STRAIGHT_CALLS="1", NBACCEL_LOANS=way)
        assert driver.stdout is not None
        said = driver.stdout.readline().split()
        while said and said[0] != "ready":
            said = driver.stdout.readline().split()
        assert said, driver.communicate()
        driver.kill()
        driver.communicate()
        keeper = nbaccel.get_actor("keeper")
        assert nbaccel.get(keeper.outcome.remote("in flight")) == "WorkerCrashedError"
        assert nbaccel.get(keeper.outcome.remote("after")) == 5
        nbaccel.kill(keeper)
        wait_until(lambda: not rows("objects"), "the last object to go")
        wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all to be free")
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


def test_a_head_dies(place: Place) -> None:
    done = place.run(loan_programs.ORPHAN, NBACCEL_STRAIGHT_CALLS="1", NBACCEL_LOANS="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["in flight: HeadDiedError", "after: 5", "before: HeadDiedError"]
