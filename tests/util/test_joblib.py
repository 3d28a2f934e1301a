"""The joblib backend."""

import os

import pytest

joblib = pytest.importorskip("joblib", reason="joblib is not installed")

from nbaccel.util.joblib import register_nbaccel, register_ray  # noqa: E402  only where there is joblib


@pytest.fixture(autouse=True, params=["nbaccel", "ray"])
def backend(request):
    register_nbaccel()
    with joblib.parallel_config(backend=request.param, n_jobs=2):
        yield


def double(value):
    return 2 * value


def fail(value):
    raise ValueError(f"bad {value}")


def test_calls_run_in_other_processes_and_keep_their_order():
    results = joblib.Parallel()(joblib.delayed(double)(value) for value in range(50))
    assert results == [2 * value for value in range(50)]
    assert os.getpid() not in joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(4))


def test_an_error_arrives_as_itself():
    with pytest.raises(ValueError, match="bad") as caught:
        joblib.Parallel()(joblib.delayed(fail)(value) for value in range(10))
    assert type(caught.value) is ValueError and "fail" in str(caught.value.__cause__)


def test_results_can_be_had_as_a_generator():
    results = joblib.Parallel(return_as="generator")(joblib.delayed(double)(value) for value in range(10))
    assert list(results) == [2 * value for value in range(10)]


def test_minus_one_means_all_cpus_of_the_cluster():
    assert joblib.parallel.get_active_backend()[0].effective_n_jobs(-1) == 4
    assert joblib.parallel.get_active_backend()[0].effective_n_jobs(-2) == 3
    assert register_ray is register_nbaccel
