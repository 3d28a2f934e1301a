"""Tasks that return several values, none, or a stream of them."""

import asyncio
import itertools
import os

import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import Gate, wait_until


@nbaccel.remote
def numbers(n):
    return tuple(range(n))


@nbaccel.remote
def count(n, fail_at=None):
    for i in range(n):
        if i == fail_at:
            raise ValueError("in the middle")
        yield i


@nbaccel.remote(num_cpus=0)
class Tally:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        return self.n

    def read(self):
        return self.n


def _values(stream):
    seen = []
    for ref in stream:
        try:
            seen.append(nbaccel.get(ref))
        except ValueError as error:
            seen.append(str(error.cause))
    return seen


def test_num_returns_says_how_many_refs_come_back():
    assert nbaccel.get(numbers.options(num_returns=3).remote(3)) == [0, 1, 2]
    assert nbaccel.get(numbers.remote(3)) == (0, 1, 2)
    assert numbers.options(num_returns=0).remote(3) is None


@pytest.mark.parametrize("returned", [1, 3])
def test_another_number_of_values_is_an_error_on_each_ref(returned):
    refs = numbers.options(num_returns=2).remote(returned)
    for ref in refs:
        with pytest.raises(ValueError, match="num_returns=2"):
            nbaccel.get(ref)


def test_a_generator_streams_by_itself():
    stream = count.remote(3)
    assert isinstance(stream, nbaccel.ObjectRefGenerator)
    assert _values(stream) == [0, 1, 2]
    assert stream.is_finished()
    with pytest.raises(StopIteration):
        next(stream)


def test_an_error_in_the_middle_is_the_last_item():
    stream = count.remote(5, fail_at=2)
    assert _values(stream) == [0, 1, "in the middle"]


def test_completed_is_ready_at_the_end_and_none():
    assert nbaccel.get(count.remote(3).completed()) is None
    assert nbaccel.get(count.remote(3, fail_at=1).completed()) is None


def test_a_generator_can_fill_a_fixed_number_of_refs():
    assert nbaccel.get(count.options(num_returns=3).remote(3)) == [0, 1, 2]
    assert nbaccel.get(count.options(num_returns=1).remote(3)) == 0


def test_what_a_generator_has_yielded_for_its_refs_is_there_and_the_others_raise_what_it_raised():
    first, second, third = count.options(num_returns=3).remote(3, fail_at=1)
    assert nbaccel.get(first) == 0
    for ref in (second, third):
        with pytest.raises(ValueError, match="in the middle"):
            nbaccel.get(ref)


def test_a_generator_that_ends_before_its_refs_are_filled_is_an_error_of_the_others():
    first, second = count.options(num_returns=2).remote(1)
    assert nbaccel.get(first) == 0
    with pytest.raises(ValueError, match="yielded 1 values, but num_returns=2"):
        nbaccel.get(second)


def test_a_generator_yields_no_further_than_its_refs():
    @nbaccel.remote(num_returns=2)
    def endless():
        yield from itertools.count()

    assert nbaccel.get(endless.remote()) == [0, 1]


def test_a_generator_with_refs_to_fill_may_be_run_again(tmp_path):
    @nbaccel.remote(num_returns=2, retry_exceptions=True, max_retries=1)
    def second_time_lucky(path):
        yield "x" * 200_000
        if not path.exists():
            path.touch()
            raise ValueError("the first time")
        yield "y"

    first, second = nbaccel.get(second_time_lucky.remote(tmp_path / "ran"))
    assert (len(first), second) == (200_000, "y")


def test_what_a_dynamic_task_raises_in_the_middle_is_its_last_ref():
    *values, failed = nbaccel.get(count.options(num_returns="dynamic").remote(5, fail_at=2))
    assert nbaccel.get(values) == [0, 1]
    with pytest.raises(ValueError, match="in the middle"):
        nbaccel.get(failed)


def test_a_dynamic_task_returns_a_generator_of_refs():
    refs = nbaccel.get(count.options(num_returns="dynamic").remote(3))
    assert isinstance(refs, nbaccel.DynamicObjectRefGenerator) and len(refs) == 3
    assert [nbaccel.get(ref) for ref in refs] == [0, 1, 2]


def test_only_generators_are_streamed():
    with pytest.raises(ValueError, match=r"generator function.*Tally\.read is none"):
        Tally.remote().read.options(num_returns="dynamic")


def test_a_stream_is_read_asynchronously():
    async def read():
        return [await ref async for ref in count.remote(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_wait_takes_streams_and_get_gives_them_back():
    stream = count.remote(2)
    ready, _ = nbaccel.wait([stream])
    assert ready == [stream] and stream.next_ready()
    assert nbaccel.get(stream) is stream


def test_the_next_item_can_be_waited_for_with_a_timeout():
    @nbaccel.remote
    def late(gate):
        nbaccel.get(gate.wait.remote())
        yield 1

    gate = Gate.remote()
    stream = late.remote(gate)
    assert stream._next_sync(timeout_s=0.01).is_nil()
    gate.open.remote()
    assert nbaccel.get(next(stream)) == 1


def test_a_stream_runs_no_further_ahead_than_it_may():
    @nbaccel.remote(_generator_backpressure_num_objects=2)
    def ahead(tally):
        for _ in range(6):
            yield nbaccel.get(tally.add.remote())

    tally = Tally.remote()
    stream = ahead.remote(tally)
    wait_until(lambda: nbaccel.get(tally.read.remote()) == 2)
    assert nbaccel.get(next(stream)) == 1
    wait_until(lambda: nbaccel.get(tally.read.remote()) == 3)
    assert [nbaccel.get(ref) for ref in stream] == [2, 3, 4, 5, 6]


def test_a_generator_stops_when_nobody_reads_on(tmp_path):
    @nbaccel.remote
    def endless(path):
        try:
            while True:
                yield 1
        finally:
            open(path, "w").close()

    stream = endless.remote(tmp_path / "closed")
    next(stream)
    del stream
    wait_until((tmp_path / "closed").exists)


def test_a_cancelled_stream_ends_with_that_error():
    @nbaccel.remote
    def held(gate):
        yield 1
        nbaccel.get(gate.wait.remote())

    stream = held.remote(Gate.remote())
    assert nbaccel.get(next(stream)) == 1
    nbaccel.cancel(stream)
    with pytest.raises(exceptions.TaskCancelledError):
        for ref in stream:
            nbaccel.get(ref)


def test_a_stream_whose_worker_dies_goes_on_where_it_was(tmp_path):
    @nbaccel.remote(max_retries=1)
    def dies_once(path):
        first = not path.exists()
        path.touch()
        for i in range(4):
            if first and i == 2:
                os._exit(1)
            yield i

    assert _values(dies_once.remote(tmp_path / "ran")) == [0, 1, 2, 3]


def test_large_items_are_streamed_too():
    @nbaccel.remote
    def large():
        for size in (10, 1_000_000):
            yield bytes(size)

    assert [len(nbaccel.get(ref)) for ref in large.remote()] == [10, 1_000_000]


def test_a_stream_cannot_be_passed_on():
    with pytest.raises(TypeError):
        numbers.remote(count.remote(2))


def test_a_stream_only_goes_forwards():
    stream = count.remote(1)
    for name in ("send", "throw", "close"):
        with pytest.raises(NotImplementedError):
            getattr(stream, name)(None)
