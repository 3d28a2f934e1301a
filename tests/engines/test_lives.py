"""How actors begin, wait and end: order and limits of calls, groups of calls, restarts, exits, last words."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import sys
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from tests.engines.conftest import death_of
from tests.rig import wait_until

T = TypeVar("T")


@nbaccel.remote
class Notes:
    def __init__(self):
        self.notes = []

    def write(self, note):
        self.notes.append(note)
        return len(self.notes)

    def read(self):
        return self.notes

    def devices(self):
        return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"], os.environ.get("CUDA_VISIBLE_DEVICES")

    def restarted(self):
        return nbaccel.get_runtime_context().was_current_actor_reconstructed

    def leave(self):
        nbaccel.actor.exit_actor()

    def wait_for(self, *values):
        return values


def _again(nb, actor):
    """Wait for the actor's next life: calls before it may fail."""

    def answer():
        try:
            return nb.get(actor.restarted.remote())
        except exceptions.ActorUnavailableError:
            return False

    wait_until(answer)


# ---- calls that wait


def test_calls_keep_their_order_though_an_argument_is_late(nb, late):
    notes = Notes.remote()
    notes.write.remote(late.ref)
    second = notes.write.remote("second")
    assert nb.wait([second], timeout=0) == ([], [second])
    late.come()
    assert nb.get(notes.read.remote()) == ["late", "second"]


def test_out_of_order_calls_do_not_wait_for_each_other(nb, late):
    notes = Notes.options(allow_out_of_order_execution=True).remote()
    first = notes.write.remote(late.ref)
    assert nb.get(notes.write.remote("second")) == 1
    late.come()
    assert nb.get(first) == 2
    assert nb.get(notes.read.remote()) == ["second", "late"]


def test_more_calls_than_may_be_pending_are_refused_where_they_are_made(nb, late):
    notes = Notes.options(max_pending_calls=2).remote()
    calls = [notes.wait_for.remote(late.ref), notes.wait_for.remote(late.ref)]
    with pytest.raises(exceptions.PendingCallsLimitExceeded, match="2"):
        notes.wait_for.remote(late.ref)
    late.come()
    assert nb.get(calls) == [("late",)] * 2

    def accepted():
        try:
            return notes.read.remote()
        except exceptions.PendingCallsLimitExceeded:
            return None  # Ray counts a call as pending until a moment after its value is there

    assert nb.get(wait_until(accepted)) == []


def test_groups_of_calls_do_not_wait_for_each_other(nb, late):
    @nb.remote(concurrency_groups={"io": 1, "compute": 1})
    class Split:
        @nb.method(concurrency_group="io")
        async def wait(self, refs):
            return await refs[0]

        @nb.method(concurrency_group="compute")
        async def compute(self):
            return "computed"

    split = Split.remote()
    waiting = split.wait.remote([late.ref])
    assert nb.get(split.compute.remote()) == "computed"
    late.come()
    assert nb.get(waiting) == "late"


def test_a_group_of_calls_that_is_not_there_fails_the_call_and_not_the_actor(nb):
    @nb.remote(concurrency_groups={"io": 1})
    class Grouped:
        def call(self):
            return 1

        @nb.method(concurrency_group="storage")
        def marked(self):
            return 2

    grouped = Grouped.options(name="grouped").remote()
    assert nb.get(grouped.call.remote()) == 1
    for handle in (grouped, nb.get_actor("grouped")):
        with pytest.raises(ValueError, match=r"compute.*io"):
            nb.get(handle.call.options(concurrency_group="compute").remote())
        assert nb.get(handle.call.options(concurrency_group="io").remote()) == 1
    with pytest.raises(ValueError, match=r"storage.*io"):
        nb.get(grouped.marked.remote())


def test_a_killed_async_actor_fails_every_call_in_flight(nb):
    @nb.remote
    class Waits:
        async def forever(self):
            await asyncio.Event().wait()

        async def here(self):
            return True

    waits = Waits.remote()
    calls = [waits.forever.remote() for _ in range(100)]
    assert nb.get(waits.here.remote())
    nb.kill(waits)
    for call in calls:
        with pytest.raises(exceptions.RayActorError):
            nb.get(call)
    death_of(waits.here.remote)


# ---- names


def test_many_that_get_or_create_get_the_same_one(nb):
    @nb.remote
    def get_or_create():
        made = Notes.options(name="one", namespace="shared", get_if_exists=True, lifetime="detached").remote()
        return made._actor_id.hex()

    assert len(set(nb.get([get_or_create.remote() for _ in range(4)]))) == 1
    notes = nb.get_actor("one", namespace="shared")
    assert nb.get(notes.write.remote("outlives its makers")) == 1
    nb.kill(notes)


@nbaccel.remote(num_cpus=0)
class Known:
    def pid(self):
        return os.getpid()

    def me(self):
        return nbaccel.get_runtime_context().current_actor

    def keep_me(self):
        self.mine = nbaccel.get_runtime_context().current_actor


def is_known(name):
    try:
        nbaccel.get_actor(name)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("how", ["found by name", "its own", "kept by itself", "in an object"])
def test_a_handle_that_was_looked_up_does_not_keep_the_actor_alive(nb, how):
    actor = Known.options(name=how).remote()
    nb.get(actor.pid.remote())
    found = nb.get_actor(how)
    assert found == actor
    assert nb.get(found.pid.remote()) == nb.get(actor.pid.remote())
    if how == "its own":
        found = nb.get(actor.me.remote())
    elif how == "kept by itself":
        nb.get(actor.keep_me.remote())
    elif how == "in an object":
        found = nb.put([found])
    del actor
    gc.collect()
    wait_until(lambda: not is_known(how))
    if how != "in an object":
        death_of(found.pid.remote)


def test_work_that_waits_gets_what_only_a_cycle_of_handles_holds(nb):
    gc.disable()
    try:
        pool = [Notes.options(num_gpus=1).remote() for _ in range(2)]
        nb.get([notes.read.remote() for notes in pool])
        pool.append(pool)
        del pool
        waits = Notes.options(num_gpus=2).remote()
        assert nb.get(waits.write.remote("mine"), timeout=60) == 1
    finally:
        gc.enable()


def test_dropping_a_handle_that_was_looked_up_leaves_the_actor(nb):
    actor = Known.options(name="left alone").remote()
    nb.get_actor("left alone")
    gc.collect()
    assert nb.get(actor.pid.remote())


def test_a_name_is_free_when_its_actor_is_killed(nb):
    first = Notes.options(name="taken").remote()
    assert nb.get(first.write.remote("mine")) == 1
    with pytest.raises(exceptions.ActorAlreadyExistsError, match="taken"):
        Notes.options(name="taken").remote()
    nb.kill(first)
    second = Notes.options(name="taken").remote()
    assert nb.get(second.read.remote()) == []
    nb.kill(second)


# ---- restarts and ends


def test_a_restarted_actor_has_the_same_device_and_a_new_state(nb):
    other = Notes.options(num_gpus=1).remote()
    nb.get(other.read.remote())
    notes = Notes.options(num_gpus=1, max_restarts=1).remote()
    before, _ = nb.get([notes.devices.remote(), notes.write.remote("lost")])
    assert len(before[0]) == 1
    nb.kill(notes, no_restart=False)
    _again(nb, notes)
    assert nb.get([notes.devices.remote(), notes.read.remote()]) == [before, []]
    nb.kill(notes)
    nb.kill(other)


def test_in_a_group_of_its_own_a_restarted_actor_keeps_its_device_when_others_are_free(nb):
    other = Notes.options(num_gpus=1).remote()
    nb.get(other.read.remote())
    group = placement_group([{"CPU": 1, "GPU": 1}])
    nb.get(group.ready())
    inside = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
    notes = Notes.options(num_gpus=1, max_restarts=1, scheduling_strategy=inside).remote()
    before = nb.get(notes.devices.remote())
    nb.kill(other)
    wait_until(lambda: nb.available_resources().get("GPU", 0) == 1)  # a lower one: it would be the first choice
    nb.kill(notes, no_restart=False)
    _again(nb, notes)
    assert nb.get(notes.devices.remote()) == before and len(before[0]) == 1
    nb.kill(notes)
    remove_placement_group(group)


@pytest.mark.parametrize("how", ["leave", "__ray_terminate__"])
def test_an_actor_that_leaves_is_not_restarted(nb, how):
    notes = Notes.options(max_restarts=-1).remote()
    nb.get(notes.read.remote())
    with pytest.raises(exceptions.RayActorError):
        nb.get(getattr(notes, how).remote())
    assert "exit" in str(death_of(notes.read.remote))


def test_a_method_is_called_again_for_the_errors_that_it_names(nb):
    @nb.remote
    class Shaky:
        def __init__(self):
            self.runs = 0

        @nb.method(max_task_retries=2, retry_exceptions=[OSError])
        def run(self, kind):
            self.runs += 1
            if self.runs < 3:
                raise kind("not yet")
            return self.runs

    assert nb.get(Shaky.remote().run.remote(OSError)) == 3
    with pytest.raises(KeyError):
        nb.get(Shaky.remote().run.remote(KeyError))


def test_an_actor_says_its_last_words(nb, tmp_path):
    @nb.remote
    class Diarist:
        def ready(self):
            return True

        def leave(self):
            nbaccel.actor.exit_actor()

        def __ray_shutdown__(self):
            (tmp_path / "diary").write_text("goodbye")

    diarist = Diarist.remote()
    nb.get(diarist.ready.remote())
    diarist.leave.remote()
    wait_until(lambda: (tmp_path / "diary").exists() and (tmp_path / "diary").read_text() == "goodbye")


# ---- what a class may look like


def test_a_generic_class_is_an_actor(nb):
    @nb.remote
    class Box(Generic[T]):
        def __init__(self, value: T):
            self.value = value

        def get(self) -> T:
            return self.value

    assert nb.get(Box.remote(3).get.remote()) == 3


class Shape(ABC):
    legs = 0

    @abstractmethod
    def area(self): ...

    @property
    def tail(self):
        return True

    def __len__(self):
        return 7

    def __call__(self, value):
        return value


class Square(Shape):
    def area(self):
        return 4


def test_an_abstract_class_is_refused_and_a_class_that_fills_it_in_is_an_actor(nb):
    with pytest.raises(TypeError, match="abstract class Shape: it does not define area"):
        nb.remote(Shape).remote()
    square = nb.remote(Square).remote()
    assert nb.get([square.area.remote(), square.__len__.remote(), square.__call__.remote(3)]) == [4, 7, 3]
    for name in ("tail", "legs", "nope"):
        with pytest.raises(AttributeError, match=name):
            getattr(square, name)


def test_a_member_of_a_class_that_cannot_be_pickled_is_named(nb):
    import threading

    class Guarded:
        lock = threading.Lock()

    with pytest.raises(TypeError, match="lock"):
        nb.remote(Guarded).remote()


def test_an_actor_ends_with_the_process_that_created_it(nb):
    @nb.remote(num_cpus=0)
    class Child:
        def pid(self):
            return os.getpid()

    @nb.remote(num_cpus=0)
    class Owner:
        def make(self):
            self.child = Child.remote()
            return [self.child, Child.options(name="stays", lifetime="detached").remote()]

    owner = Owner.remote()
    child, detached = nb.get(owner.make.remote())
    assert all(nb.get([child.pid.remote(), detached.pid.remote()]))  # an actor that is not made yet is its owner's
    nb.kill(owner)
    assert "owner has died" in str(death_of(child.pid.remote))
    assert nb.get(detached.pid.remote())
    nb.kill(detached)


def test_an_actor_ends_with_the_task_that_created_it_and_ended_its_process(nb):
    @nb.remote(num_cpus=0)
    class Child:
        def pid(self):
            return os.getpid()

    @nb.remote(num_cpus=0)
    class Keeper:
        def keep(self, children):
            self.children = children

        def ask(self):
            return nb.get(self.children[0].pid.remote())

    @nb.remote(num_cpus=0, max_retries=0)
    def leave(keeper):
        nb.get(keeper.keep.remote([Child.remote()]))
        nb.get(keeper.ask.remote())
        sys.exit(1)

    keeper = Keeper.remote()
    with pytest.raises(nb.exceptions.WorkerCrashedError):
        nb.get(leave.remote(keeper), timeout=60)
    assert "owner has died" in str(death_of(keeper.ask.remote))


def test_a_group_whose_asker_was_killed_fails_who_waits_for_it(nb):
    @nb.remote(num_cpus=0)
    class Asker:
        def ask(self):
            self.group = placement_group([{"GPU": 1_000}])
            return [self.group.ready()], self.group

    asker = Asker.remote()
    (ready,), group = nb.get(asker.ask.remote())
    nb.kill(asker)
    with pytest.raises(nb.exceptions.OwnerDiedError):
        nb.get(ready, timeout=60)
    remove_placement_group(group)


class LeavesInConstructor:
    def __init__(self, path):
        atexit.register(path.touch)
        nbaccel.actor.exit_actor()

    def last(self): ...


class LeavesInLoop:
    def __init__(self, path):
        atexit.register(path.touch)

    async def leave(self):
        nbaccel.actor.exit_actor()

    async def waited(self):
        await asyncio.create_task(self.leave())

    async def not_waited(self):
        self.leaving = asyncio.create_task(self.leave())
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def gathered(self):
        await asyncio.gather(self.leave(), return_exceptions=True)


class LeavesInVain:
    def __init__(self, path):
        atexit.register(path.touch)

    def caught(self):
        try:
            nbaccel.actor.exit_actor()
        except BaseException:
            return "here still"


@pytest.mark.parametrize(
    ("cls", "call"),
    [
        (LeavesInConstructor, "last"),
        (LeavesInLoop, "waited"),
        (LeavesInLoop, "not_waited"),
        (LeavesInLoop, "gathered"),
        (LeavesInVain, "caught"),
    ],
)
def test_an_actor_leaves_wherever_it_says_so(nb, tmp_path, cls, call):
    actor = nb.remote(num_cpus=0, max_restarts=-1)(cls).remote(tmp_path / "left")
    with pytest.raises(exceptions.RayActorError):
        nb.get(getattr(actor, call).remote(), timeout=60)
    death_of(actor.__ray_ready__.remote)
    if nb.engine.current().name == "local":  # its process ends as a program ends
        wait_until((tmp_path / "left").exists)
