"""A caller or the head dies before, in or after the flight of a call whose result somebody or nobody wants."""

from __future__ import annotations

import pytest

import nbaccel
from tests.census import Place
from tests.heads import rows
from tests.local_engine import direct_programs
from tests.rig import is_alive, wait_until

WAYS = {"through the head": "0", "direct": "1"}


@pytest.mark.parametrize("kind", direct_programs.CALLED)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_caller_dies(own_head: Place, way: str, kind: str) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto", namespace="cells")
        caller = place.start(direct_programs.CALLER, NBACCEL_DIRECT_CALLS=way, KIND=kind)
        assert caller.stdout is not None
        said = caller.stdout.readline().split()
        while said and said[0] != "ready":
            said = caller.stdout.readline().split()
        assert said, caller.communicate()
        assert said[2] == ("5" if way == "1" else "0")
        caller.kill()
        caller.communicate()
        wait_until(lambda: not is_alive(int(said[1])), "the end of the actor")
        keeper = nbaccel.get_actor("keeper")
        found = [nbaccel.get(keeper.outcome.remote(when)) for when in ("in flight", "behind it", "after")]
        behind = 6 if kind == "asyncio" else "WorkerCrashedError"  # such calls need not wait for each other
        assert found == ["WorkerCrashedError", behind, 5]
        nbaccel.kill(keeper)
        wait_until(lambda: not rows("objects"), "the last object to go")
        wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all to be free")
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


@pytest.mark.parametrize("kind", direct_programs.CALLED)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_head_dies(place: Place, way: str, kind: str) -> None:
    done = place.run(direct_programs.ORPHAN, NBACCEL_DIRECT_CALLS=way, KIND=kind)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first == f"sent directly: {4 if way == '1' else 0}"
    assert others == [
        "in flight, for the caller: HeadDiedError",
        "in flight, for another: HeadDiedError",
        "after, for the caller: 5",
        "after, for another: HeadDiedError",
        "before: HeadDiedError",
        "the actor has ended",
    ]
