"""What a task returns: several values, a list of refs, a stream; what is run again, and what is cancelled."""

from __future__ import annotations

import asyncio
import itertools
import os

import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import wait_until


@nbaccel.remote
def numbers(n):
    return tuple(range(n))


@nbaccel.remote
def count(n, fail_at=None):
    for i in range(n):
        if i == fail_at:
            raise ValueError("in the middle")
        yield i


def _values(nb, stream):
    seen = []
    for ref in stream:
        try:
            seen.append(nb.get(ref))
        except ValueError as error:
            seen.append(str(error.cause))
    return seen


# ---- several values


@pytest.mark.parametrize("returned", [1, 3])
def test_another_number_of_values_is_an_error_on_each_ref(nb, returned):
    for ref in numbers.options(num_returns=2).remote(returned):
        with pytest.raises(ValueError, match="num_returns=2"):
            nb.get(ref)


def test_a_generator_fills_a_fixed_number_of_refs_and_yields_no_further(nb):
    @nb.remote(num_returns=2)
    def endless():
        yield from itertools.count()

    assert nb.get(endless.remote()) == [0, 1]
    assert nb.get(count.options(num_returns=1).remote(3)) == 0


def test_what_a_generator_yielded_for_its_refs_is_there_and_the_others_raise_what_it_raised(nb):
    first, second, third = count.options(num_returns=3).remote(3, fail_at=1)
    assert nb.get(first) == 0
    for ref in (second, third):
        with pytest.raises(ValueError, match="in the middle"):
            nb.get(ref)


def test_a_dynamic_task_returns_a_list_of_refs_and_an_error_is_its_last(nb):
    refs = nb.get(count.options(num_returns="dynamic").remote(3))
    assert isinstance(refs, nb.DynamicObjectRefGenerator) and len(refs) == 3
    assert [nb.get(ref) for ref in refs] == [0, 1, 2]
    *values, failed = nb.get(count.options(num_returns="dynamic").remote(5, fail_at=2))
    assert nb.get(values) == [0, 1]
    with pytest.raises(ValueError, match="in the middle"):
        nb.get(failed)


def test_a_generator_that_ends_before_its_refs_are_filled_is_an_error_of_the_others(nb):
    first, second = count.options(num_returns=2).remote(1)
    assert nb.get(first) == 0
    with pytest.raises(ValueError, match="num_returns=2"):
        nb.get(second)


# Ray 2.60 does not do this.
@pytest.mark.parametrize("engine", ["local", "debug"], indirect=True)
def test_a_generator_with_refs_to_fill_may_be_run_again(nb, tmp_path):
    @nb.remote(num_returns=2, retry_exceptions=True, max_retries=1)
    def second_time_lucky():
        yield "x" * 200_000
        if not (tmp_path / "ran").exists():
            (tmp_path / "ran").touch()
            raise ValueError("the first time")
        yield "y"

    first, second = nb.get(second_time_lucky.remote())
    assert (len(first), second) == (200_000, "y")


# ---- streams


def test_a_generator_streams_by_itself_and_its_error_is_the_last_item(nb):
    stream = count.remote(3)
    assert isinstance(stream, nb.ObjectRefGenerator)
    assert _values(nb, stream) == [0, 1, 2]
    assert stream.is_finished()
    with pytest.raises(StopIteration):
        next(stream)
    assert _values(nb, count.remote(5, fail_at=2)) == [0, 1, "in the middle"]


def test_the_end_of_a_stream_is_a_ref_too(nb):
    for stream in (count.remote(3), count.remote(3, fail_at=1)):
        end = stream.completed()
        for ref in stream:
            nb.wait([ref])
        assert nb.get(end) is None


def test_a_stream_is_read_with_async_for(nb):
    async def read():
        return [await ref async for ref in count.remote(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_a_loop_that_is_closed_while_it_reads_a_stream_leaves_the_connection_alone(nb, gate):
    @nb.remote
    def later():
        nb.get(gate.wait.remote())
        yield 1

    async def read(stream):
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        return reading

    stream = later.remote()
    loop = asyncio.new_event_loop()
    reading = loop.run_until_complete(read(stream))
    loop.close()
    nb.get(gate.open.remote())
    assert nb.get(next(stream)) == 1
    assert nb.get(numbers.remote(2)) == (0, 1)
    del reading


def test_wait_takes_streams_and_get_gives_them_back(nb):
    stream = count.remote(2)
    ready, _ = nb.wait([stream])
    assert ready == [stream]
    assert stream.next_ready()
    assert nb.get(stream) is stream
    assert _values(nb, stream) == [0, 1]


def test_the_next_item_can_be_waited_for_with_a_timeout(nb, late):
    @nb.remote
    def after(value):
        yield value

    stream = after.remote(late.ref)
    assert stream._next_sync(timeout_s=0.01).is_nil()
    late.come()
    assert nb.get(next(stream)) == "late"


def test_a_stream_runs_no_further_ahead_than_it_may(nb, tmp_path):
    @nb.remote(_generator_backpressure_num_objects=2)
    def ahead():
        for number in range(6):
            (tmp_path / str(number)).touch()
            yield number

    stream = ahead.remote()
    assert [nb.get(next(stream)), nb.get(next(stream))] == [0, 1]
    assert not (tmp_path / "5").exists()
    assert _values(nb, stream) == [2, 3, 4, 5]


@pytest.mark.parametrize("ahead", [-1, 1])
def test_a_generator_stops_when_nobody_reads_on(nb, tmp_path, ahead):
    @nb.remote(_generator_backpressure_num_objects=ahead)
    def endless():
        try:
            while True:
                yield 1
        finally:
            (tmp_path / "closed").touch()

    stream = endless.remote()
    next(stream)
    del stream
    wait_until((tmp_path / "closed").exists)


def test_a_method_that_yields_stops_when_nobody_reads_on_and_its_actor_goes_on(nb, tmp_path):
    @nb.remote
    class Source:
        def endless(self):
            try:
                yield from itertools.count()
            finally:
                (tmp_path / "closed").touch()

        def pid(self):
            return os.getpid()

    source = Source.remote()
    stream = source.endless.remote()
    assert nb.get(next(stream)) == 0
    del stream
    wait_until((tmp_path / "closed").exists)
    assert nb.get(source.pid.remote())


def test_a_generator_of_an_async_actor_streams_too(nb):
    @nb.remote
    class Source:
        def plain(self):
            yield from range(3)

        async def later(self, fail_at=None):
            for number in range(3):
                if number == fail_at:
                    raise ValueError("in the middle")
                yield number

    source = Source.remote()

    async def read():
        return [await ref async for ref in source.later.remote()]

    assert _values(nb, source.plain.remote()) == asyncio.run(read()) == [0, 1, 2]
    assert _values(nb, source.later.remote(fail_at=1)) == [0, "in the middle"]
    nested = source.plain.options(num_returns="dynamic").remote()
    assert nb.get(list(nb.get(nested))) == [0, 1, 2]


def test_many_streams_of_an_actor_wait_for_their_readers_at_the_same_time(nb):
    @nb.remote
    class Source:
        @nb.method(_generator_backpressure_num_objects=1)
        async def count(self):
            for number in range(3):
                yield number

    source = Source.remote()
    streams = [source.count.remote() for _ in range(50)]
    assert [nb.get(next(stream)) for stream in streams] == [0] * 50
    assert [_values(nb, stream) for stream in streams] == [[1, 2]] * 50


def test_the_end_of_a_stream_that_was_let_go_comes_all_the_same(nb):
    assert nb.get(count.remote(3).completed()) is None


def test_a_stream_cannot_be_passed_on_and_only_goes_forwards(nb):
    stream = count.remote(1)
    with pytest.raises(TypeError):
        numbers.remote(stream)
    for name in ("send", "throw", "close"):
        with pytest.raises(NotImplementedError):
            getattr(stream, name)(None)


def test_large_items_are_streamed_too(nb):
    @nb.remote
    def large():
        for size in (10, 1_000_000):
            yield bytes(size)

    assert [len(nb.get(ref)) for ref in large.remote()] == [10, 1_000_000]


# ---- again


@nbaccel.remote(max_retries=2)
def raises(path, until):
    with open(path, "a") as file:
        file.write("x")
    runs = os.path.getsize(path)
    if runs < until:
        raise ValueError("not yet")
    return runs


@pytest.mark.parametrize("which", [True, (OSError, ValueError)])
def test_a_task_is_run_again_for_the_errors_that_it_names(nb, tmp_path, which):
    assert nb.get(raises.options(retry_exceptions=which).remote(str(tmp_path / "runs"), 3)) == 3


def test_a_stream_that_is_run_again_goes_on_where_it_was(nb, tmp_path):
    @nb.remote(max_retries=1, retry_exceptions=True)
    def fails_once():
        yield from range(2)
        if not (tmp_path / "failed").exists():
            (tmp_path / "failed").touch()
            raise ValueError("once")
        yield 2

    assert _values(nb, fails_once.remote()) == [0, 1, 2]


def test_other_errors_are_not_run_again_and_retries_come_to_an_end(nb, tmp_path):
    for runs, which in ((1, False), (1, [OSError]), (3, [ValueError])):
        path = str(tmp_path / f"{runs} {which}")
        with pytest.raises(ValueError, match="not yet"):
            nb.get(raises.options(retry_exceptions=which).remote(path, 100))
        assert os.path.getsize(path) == runs


# ---- cancelled


# Not on Ray: 2.60 may abort the whole process when the argument of a cancelled task arrives ("Check failed:
# it->second.submitted_task_ref_count > 0" in the log of the driver).
@pytest.mark.parametrize("engine", ["local", "debug"], indirect=True)
def test_what_waits_for_an_argument_is_cancelled_and_never_runs(nb, late, tmp_path):
    ref = raises.remote(str(tmp_path / "runs"), late.ref)
    nb.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nb.get(ref)
    late.come()
    assert nb.get(late.ref) == "late"
    assert not (tmp_path / "runs").exists()


def test_a_finished_task_keeps_its_value_and_only_refs_are_cancelled(nb):
    ref = numbers.remote(2)
    nb.get(ref)
    nb.cancel(ref)
    assert nb.get(ref) == (0, 1)
    with pytest.raises(TypeError):
        nb.cancel("ref")


# ---- many


def test_a_call_takes_ten_thousand_refs(nb):
    @nb.remote
    def total(*values):
        return sum(values)

    many = 1_000 if nb.engine.current().name == "ray" else 10_000  # Ray fetches each one from its store: 1.6 ms
    assert nb.get(total.remote(*[nb.put(1) for _ in range(many)])) == many


@pytest.mark.parametrize("kind", ["streaming", "dynamic"])
def test_what_yields_nothing_cannot_stream_and_that_is_said_at_the_decorator(nb, kind):
    def plain(self=None):
        return [1, 2]

    for make in (
        lambda: nb.remote(num_returns=kind)(plain),
        lambda: nb.remote(plain).options(num_returns=kind),
        lambda: nb.method(num_returns=kind)(plain),
        lambda: nb.remote(type("Plain", (), {"plain": plain})).remote().plain.options(num_returns=kind),
    ):
        with pytest.raises(ValueError, match=f"num_returns='{kind}' can only be used with generator functions"):
            make()
