"""What actors can be beyond a class with a state: groups of calls, restarts, names that last, methods of every kind."""

from __future__ import annotations

import asyncio
import os

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.actor import ActorClassInheritanceException
from tests.engines.conftest import death_of
from tests.rig import wait_until


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
    with pytest.raises(ActorClassInheritanceException, match="derive from the undecorated class"):

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
    death_of(actor.add.remote)


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
    assert "here" not in nb.util.list_named_actors()
    nb.kill(actor)


def test_a_detached_actor_outlives_its_handle(nb):
    nb.get(nb.remote(Plain).options(name="outlives", lifetime="detached").remote(4).add.remote())
    found = nb.get_actor("outlives")
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

    # On Ray, each try until the actor's end is told is one, and that may take seconds.
    @nb.remote(max_restarts=1, max_task_retries=-1)
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


# ---- constructors of asyncio actors


@nbaccel.remote
class Beating:
    """Its constructor uses the loop that its methods run in."""

    def __init__(self):
        self.beats = 0
        self.future = asyncio.get_running_loop().create_future()
        self.beating = asyncio.create_task(self.beat())

    async def beat(self):
        self.beats += 1
        self.future.set_result("beaten")

    async def read(self):
        return await self.future, self.beats


def test_the_constructor_of_an_asyncio_actor_runs_in_its_loop(nb):
    assert nb.get(Beating.remote().read.remote()) == ("beaten", 1)


def test_a_constructor_may_be_a_coroutine(nb):
    @nb.remote
    class Late:
        async def __init__(self, value, *, twice=False):
            await asyncio.sleep(0)
            self.value = value * 2 if twice else value

        async def read(self):
            return self.value

    assert nb.get(Late.remote(3, twice=True).read.remote()) == 6


def test_what_a_constructor_in_a_loop_raises_is_told(nb):
    @nb.remote
    class Broken:
        def __init__(self):
            raise ValueError("no such file")

        async def read(self): ...

    with pytest.raises(exceptions.ActorDiedError, match="no such file"):
        nb.get(Broken.remote().read.remote())


def test_a_constructor_in_a_loop_may_wait_for_tasks(nb):
    @nb.remote
    def one():
        return 1

    @nb.remote
    class Reader:
        def __init__(self):
            self.value = nbaccel.get(one.remote())

        async def read(self):
            return self.value

    assert nb.get(Reader.remote().read.remote()) == 1


# ---- order


@pytest.mark.parametrize("kind", ["asyncio", "threads"])
def test_calls_that_are_ready_pass_those_that_wait_where_many_run_at_once(nb, late, kind):
    @nb.remote
    class Hub:
        async def store(self, value):
            return value

    @nb.remote(max_concurrency=2)
    class Threaded:
        def store(self, value):
            return value

    actor = (Hub if kind == "asyncio" else Threaded).remote()
    waits, ready = actor.store.remote(late.ref), actor.store.remote("ready")
    assert nb.get(ready, timeout=60) == "ready"
    late.come()
    assert nb.get(waits) == "late"


def test_order_cannot_be_asked_of_actors_that_run_many_calls_at_once(nb):
    @nb.remote
    class Hub:
        async def call(self): ...

    with pytest.raises(ValueError, match="allow_out_of_order_execution=True"):
        Hub.options(allow_out_of_order_execution=False).remote()


# ---- places and names


@nbaccel.remote
class Speaker:
    def __init__(self, self_name=""):
        self.self_name = self_name

    def read(self, **named):
        return named or self.self_name


def test_an_actor_that_keeps_no_cpu_starts_when_all_cpus_are_held(nb):
    holders = [Speaker.options(num_cpus=1).remote() for _ in range(4)]
    nb.get([each.read.remote() for each in holders])
    assert nb.get(Speaker.remote("here").read.remote(), timeout=60) == "here"


def test_a_name_is_free_when_its_actor_went_out_of_scope(nb):
    def made_and_left():
        try:
            return nb.get(Speaker.options(name="left").remote("x").read.remote())
        except ValueError:  # its former owner is on its way out
            return None

    for _ in range(3):
        assert wait_until(made_and_left) == "x"
    wait_until(lambda: "left" not in nb.util.list_named_actors())


def test_the_plain_class_is_there_for_tests_without_an_actor(nb):
    assert Speaker.__ray_metadata__.modified_class is Speaker.__ray_actor_class__
    assert Speaker.__ray_actor_class__("alone").read() == "alone"
    assert nb.remote(Plain).kind == "plain" and nb.remote(Plain).double(3) == 6


def test_a_method_may_be_marked_bare(nb):
    @nb.remote
    class Marked:
        @nb.method
        def answer(self):
            return 42

    assert nb.get(Marked.remote().answer.remote()) == 42


class Shadowed:
    """Attributes of its instances have the names of its methods."""

    def __init__(self):
        self.plain = self.static = self.of_class = "an attribute"

    def plain(self):
        return self.plain

    @staticmethod
    def static():
        return "static"

    @classmethod
    def of_class(cls):
        return cls.__name__


class ShadowedInALoop(Shadowed):
    async def plain(self):
        return self.plain


@pytest.mark.parametrize("cls", [Shadowed, ShadowedInALoop])
def test_a_method_whose_name_an_attribute_has_is_the_classs_method(nb, cls):
    actor = nb.remote(cls).remote()
    calls = [actor.plain.remote(), actor.static.remote(), actor.of_class.remote()]
    assert nb.get(calls) == ["an attribute", "static", cls.__name__]


class Promise:
    """A value of the user's that can be awaited."""

    def __await__(self):
        yield from ()
        return "awaited"


def test_a_plain_method_of_an_asyncio_actor_returns_refs_and_promises_as_they_are(nb):
    @nb.remote
    def one():
        return 1

    @nb.remote
    class Loop:
        async def in_loop(self):
            return one.remote()

        def ref(self):
            return one.remote()

        def promise(self):
            return Promise()

    actor = Loop.remote()
    for ref in nb.get([actor.ref.remote(), actor.in_loop.remote()]):
        assert isinstance(ref, nb.ObjectRef)
        assert nb.get(ref) == 1
    assert isinstance(nb.get(actor.promise.remote()), Promise)
