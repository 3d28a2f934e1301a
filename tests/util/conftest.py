"""One engine for all tests of a module: they use the public API only."""

import pytest

import nbaccel


@pytest.fixture(scope="module", autouse=True)
def engine():
    nbaccel.init(num_cpus=4, num_gpus=1)
    yield
    nbaccel.shutdown()


@nbaccel.remote(num_cpus=0)
class Gate:
    """Tasks wait at it until the test opens it: no clock is needed."""

    def __init__(self):
        import asyncio

        self._open = asyncio.Event()
        self._waiting = 0

    async def wait(self):
        self._waiting += 1
        await self._open.wait()

    async def open(self):
        self._open.set()


@pytest.fixture
def gate():
    gate = Gate.remote()
    yield gate
    nbaccel.kill(gate)
