"""What actors can be beyond a class with a state: groups of calls, restarts, names that last, methods of every kind."""

from __future__ import annotations

import asyncio
import os

import pytest

import nbaccel
from nbaccel import exceptions


class Plain:
    """Not decorated: others derive from it."""

    kind = "plain"

    def __init__(self, start: int = 0):
        self.count = start

    def add(self, amount: int = 1):
        self.count += amount
        return self.count

    def name(self):
        return type(self).__name__, self.kind

    @staticmethod
    def double(value):
        return 2 * value

    @classmethod
    def of_class(cls):
        return cls.kind


def test_a_derived_class_keeps_what_it_inherits(nb):
    class Derived(Plain):
        kind = "derived"

        def add(self, amount: int = 1):
            return super().add(10 * amount)

    actor = nb.remote(Derived).remote(5)
    assert nb.get(actor.add.remote(2)) == 25
    assert nb.get(actor.name.remote()) == ("Derived", "derived")
    assert nb.get([actor.double.remote(4), actor.of_class.remote()]) == [8, "derived"]


def test_an_actor_class_is_not_derived_from(nb):
    with pytest.raises(TypeError, match="Inherit"):

        class Derived(nb.remote(Plain)):
            pass


def test_an_actor_says_when_it_is_ready_and_runs_what_it_is_given(nb):
    actor = nb.remote(Plain).remote(7)
    assert nb.get(actor.__ray_ready__.remote()) is True
    assert nb.get(actor.__ray_call__.remote(lambda self, more: self.count + more, 3)) == 10


def test_an_actor_terminates_when_it_is_asked_to(nb):
    actor = nb.remote(Plain).remote()
    nb.get(actor.add.remote())
    actor.__ray_terminate__.remote()
    with pytest.raises(exceptions.RayActorError):
        for _ in range(10_000):
            nb.get(actor.add.remote())


def test_groups_of_calls_have_limits_of_their_own(nb):
    @nb.remote(concurrency_groups={"io": 2, "compute": 1})
    class Grouped:
        @nb.method(concurrency_group="io")
        def io(self):
            return "io"

        @nb.method(concurrency_group="compute")
        def compute(self):
            return "compute"

        def other(self):
            return "other"

    actor = Grouped.remote()
    calls = [actor.io.remote(), actor.compute.remote(), actor.other.remote()]
    calls.append(actor.other.options(concurrency_group="io").remote())
    assert nb.get(calls) == ["io", "compute", "other", "other"]


def test_names_belong_to_a_namespace(nb):
    actor = nb.remote(Plain).options(name="here", namespace="one").remote(1)
    nb.get(actor.add.remote())
    assert nb.get(nb.get_actor("here", namespace="one").add.remote()) == 3
    with pytest.raises(ValueError, match="here"):
        nb.get_actor("here", namespace="two")
    assert {"name": "here", "namespace": "one"} in nb.util.list_named_actors(all_namespaces=True)
    nb.kill(actor)


def test_a_detached_actor_outlives_its_handle(nb):
    nb.get(nb.remote(Plain).options(name="stays", lifetime="detached").remote(4).add.remote())
    found = nb.get_actor("stays")
    assert nb.get(found.add.remote()) == 6
    nb.kill(found)


def test_handles_travel_inside_objects_and_between_actors(nb):
    @nb.remote
    class Keeper:
        def __init__(self, others):
            self.others = others

        def add_all(self):
            return nbaccel.get([other.add.remote() for other in self.others["all"]])

    actors = [nb.remote(Plain).remote(start) for start in (1, 2)]
    keeper = Keeper.remote({"all": actors})
    assert nb.get(keeper.add_all.remote()) == [2, 3]
    assert nb.get([actor.add.remote() for actor in actors]) == [3, 4]


def test_a_call_that_its_actor_did_not_survive_is_made_again(nb, tmp_path):
    if nbaccel.engine.current().name == "debug":
        return  # one process runs everything: what ends it ends the tests

    @nb.remote(max_restarts=1, max_task_retries=1)
    class Fragile:
        def survive(self, mark):
            if not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(1)
            return "made again"

    assert nb.get(Fragile.remote().survive.remote(str(tmp_path / "mark"))) == "made again"


def test_a_method_streams_and_returns_several(nb):
    @nb.remote
    class Maker:
        @nb.method(num_returns=3)
        def three(self):
            return 1, 2, 3

        async def later(self):
            for number in range(3):
                yield number

    maker = Maker.remote()
    assert nb.get(maker.three.remote()) == [1, 2, 3]
    assert [nb.get(ref) for ref in maker.later.remote()] == [0, 1, 2]


def test_a_thousand_calls_of_an_async_actor_are_under_way_at_once(nb):
    @nb.remote
    class Crowd:
        def __init__(self):
            self.here = self.most = 0
            self.met = asyncio.Event()

        async def meet(self):
            self.here += 1
            self.most = max(self.most, self.here)
            if self.here == 1000 or alone:
                self.met.set()
            await self.met.wait()
            self.here -= 1
            return self.most

    alone = nb.engine.current().name == "debug"  # one call after the other
    crowd = Crowd.remote()
    found = nb.get([crowd.meet.remote() for _ in range(1000)])
    assert max(found) == (1 if alone else 1000)


def test_tasks_wait_for_tasks_to_any_depth(nb):
    @nb.remote
    def down(depth):
        return depth and 1 + nbaccel.get(down.remote(depth - 1))

    assert nb.get(down.remote(10)) == 10
