"""Which machines there are, which have not joined and why: from what sources say, on a clock of the test's own."""

from __future__ import annotations

import pytest

from nbaccel.machines.sources import growing_machines
from nbaccel.machines.sources.growing_machines import GrowingMachines
from nbaccel.machines.sources.machines import FarMachine, MachineState, SourceError
from tests.machines.sources.types import slurm_type

WAITING, STARTING, ENDED = MachineState


class MadeUpSource:
    """Its machines are what the test says."""

    def __init__(self) -> None:
        self.listed: dict[str, FarMachine] = {}
        self.refuses = ""
        self.ended: list[str] = []
        self.begun = 0
        self.before_look = lambda: None

    def begin(self, node_type: str) -> FarMachine:
        self._refuse()
        self.begun += 1
        return self.say(f"m{self.begun}", WAITING, "waits in the queue")

    def say(self, id: str, state: MachineState, said: str) -> FarMachine:
        self.listed[id] = FarMachine(id, "gpu", state, said, "n1")
        return self.listed[id]

    def look(self) -> list[FarMachine]:
        self._refuse()
        found = list(self.listed.values())
        self.before_look()
        return found

    def end(self, id: str) -> None:
        self._refuse()
        self.ended.append(id)

    def close(self) -> None:
        pass

    def _refuse(self) -> None:
        if self.refuses:
            raise SourceError(self.refuses)


class World:
    def __init__(self) -> None:
        self.now = 100.0
        self.source = MadeUpSource()
        self.joined: set[str] | None = set()
        self.machines = GrowingMachines(
            {"made up": self.source}, {"gpu": "made up"}, lambda: self.joined, lambda: self.now
        )

    def said(self) -> list[str]:
        return [arrival.machine.said for arrival in self.machines.arrivals()]


@pytest.fixture
def world() -> World:
    return World()


def test_a_machine_arrives_until_its_node_has_joined(world: World) -> None:
    world.machines.begin("gpu")
    world.machines.look()
    assert world.said() == ["waits in the queue"]
    world.source.say("m1", STARTING, "Ray starts on n1")
    world.machines.look()
    assert world.said() == ["Ray starts on n1"]
    world.joined = {"m1", "head"}
    world.machines.look()
    assert world.said() == [] and list(world.machines.all()) == ["m1"]


def test_one_that_runs_long_without_joining_says_so(world: World) -> None:
    world.machines.begin("gpu")
    world.source.say("m1", STARTING, "Ray starts on n1")
    world.machines.look()
    world.now += 31
    assert world.said() == ["Ray starts on n1, and has not joined for 31 s"]


def test_a_machine_that_ends_before_it_joins_is_a_failure_and_the_next_one_waits(world: World) -> None:
    world.machines.begin("gpu")
    world.source.say("m1", ENDED, "there is no Ray on n1")
    world.machines.look()
    world.machines.look()  # a source may list it for minutes
    assert world.machines.all() == {} and world.machines.troubles()["gpu"].failures == 1
    with pytest.raises(SourceError, match=r"there is no Ray on n1 \(tried once; next try in 4 s\)"):
        world.machines.begin("gpu")
    assert world.source.begun == 1
    world.now += 5
    world.machines.begin("gpu")
    world.joined = {"m2"}
    world.machines.look()
    assert world.machines.troubles()["gpu"].failures == 0


def test_refusals_come_less_and_less_often(world: World) -> None:
    world.source.refuses = "Slurm refuses it"
    pauses = []
    for _ in range(7):
        with pytest.raises(SourceError):
            world.machines.begin("gpu")
        pauses.append(world.machines.troubles()["gpu"].try_at - world.now)
        world.now += pauses[-1]
    assert pauses == [4, 16, 64, 256, 600, 600, 600]


def test_a_machine_that_was_asked_to_end_is_no_failure(world: World) -> None:
    world.machines.begin("gpu")
    world.machines.end("m1")
    assert world.source.ended == ["m1"] and world.machines.all() == {}
    world.machines.look()  # the source lists it still
    assert world.machines.all() == {} and world.machines.troubles()["gpu"].failures == 0


def test_one_that_could_not_be_ended_is_still_there(world: World) -> None:
    world.machines.begin("gpu")
    world.source.refuses = "down"
    with pytest.raises(SourceError):
        world.machines.end("m1")
    assert list(world.machines.all()) == ["m1"]


def test_a_source_that_does_not_answer_leaves_the_last_picture_and_its_reason(world: World) -> None:
    world.machines.begin("gpu")
    world.source.refuses = "squeue has not answered for 20 s"
    world.machines.look()
    assert world.said() == ["waits in the queue (not seen since: squeue has not answered for 20 s)"]
    world.source.refuses = ""
    world.machines.look()
    assert world.said() == ["waits in the queue"]


def test_a_machine_that_was_begun_while_the_source_looked_has_not_ended(world: World) -> None:
    world.source.before_look = lambda: world.machines.begin("gpu")
    world.machines.look()
    assert list(world.machines.all()) == ["m1"] and world.machines.troubles()["gpu"].failures == 0


def test_one_that_is_not_listed_any_more_has_ended(world: World) -> None:
    world.machines.begin("gpu")
    world.source.listed.clear()
    world.machines.look()
    assert world.machines.all() == {} and "it is gone" in world.machines.troubles()["gpu"].why


def test_machines_of_an_earlier_autoscaler_are_found_again(world: World) -> None:
    world.source.say("m9", STARTING, "Ray runs on n1")
    world.joined = {"m9"}
    world.machines.look()
    assert list(world.machines.all()) == ["m9"] and world.said() == []


def test_ray_that_does_not_say_who_has_joined_changes_nothing(world: World) -> None:
    world.machines.begin("gpu")
    world.joined = None
    world.machines.look()
    assert world.said() == ["waits in the queue"]


def test_drivers_are_told_of_types_and_arrivals(world: World) -> None:
    types = {"gpu": slurm_type(num_gpus=1, accelerator_type="A100", min=0, max=2, idle_s=60.0)}
    world.machines.begin("gpu")
    world.machines.begin("gpu")
    world.joined = {"m1"}
    world.machines.look()
    told = growing_machines.arrivals_told(world.machines, types, world.now, 5000.0)
    (row,) = told["arrivals"]
    assert row == {"id": "m2", "node_type": "gpu", "source": "slurm", "state": "waits in the queue", "since": 5000}
    (kind,) = told["node_types"]
    assert (kind["here"], kind["arriving"], kind["max"], kind["failures"]) == (1, 1, 2, 0)
    assert kind["resources"] == {"CPU": 1, "GPU": 1, "accelerator_type:A100": 1}
