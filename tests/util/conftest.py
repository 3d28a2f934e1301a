"""One engine for all tests of a module: they use the public API only."""

import pytest

import nbaccel
from tests.rig import Gate


@pytest.fixture(scope="module", autouse=True)
def engine():
    nbaccel.init(num_cpus=4, num_gpus=1)
    yield
    nbaccel.shutdown()


@pytest.fixture
def gate():
    gate = Gate.remote()
    yield gate
    nbaccel.kill(gate)
