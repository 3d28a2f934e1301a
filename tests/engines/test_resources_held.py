"""What tasks and actors hold while they wait, and what of the store is taken, as Ray counts it."""

from __future__ import annotations

import os

import pytest

import nbaccel
from nbaccel import exceptions
from tests.engines.conftest import NUM_CPUS

LARGE_BYTES = 20_000_000


def test_getting_what_is_there_keeps_the_cpu(nb, tmp_path):
    @nb.remote(num_cpus=NUM_CPUS)
    def gets(path, refs):
        mine = nbaccel.put(bytes(200_000))
        for _ in range(100):
            nbaccel.get([mine, *refs])
            nbaccel.wait([mine, *refs], num_returns=2)
        return os.path.exists(path)

    @nb.remote
    def next_one(path):
        open(path, "w").close()

    path = str(tmp_path / "began")
    first = gets.remote(path, [nb.put(bytes(200_000))])
    second = next_one.remote(path)
    assert not nb.get(first)
    nb.get(second)


def test_an_actor_keeps_the_cpus_that_it_asked_for_while_it_waits(nb, gate, tmp_path, wait_until):
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
