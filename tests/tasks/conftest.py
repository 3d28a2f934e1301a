"""One engine for all tests of a module."""

import pytest

import nbaccel


@pytest.fixture(scope="module", autouse=True)
def engine():
    nbaccel.init(num_cpus=4, num_gpus=2, namespace="tests")
    yield
    nbaccel.shutdown()
