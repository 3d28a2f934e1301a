"""ActorPool: order, free actors, dead actors, timeouts."""

import os

import pytest

import nbaccel
from nbaccel.exceptions import RayActorError
from nbaccel.util import ActorPool


@nbaccel.remote(num_cpus=0)
class Worker:
    def double(self, value):
        return 2 * value

    def after(self, gate, value):
        nbaccel.get(gate.wait.remote())
        return value

    def fail(self, value):
        raise ValueError(value)

    def die(self, value):
        os._exit(1)

    @nbaccel.method(num_returns=2)
    def both(self, value):
        return value, -value


def double(actor, value):
    return actor.double.remote(value)


@pytest.fixture
def pool():
    return ActorPool([Worker.remote() for _ in range(2)])


def test_map_gives_the_results_in_order(pool):
    assert list(pool.map(double, range(10))) == [2 * value for value in range(10)]
    assert not pool.has_next()
    assert pool.has_free()


def test_map_unordered_gives_each_result_once(pool):
    assert sorted(pool.map_unordered(double, range(10))) == [2 * value for value in range(10)]


def test_what_is_ready_overtakes_what_waits_only_when_unordered(pool, gate):
    pool.submit(lambda actor, value: actor.after.remote(gate, value), "late")
    pool.submit(double, 1)
    assert pool.get_next_unordered() == 2
    gate.open.remote()
    assert pool.get_next() == "late"


def test_calls_beyond_the_actors_wait_for_one(pool, gate):
    for value in range(3):
        pool.submit(lambda actor, value: actor.after.remote(gate, value), value)
    assert not pool.has_free()
    assert pool.pop_idle() is None
    gate.open.remote()
    assert [pool.get_next() for _ in range(3)] == [0, 1, 2]


def test_nothing_to_take_is_a_stop_iteration(pool):
    with pytest.raises(StopIteration):
        pool.get_next()
    with pytest.raises(StopIteration):
        pool.get_next_unordered()


def test_a_late_result_is_a_timeout_and_can_still_be_taken(pool, gate):
    pool.submit(lambda actor, value: actor.after.remote(gate, value), "late")
    with pytest.raises(TimeoutError, match="Timed out waiting for result"):
        pool.get_next(timeout=0)
    with pytest.raises(TimeoutError):
        pool.get_next_unordered(timeout=0)
    gate.open.remote()
    assert pool.get_next() == "late"


def test_a_late_result_can_be_given_up(pool, gate):
    pool.submit(lambda actor, value: actor.after.remote(gate, value), "late")
    with pytest.raises(TimeoutError, match="given up"):
        pool.get_next(timeout=0, ignore_if_timedout=True)
    assert not pool.has_next()
    gate.open.remote()
    assert list(pool.map(double, [1, 2])) == [2, 4]


def test_a_new_map_drops_results_that_nobody_took(pool):
    pool.submit(double, 100)
    assert list(pool.map(double, [1])) == [2]


def test_an_error_is_raised_and_the_actor_goes_on(pool):
    pool.submit(lambda actor, value: actor.fail.remote(value), "bad")
    with pytest.raises(ValueError, match="bad"):
        pool.get_next()
    assert list(pool.map(double, range(4))) == [0, 2, 4, 6]


def test_a_dead_actor_leaves_its_work_to_the_others(pool):
    pool.submit(lambda actor, value: actor.die.remote(value), 0)
    with pytest.raises(RayActorError):
        pool.get_next()
    assert list(pool.map(double, range(4))) == [0, 2, 4, 6]


def test_a_pool_without_actors_says_so_instead_of_waiting():
    pool = ActorPool([Worker.remote()])
    pool.submit(lambda actor, value: actor.die.remote(value), 0)
    pool.submit(double, 1)
    with pytest.raises(RayActorError):
        pool.get_next()
    with pytest.raises(RuntimeError, match="No actor is left"):
        pool.get_next()
    pool.push(Worker.remote())
    assert pool.get_next() == 2


def test_actors_can_be_taken_out_and_put_in(pool):
    actor = pool.pop_idle()
    pool.push(actor)
    with pytest.raises(ValueError, match="already belongs"):
        pool.push(actor)


def test_a_call_with_several_results_gives_them_together(pool):
    assert list(pool.map(lambda actor, value: actor.both.remote(value), [1, 2])) == [[1, -1], [2, -2]]
