"""What tasks and actors hold while they wait, and what of the store is taken, as Ray counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

import nbaccel
from nbaccel import exceptions
from tests.engines.conftest import NUM_CPUS
from tests.rig import is_alive, wait_until

LARGE_BYTES = 20_000_000


def test_getting_what_is_there_keeps_the_cpu(nb, tmp_path):
    @nb.remote(num_cpus=NUM_CPUS)
    def gets(folder, refs):
        mine = nbaccel.put(bytes(200_000))
        (folder / "all are held").touch()
        if not alone:
            wait_until((folder / "the next one is asked for").exists)
        for _ in range(100):
            nbaccel.get([mine, *refs])
            nbaccel.wait([mine, *refs], num_returns=2)
        return (folder / "the next one began").exists()

    @nb.remote
    def next_one(folder):
        (folder / "the next one began").touch()

    alone = nb.engine.current().name == "debug"  # one call after the other
    first = gets.remote(tmp_path, [nb.put(bytes(200_000))])
    wait_until((tmp_path / "all are held").exists)
    second = next_one.remote(tmp_path)
    (tmp_path / "the next one is asked for").touch()
    assert not nb.get(first)
    nb.get(second)


def test_an_actor_keeps_the_cpus_that_it_asked_for_while_it_waits(nb, gate, tmp_path):
    @nb.remote(num_cpus=NUM_CPUS)
    class Waits:
        def wait_for(self, refs):
            nbaccel.get(refs)

    waits = Waits.remote()
    done = waits.wait_for.remote([gate.wait.remote()])
    wait_until(lambda: nb.get(gate.arrived.remote()))
    other = nb.remote(lambda: os.getpid()).remote()
    assert nb.wait([other], timeout=0.5) == ([], [other])
    nb.get([gate.open.remote(), done])
    nb.kill(waits)
    assert nb.get(other)


def test_the_store_is_fuller_while_an_object_lives(nb):
    def available():
        return nb.available_resources()["object_store_memory"]

    before = available()
    ref = nb.put(bytes(LARGE_BYTES))
    # By half of it: meanwhile, what earlier tests held may be given back.
    wait_until(lambda: available() <= before - LARGE_BYTES // 2)
    del ref
    wait_until(lambda: available() > before - LARGE_BYTES // 2)


@pytest.mark.parametrize("count", [1, 100, 10_000])
def test_small_arrays_begin_at_a_multiple_of_64_bytes(nb, count):
    numpy = pytest.importorskip("numpy")

    def misplaced(array):
        return array.ctypes.data % 64

    @nb.remote
    def taken(first, second):
        return misplaced(first), misplaced(second)

    @nb.remote
    def made():
        return numpy.arange(count)

    arrays = [numpy.arange(count), numpy.ones(count, numpy.uint8)]
    assert nb.get(taken.remote(*arrays)) == (0, 0)
    got = nb.get([*map(nb.put, arrays), made.remote()])
    assert [misplaced(array) for array in got] == [0, 0, 0]
    assert all((one == other).all() for one, other in zip(got, [*arrays, arrays[0]], strict=True))


def test_a_class_to_retry_that_a_worker_cannot_import_is_an_error(nb, monkeypatch):
    only_here = types.ModuleType("only_here")
    only_here.Mine = type("Mine", (ValueError,), {"__module__": "only_here"})
    monkeypatch.setitem(sys.modules, "only_here", only_here)

    @nb.remote(retry_exceptions=[only_here.Mine], max_retries=1)
    def names_a_stranger():
        raise ValueError("its own error")

    with pytest.raises(exceptions.RayTaskError, match="No module named 'only_here'"):
        nb.get(names_a_stranger.remote(), timeout=60)


def test_kill_ends_children_in_sessions_of_their_own(nb):
    @nb.remote
    class Parent:
        def start(self):
            return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid

    parent = Parent.remote()
    child = nb.get(parent.start.remote())
    assert is_alive(child)
    nb.kill(parent)
    wait_until(lambda: not is_alive(child))
