"""Actors: state, order, kinds of methods, names, ends, on every engine."""

from __future__ import annotations

import asyncio
import os

import pytest

import nbaccel
from nbaccel import exceptions
from tests.engines.conftest import death_of
from tests.rig import is_alive, wait_until


@nbaccel.remote
class Counter:
    def __init__(self, start=0):
        self.count = start

    def add(self, amount=1):
        self.count += amount
        return self.count

    def pid(self):
        return os.getpid()

    def fail(self):
        raise KeyError("missing")

    @nbaccel.method(num_returns=2)
    def halves(self):
        return self.count // 2, self.count - self.count // 2

    def numbers(self, count):
        yield from range(count)

    def leave(self):
        from nbaccel.actor import exit_actor

        exit_actor()

    def die(self):
        os._exit(3)

    def me(self):
        return nbaccel.get_runtime_context().current_actor


def test_an_actor_keeps_its_state_and_the_order_of_calls(nb):
    counter = Counter.remote(10)
    assert nb.get([counter.add.remote() for _ in range(20)]) == list(range(11, 31))


def test_the_options_of_a_method_hold(nb):
    first, second = Counter.remote(5).halves.remote()
    assert nb.get([first, second]) == [2, 3]
    only = Counter.remote(7).halves.options(num_returns=1).remote()
    assert nb.get(only) == (3, 4)


def test_a_generator_method_streams(nb):
    counter = Counter.remote()
    assert [nb.get(ref) for ref in counter.numbers.remote(3)] == [0, 1, 2]


def test_a_method_may_return_nothing(nb):
    assert Counter.remote().add.options(num_returns=0).remote() is None


def test_a_coroutine_that_raises_reaches_its_caller_only(nb):
    @nb.remote
    class Clerk:
        async def fail(self):
            raise KeyError("missing")

        async def work(self):
            return "worked"

    clerk = Clerk.remote()
    failed, worked = clerk.fail.remote(), clerk.work.remote()
    with pytest.raises(KeyError, match="missing"):
        nb.get(failed)
    assert nb.get([worked, clerk.work.remote()]) == ["worked", "worked"]


def test_a_method_that_raises_leaves_the_actor_alive(nb):
    counter = Counter.remote(1)
    with pytest.raises(KeyError, match="missing"):
        nb.get(counter.fail.remote())
    assert nb.get(counter.add.remote()) == 2


def test_a_handle_can_be_passed_to_a_task(nb):
    @nb.remote
    def bump(counter):
        import nbaccel

        return nbaccel.get(counter.add.remote(5)), counter

    counter = Counter.remote(1)
    count, back = nb.get(bump.remote(counter))
    assert (count, back, hash(back)) == (6, counter, hash(counter))
    assert nb.get(counter.add.remote()) == 7


def test_async_methods_run_at_the_same_time(nb):
    @nb.remote
    class Meeting:
        def __init__(self):
            self.both = asyncio.Event()
            self.there = 0

        async def arrive(self):
            self.there += 1
            if self.there == 2:
                self.both.set()
            await self.both.wait()
            return self.there

    meeting = Meeting.remote()
    assert nb.get([meeting.arrive.remote(), meeting.arrive.remote()]) == [2, 2]


def test_threads_run_calls_at_the_same_time(nb):
    @nb.remote(max_concurrency=2)
    class Meeting:
        def __init__(self):
            import threading

            self.barrier = threading.Barrier(2, timeout=90)

        def arrive(self):
            self.barrier.wait()
            return True

    meeting = Meeting.remote()
    assert nb.get([meeting.arrive.remote(), meeting.arrive.remote()]) == [True, True]


def test_refs_are_awaited_in_an_async_actor(nb):
    @nb.remote
    def one():
        return 1

    @nb.remote
    class Asks:
        async def ask(self):
            return await one.remote() + 1

    assert nb.get(Asks.remote().ask.remote()) == 2


def test_a_named_actor_is_found(nb):
    counter = Counter.options(name="found").remote(1)
    nb.get(counter.add.remote())
    again = nb.get_actor("found")
    assert again == counter
    assert nb.get(again.add.remote()) == 3
    assert nb.get(nb.get_actor("found").halves.remote()) == [1, 2]
    assert "found" in nb.util.list_named_actors()


def test_an_unknown_name_is_a_value_error_that_names_it(nb):
    with pytest.raises(ValueError, match="Failed to look up actor with name 'nobody'"):
        nb.get_actor("nobody")
    with pytest.raises(ValueError, match="non-empty"):
        nb.get_actor("")


def test_a_name_is_given_once(nb):
    first = Counter.options(name="once").remote()
    nb.get(first.add.remote())
    with pytest.raises(ValueError, match="once"):
        Counter.options(name="once").remote()
    same = Counter.options(name="once", get_if_exists=True).remote()
    assert nb.get(same.add.remote()) == 2


def test_options_that_are_refused_take_no_name(nb):
    with pytest.raises(ValueError):
        Counter.options(name="unused", num_gpus=1.5).remote()
    with pytest.raises(ValueError, match="unused"):
        nb.get_actor("unused")


def test_a_killed_actor_fails_its_calls(nb):
    counter = Counter.remote()
    nb.get(counter.add.remote())
    nb.kill(counter)
    death_of(counter.add.remote)  # Ray's kill only sets out when it returns


def test_an_actor_whose_process_dies_fails_its_call(nb):
    counter = Counter.remote()
    with pytest.raises(exceptions.RayActorError):
        nb.get(counter.die.remote())


def test_an_actor_is_restarted_as_often_as_it_may(nb):
    counter = Counter.options(max_restarts=1, max_task_retries=1).remote(5)
    before = nb.get(counter.pid.remote())
    with pytest.raises(exceptions.RayActorError):
        nb.get(counter.die.options(max_task_retries=0).remote())
    after = nb.get(counter.pid.options(max_task_retries=-1).remote())  # on Ray, its end may be told some seconds later
    assert after != before
    assert nb.get(counter.add.remote()) == 6


def test_an_actor_ends_itself(nb):
    counter = Counter.remote()
    with pytest.raises(exceptions.RayActorError):
        nb.get(counter.leave.remote())
        nb.get(counter.add.remote())


def test_an_actor_that_fails_to_start_fails_its_calls(nb):
    @nb.remote
    class Broken:
        def __init__(self):
            raise RuntimeError("no key")

        def hello(self):
            return "hello"

    broken = Broken.remote()
    for _ in range(2):
        with pytest.raises(exceptions.ActorDiedError, match="no key"):
            nb.get(broken.hello.remote())


def test_an_actor_that_fails_to_start_names_the_cause(nb):
    @nb.remote
    class Broken:
        def __init__(self):
            raise RuntimeError("no key")

        def hello(self):
            return "hello"

    with pytest.raises(exceptions.ActorDiedError) as caught:
        nb.get(Broken.remote().hello.remote())
    assert isinstance(caught.value.cause.cause, RuntimeError)


def test_an_actor_ends_with_its_last_handle(nb):
    counter = Counter.remote()
    pid = nb.get(counter.pid.remote())
    del counter
    wait_until(lambda: not is_alive(pid))


def test_an_actor_knows_its_own_handle(nb):
    counter = Counter.remote(1)
    assert nb.get(counter.me.remote()) == counter


def test_a_call_with_a_wrong_name_or_arguments_is_refused(nb):
    counter = Counter.remote()
    with pytest.raises(AttributeError):
        counter.nothing
    with pytest.raises(TypeError):
        counter.add.remote(1, 2, 3)


def test_a_call_through_a_handle_that_has_travelled_is_checked_where_it_is_made(nb):
    @nb.remote
    def call(handle, args, kwargs):
        try:
            nb.get(handle.add.remote(*args, **kwargs))
        except TypeError as error:
            return str(error)

    counter = Counter.options(name="travels").remote()
    assert "too many positional arguments" in nb.get(call.remote(counter, (1, 2, 3), {}))
    assert "'amonut'" in nb.get(call.remote(counter, (), {"amonut": 3}))
    with pytest.raises(TypeError, match="too many positional arguments"):
        nb.get_actor("travels").add.remote(1, 2)
    assert nb.get(call.remote(counter, (), {"amount": 3})) is None
    assert nb.get(counter.add.remote()) == 4


def test_exit_actor_outside_of_an_actor_is_a_type_error(nb):
    from nbaccel.actor import exit_actor

    with pytest.raises(TypeError):
        exit_actor()


def test_an_async_call_is_cancelled(nb):
    @nb.remote
    class Waits:
        def __init__(self):
            self.began = False

        async def forever(self):
            self.began = True
            await asyncio.Event().wait()

        async def has_begun(self):
            return self.began

    waits = Waits.remote()
    ref = waits.forever.remote()
    wait_until(lambda: nb.get(waits.has_begun.remote()))
    with pytest.raises(ValueError, match="force"):
        nb.cancel(ref, force=True)
    nb.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError) as caught:
        nb.get(ref)
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert nb.get(waits.has_begun.remote())


def test_the_older_spelling_of_a_start_and_a_call_takes_its_options_beside_its_arguments(nb):
    counter = Counter._remote(args=(5,), kwargs=None, num_cpus=0, name="spelled")
    assert nb.get_actor("spelled") == counter
    assert nb.get(counter.add._remote([2], name="", num_returns=None)) == 7
    assert nb.get(counter.add._remote(kwargs={"amount": 1})) == 8
    assert nb.get(counter.halves._remote(num_returns=1)) == (4, 4)
    first, _second = counter.halves._remote()
    assert nb.get(first) == 4
