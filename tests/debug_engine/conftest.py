"""The debug engine, new for each test: there is no process to start."""

import pytest

import nbaccel


@pytest.fixture(autouse=True)
def engine():
    nbaccel.init(engine="debug", num_cpus=2, num_gpus=2, resources={"blue": 2})
    yield
    nbaccel.shutdown()
