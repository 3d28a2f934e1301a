"""How many threads the libraries of a task or an actor may use: as many as it has CPUs."""

import os

import pytest

import nbaccel


@nbaccel.remote
class Threads:
    def __init__(self):
        self.at_first = os.environ.get("OMP_NUM_THREADS")

    def read(self):
        return self.at_first, os.environ.get("OMP_NUM_THREADS")


@nbaccel.remote
def threads():
    return os.environ.get("OMP_NUM_THREADS")


@pytest.mark.skipif("OMP_NUM_THREADS" in os.environ, reason="the user's own number is kept")
def test_an_actors_methods_have_as_many_threads_as_its_constructor():
    assert nbaccel.get(Threads.options(num_cpus=2).remote().read.remote()) == ("2", "2")
    assert nbaccel.get(Threads.remote().read.remote()) == ("1", "1")


@pytest.mark.skipif("OMP_NUM_THREADS" in os.environ, reason="the user's own number is kept")
def test_a_task_has_as_many_threads_as_cpus():
    assert nbaccel.get([threads.options(num_cpus=count).remote() for count in (1, 2, 0)]) == ["1", "2", "1"]
