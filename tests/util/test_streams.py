"""as_completed and map_unordered."""

import itertools
import threading

import pytest

import nbaccel
from nbaccel.util import as_completed, map_unordered
from tests.rig import wait_until


@nbaccel.remote(num_cpus=0)
def double(value):
    return 2 * value


@nbaccel.remote(num_cpus=0)
def after(gate):
    nbaccel.get(gate.wait.remote())
    return "late"


@nbaccel.remote(num_cpus=0)
def fail():
    raise ValueError("bad")


def test_results_come_when_they_are_ready(gate):
    results = as_completed([after.remote(gate), double.remote(1)])
    assert next(results) == 2
    gate.open.remote()
    assert list(results) == ["late"]


@pytest.mark.parametrize("chunk_size", [1, 3, 10])
def test_each_result_comes_once_whatever_the_chunk(chunk_size):
    refs = [double.remote(value) for value in range(20)]
    assert sorted(as_completed(refs, chunk_size=chunk_size)) == [2 * value for value in range(20)]


def test_refs_can_be_had_instead_of_values():
    refs = [double.remote(value) for value in range(3)]
    assert set(as_completed(refs, yield_obj_refs=True)) == set(refs)


def test_an_error_is_raised_when_its_turn_has_come():
    with pytest.raises(ValueError, match="bad"):
        list(as_completed([fail.remote()]))


def test_nothing_gives_nothing():
    assert list(as_completed([])) == []
    assert list(map_unordered(double, [])) == []


def test_a_function_is_mapped_over_endless_items():
    results = map_unordered(double, itertools.count(), backpressure_size=4, chunk_size=2)
    assert len({next(results) for _ in range(50)}) == 50


def test_no_more_items_are_read_than_may_be_in_flight():
    read = []

    def items():
        for value in range(100):
            read.append(value)
            yield value

    results = map_unordered(double, items(), backpressure_size=3, chunk_size=1)
    next(results)
    assert len(read) == 4
    assert len(list(results)) == 99


def test_without_back_pressure_all_run_at_once(gate):
    ended = []
    reading = threading.Thread(target=lambda: ended.extend(map_unordered(after, [gate] * 20, backpressure_size=None)))
    reading.start()
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 20)
    nbaccel.get(gate.open.remote())
    reading.join()
    assert ended == ["late"] * 20


def test_two_hundred_items_each_give_their_result():
    mapped = map_unordered(double.options(num_cpus=1), range(200), backpressure_size=None)
    assert sorted(mapped) == [2 * value for value in range(200)]


def test_an_actors_method_can_be_mapped():
    @nbaccel.remote(num_cpus=0)
    class Doubler:
        def double(self, value):
            return 2 * value

    doubler = Doubler.remote()
    assert sorted(map_unordered(doubler.double, [1, 2])) == [2, 4]


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="chunk_size is 0"):
        as_completed([], chunk_size=0)
    with pytest.raises(ValueError, match="at least 1, but they are 10 and 0"):
        map_unordered(double, [1], backpressure_size=0)


def test_few_in_flight_are_fewer_than_are_waited_for_at_a_time():
    assert sorted(map_unordered(double, range(20), backpressure_size=2)) == [2 * value for value in range(20)]
