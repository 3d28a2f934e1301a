"""Actors with coroutines: many calls at once, each with its own errors, cancels and streams."""

import asyncio

import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import Gate, wait_until


@nbaccel.remote
def plus_one(x):
    return x + 1


@nbaccel.remote
class Clerk:
    async def add(self, refs):
        return sum(await asyncio.gather(*refs))

    async def fail(self):
        raise KeyError("missing")

    async def count(self, n):
        for i in range(n):
            yield i

    async def count_and_fail(self):
        yield 0
        raise ValueError("after one")

    def plain(self):
        return "plain"

    async def endless(self):
        await asyncio.Event().wait()


def test_a_thousand_calls_wait_at_the_same_time():
    gate = Gate.remote()
    calls = [gate.wait.remote() for _ in range(999)]
    assert wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 999)
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(calls) == [None] * 999


def test_refs_are_awaited_inside_an_actor():
    assert nbaccel.get(Clerk.remote().add.remote([plus_one.remote(i) for i in range(4)])) == 10


def test_what_a_coroutine_raises_reaches_its_caller_only():
    clerk = Clerk.remote()
    with pytest.raises(KeyError, match="missing"):
        nbaccel.get(clerk.fail.remote())
    assert nbaccel.get(clerk.plain.remote()) == "plain"


def test_an_async_generator_streams_and_its_error_is_its_last_item():
    clerk = Clerk.remote()
    assert [nbaccel.get(ref) for ref in clerk.count.remote(3)] == [0, 1, 2]
    first, second = clerk.count_and_fail.remote()
    assert nbaccel.get(first) == 0
    with pytest.raises(ValueError, match="after one"):
        nbaccel.get(second)


def test_a_stream_is_read_with_async_for():
    async def read():
        return [await ref async for ref in Clerk.remote().count.remote(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_a_waiting_coroutine_is_cancelled_and_the_actor_lives():
    clerk = Clerk.remote()
    ref = clerk.endless.remote()
    nbaccel.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)
    assert nbaccel.get(clerk.plain.remote()) == "plain"


def test_a_killed_async_actor_fails_every_call_in_flight():
    gate = Gate.remote()
    calls = [gate.wait.remote() for _ in range(100)]
    nbaccel.get(gate.arrived.remote())
    nbaccel.kill(gate)
    for call in calls:
        with pytest.raises(exceptions.ActorDiedError):
            nbaccel.get(call)


def test_concurrency_groups_do_not_wait_for_each_other():
    @nbaccel.remote(concurrency_groups={"io": 1, "compute": 1})
    class Split:
        @nbaccel.method(concurrency_group="io")
        async def wait(self, gate):
            await gate.wait.remote()
            return "waited"

        @nbaccel.method(concurrency_group="compute")
        async def compute(self):
            return "computed"

    gate, split = Gate.remote(), Split.remote()
    waiting = split.wait.remote(gate)
    assert nbaccel.get(split.compute.remote()) == "computed"
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(waiting) == "waited"


def test_threads_of_an_actor_meet():
    import threading

    @nbaccel.remote(max_concurrency=3)
    class Meeting:
        def __init__(self):
            self.barrier = threading.Barrier(3)

        def come(self):
            self.barrier.wait(30)
            return threading.current_thread().name

    meeting = Meeting.remote()
    assert len(set(nbaccel.get([meeting.come.remote() for _ in range(3)]))) == 3


def test_an_unknown_concurrency_group_fails_the_call_and_not_the_actor():
    @nbaccel.remote(concurrency_groups={"io": 1})
    class Grouped:
        def call(self):
            return 1

    grouped = Grouped.remote()
    with pytest.raises(ValueError, match=r"compute.*io"):
        nbaccel.get(grouped.call.options(concurrency_group="compute").remote())
    assert nbaccel.get(grouped.call.options(concurrency_group="io").remote()) == 1


def test_many_streams_wait_for_their_readers_at_the_same_time():
    @nbaccel.remote
    class Source:
        def __init__(self):
            self.made = 0

        @nbaccel.method(_generator_backpressure_num_objects=1)
        async def count(self):
            for i in range(3):
                self.made += 1
                yield i

        async def total(self):
            return self.made

    source = Source.remote()
    streams = [source.count.remote() for _ in range(50)]
    wait_until(lambda: nbaccel.get(source.total.remote()) == 50)
    assert [[nbaccel.get(ref) for ref in stream] for stream in streams] == [[0, 1, 2]] * 50
