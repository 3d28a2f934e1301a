"""`concurrent.futures` on a cluster: what libraries that take an executor expect of it."""

import os
from concurrent import futures

import pytest


def test_calls_run_as_tasks_and_keep_their_order(nb):
    with nb.Executor() as pool:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        assert list(pool.map(pow, [2, 3], [5, 2])) == [32, 9]
        assert pool.submit(lambda x, *, y: x + y, 1, y=2).result() == 3


def test_a_class_is_called_like_any_function(nb):
    with nb.Executor() as pool:
        assert pool.submit(int, "3").result() == 3
        assert list(pool.map(complex, [1, 2])) == [1 + 0j, 2 + 0j]


def test_the_options_are_those_of_a_task(nb):
    def devices():
        import nbaccel

        return nbaccel.get_runtime_context().get_accelerator_ids().get("GPU"), os.environ.get("CUDA_VISIBLE_DEVICES")

    with nb.Executor(num_gpus=1) as pool:
        ids, variable = pool.submit(devices).result()
    assert len(ids) == 1
    assert variable == ids[0]
    with pytest.raises(ValueError, match="num_gps"):
        nb.Executor(num_gps=1)


def test_an_error_is_the_futures(nb):
    with nb.Executor() as pool:
        future = pool.submit(int, "three")
        assert isinstance(future.exception(), ValueError)
        with pytest.raises(ValueError, match="three"):
            future.result()


def test_it_takes_nothing_after_its_end(nb):
    pool = nb.Executor()
    future = pool.submit(len, "four")
    pool.shutdown()
    assert future.result(timeout=0) == 4
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(len, "")


def test_waiting_for_several_and_a_timeout(nb):
    with nb.Executor() as pool:
        several = [pool.submit(abs, -number) for number in range(4)]
        done, not_done = futures.wait(several)
        assert (sorted(future.result() for future in done), not_done) == ([0, 1, 2, 3], set())
        assert {future.result() for future in futures.as_completed(several)} == {0, 1, 2, 3}
        assert several[0].result(timeout=0) == 0
        assert several[0].cancel() is False
