"""multiprocessing.Pool over actors."""

import itertools
import multiprocessing
import operator
import os
import pickle
import threading

import pytest

import nbaccel
from nbaccel.exceptions import ActorDiedError, RayActorError
from nbaccel.util.multiprocessing import Pool, PoolTaskError, TimeoutError


@pytest.fixture(scope="module")
def pool(engine):
    with Pool(2) as pool:
        yield pool


def double(value):
    return 2 * value


def fail(value):
    raise ValueError(f"bad {value}")


def fail_on_two(value):
    return fail(value) if value == 2 else value


def wait_at(gate, value):
    nbaccel.get(gate.wait.remote())
    return value


def pid(_):
    return os.getpid()


def die(_):
    os._exit(1)


def setting(_):
    return os.environ["POOL_SETTING"]


def set_up(value):
    os.environ["POOL_SETTING"] = value


def test_apply_calls_with_arguments_and_keywords(pool):
    assert pool.apply(divmod, (7, 2)) == (3, 1)
    assert pool.apply(sorted, ([1, 3, 2],), {"reverse": True}) == [3, 2, 1]


def test_map_and_starmap_keep_the_order(pool):
    assert pool.map(double, range(100)) == [2 * value for value in range(100)]
    assert pool.map(double, range(7), chunksize=3) == [2 * value for value in range(7)]
    assert pool.starmap(operator.add, [(1, 2), (3, 4)]) == [3, 7]
    assert pool.map(double, []) == []


def test_the_functions_run_in_the_pools_own_processes(pool):
    pids = set(pool.map(pid, range(50), chunksize=1))
    assert len(pids) <= 2
    assert os.getpid() not in pids


def test_imap_gives_results_in_order_and_reads_no_more_than_it_needs(pool):
    results = pool.imap(double, itertools.count())
    assert [next(results) for _ in range(20)] == [2 * value for value in range(20)]


def test_imap_unordered_gives_each_result_once(pool):
    assert sorted(pool.imap_unordered(double, range(30), chunksize=4)) == [2 * value for value in range(30)]


def test_an_iterator_gives_an_error_for_the_item_that_failed_and_goes_on(pool):
    results = pool.imap(fail_on_two, range(4))
    assert [next(results), next(results)] == [0, 1]
    failed = next(results)
    assert isinstance(failed, PoolTaskError) and repr(failed.underlying) == "ValueError('bad 2')"
    assert list(results) == [3]


def test_an_iterator_can_wait_for_a_time(pool, gate):
    results = pool.imap(lambda value: wait_at(gate, value), [1])
    with pytest.raises(multiprocessing.TimeoutError):
        results.next(timeout=0.01)
    gate.open.remote()
    assert results.next(timeout=float("inf")) == 1
    with pytest.raises(StopIteration):
        results.next()


def test_the_first_error_of_a_map_is_raised(pool):
    with pytest.raises(ValueError, match="bad 2"):
        pool.map(fail_on_two, range(5), chunksize=1)
    assert pool.map(double, [1]) == [2]


def test_a_result_says_whether_it_is_ready_and_successful(pool, gate):
    result = pool.apply_async(wait_at, (gate, 5))
    assert not result.ready()
    with pytest.raises(ValueError, match="not ready"):
        result.successful()
    with pytest.raises(TimeoutError):
        result.get(timeout=0.01)
    gate.open.remote()
    result.wait()
    assert (result.get(), result.ready(), result.successful()) == (5, True, True)
    failed = pool.apply_async(fail, (1,))
    failed.wait()
    assert not failed.successful()


def test_callbacks_are_called_with_the_value_or_the_error(pool):
    values, errors = [], []
    pool.map_async(double, [1, 2], callback=values.append, error_callback=errors.append).wait()
    pool.apply_async(fail, (1,), callback=values.append, error_callback=errors.append).wait()
    pool.starmap_async(operator.add, [(1, 1)], callback=values.append).wait()
    assert values == [[2, 4], [2]]
    assert [(type(error), str(error.underlying)) for error in errors] == [(PoolTaskError, "bad 1")]


def test_a_callback_that_raises_harms_only_itself(pool):
    assert pool.apply_async(double, (1,), callback=fail).get() == 2
    assert pool.map(double, [2]) == [4]


def test_what_cannot_be_pickled_is_an_error_of_its_call(pool):
    with pytest.raises(TypeError):
        pool.apply(double, (threading.Lock(),))
    assert pool.map(double, [2]) == [4]


def test_the_initializer_runs_in_each_process():
    with Pool(2, initializer=set_up, initargs=("ready",)) as pool:
        assert set(pool.map(setting, range(10), chunksize=1)) == {"ready"}


def test_a_process_that_dies_fails_its_call_and_is_replaced():
    with Pool(1) as pool:
        with pytest.raises(RayActorError):
            pool.apply(die, (0,))
        assert pool.apply(double, (1,)) == 2


def test_a_process_is_replaced_after_so_many_calls():
    with Pool(1, maxtasksperchild=2) as pool:
        pids = [pool.apply(pid, (0,)) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_workers_can_hold_devices():
    with Pool(2, ray_remote_args={"num_gpus": 0.5}) as pool:
        assert pool.map(lambda _: os.environ["CUDA_VISIBLE_DEVICES"], range(2), chunksize=1) == ["0", "0"]


def test_a_closed_pool_finishes_its_calls_and_takes_no_more():
    pool = Pool(2)
    result = pool.map_async(double, range(10))
    with pytest.raises(ValueError, match="still running"):
        pool.join()
    pool.close()
    with pytest.raises(ValueError, match="not running"):
        pool.apply(double, (1,))
    pool.join()
    assert result.get() == [2 * value for value in range(10)]


def test_a_terminated_pool_fails_what_it_had_not_finished(gate):
    pool = Pool(1)
    running, waiting = pool.apply_async(wait_at, (gate, 1)), pool.apply_async(double, (1,))
    pool.terminate()
    pool.join()
    for result in (running, waiting):
        with pytest.raises(ActorDiedError, match="terminated"):
            result.get()


def test_wrong_arguments_are_refused(pool):
    with pytest.raises(TypeError, match="initializer"):
        Pool(1, initializer=3)
    with pytest.raises(ValueError, match="at least 1"):
        Pool(0)
    with pytest.raises(ValueError, match="Chunksize"):
        pool.map(double, [1], chunksize=0)
    with pytest.raises(NotImplementedError, match="cannot be sent"):
        pickle.dumps(pool)


def test_by_default_there_is_a_process_for_each_cpu():
    with Pool() as pool:
        assert pool.map(double, range(8)) == [2 * value for value in range(8)]
        assert pool._size == 4
